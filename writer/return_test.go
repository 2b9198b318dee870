package writer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

// leave runs c for a while and then ends its assignment.
func leave(t *testing.T, w *writer.Writers, c writer.Config, after time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	wait := run(ctx, w, c)
	time.Sleep(after)
	synctest.Wait()
	cancel()
	if err := wait(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// The age of a batch goes on while its partition is assigned anew: rebalances
// more often than the age do not keep records back.
func TestAgeOutlivesRebalances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &memory.Store{}, writer.New(nil)
		c := config(t, s, newTape(3, 5))
		c.Limits.MaxAge = time.Minute
		leave(t, w, c, 25*time.Second)
		leave(t, w, c, 25*time.Second)
		if h := head(t, s); h.Next != 0 {
			t.Fatalf("next %d after 50 s", h.Next)
		}
		leave(t, w, c, 12*time.Second)
		if h := head(t, s); h.Next != 3 {
			t.Fatalf("next %d after 62 s, want 3", h.Next)
		}
	})
}

// stuck lets no data be written until it is opened.
type stuck struct {
	store.Store
	opened chan struct{}
}

func (s stuck) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	if _, _, err := manifest.Parse(key); err == nil {
		select {
		case <-s.opened:
		case <-ctx.Done():
			return store.Info{}, ctx.Err()
		}
	}
	return s.Store.Put(ctx, key, body, cond)
}

// A pending range of which the log lost a part is read, its assignment ends
// before it is published and comes back: the lost part is still counted.
func TestLostIsCountedAfterReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := pending(t, "A", 1)
		st := stuck{s, make(chan struct{})}
		src := newTape(tableRows, 5)
		src.start = 5
		c := config(t, s, src)
		c.Store, c.OnDataLoss = st, writer.SkipLost
		w := writer.New(nil)
		leave(t, w, c, time.Second)
		close(st.opened)
		toEnd(t, w, c)
		consistent(t, s)
		if h := head(t, s); h.Totals.Lost != 5 || h.Next != tableRows {
			t.Fatalf("lost %d, next %d, want 5 and %d", h.Totals.Lost, h.Next, tableRows)
		}
	})
}

// The assignment ends while a pending range is read, of which a part is kept,
// and the log loses what follows that part.
func TestLostBehindWhatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := pending(t, "A", 1)
		src := newTape(13, 5)
		src.quiet, src.ahead = 100, 4 // it waits behind the fourth record
		c := config(t, s, src)
		c.OnDataLoss = writer.SkipLost
		w := writer.New(nil)
		leave(t, w, c, time.Second)
		src.change(func() { src.start, src.n, src.quiet = 10, tableRows, 0 })
		toEnd(t, w, c)
		consistent(t, s)
		if h := head(t, s); h.Totals.Lost != 10 || h.Next != tableRows {
			t.Fatalf("lost %d, next %d, want 10 and %d", h.Totals.Lost, h.Next, tableRows)
		}
	})
}

// A plan is given up with its assignment and arrives when the partition has
// come back: too late to change anything.
func TestLatePlanAfterReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := &memory.Store{}
		arrive := func() error { return nil }
		ctx, cancel := context.WithCancel(t.Context())
		heads := 0
		s := fault.Wrap(mem, func(_ context.Context, c fault.Call) fault.Action {
			if c.Op == fault.Put && c.Key == "manifest/00000.json" {
				heads++
			}
			if heads != 2 { // the first is the claim
				return fault.Action{}
			}
			return fault.Action{Late: func(f func() error) { arrive = f; cancel() }}
		})
		w, src := writer.New(nil), newTape(20, 5)
		c := config(t, s, src)
		c.Limits.MaxRows = 11
		if err := w.Run(ctx, c); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		heads, c.Limits.MaxRows = 10, 0 // other cuts than the plan that is late
		wait := run(t.Context(), w, c)
		synctest.Wait()
		if err := arrive(); !errors.Is(err, store.ErrConflict) {
			t.Fatalf("the late plan: %v, want a conflict", err)
		}
		w.Drain()
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		consistent(t, mem)
	})
}

// While the partition is away its topic is made anew, and begins behind the
// next offset: what is missing there was not lost from the log of this table.
func TestTopicIsRecreatedWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, src, w := finished(t, 20), newTape(20, 5), writer.New(nil)
		c := config(t, s, src)
		c.OnDataLoss = writer.SkipLost
		leave(t, w, c, time.Second)
		src.change(func() { src.id.Topic[0], src.start, src.n = 9, 30, tableRows })
		if err := w.Run(t.Context(), c); !errors.Is(err, manifest.ErrIdentity) {
			t.Fatalf("err %v, want %v", err, manifest.ErrIdentity)
		}
		if h := head(t, s); h.Next != 20 || h.Totals.Lost != 0 {
			t.Fatalf("next %d, lost %d", h.Next, h.Totals.Lost)
		}
	})
}
