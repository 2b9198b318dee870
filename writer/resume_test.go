package writer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

// finished returns a store with the offsets up to n published, in epoch e of the leader.
func finished(t *testing.T, n int64) *memory.Store {
	t.Helper()
	s := &memory.Store{}
	c := config(t, s, newTape(n, 5))
	c.Once = true
	if err := writer.New(nil).Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return s
}

// head returns the head of the only partition.
func head(t *testing.T, s store.Store) manifest.Head {
	t.Helper()
	h, err := manifest.Read(context.Background(), s, 0)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The log is not the one that the head was written for, or no longer holds
// what the head waits for: the writer stops before it writes anything.
func TestLogIsChecked(t *testing.T) {
	f := func(change func(*tape), want error, words ...string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := finished(t, 20)
			before := head(t, s)
			src := newTape(tableRows, 5)
			change(src)
			err := writer.New(nil).Run(t.Context(), config(t, s, src))
			if !errors.Is(err, want) {
				t.Fatalf("err %v, want %v", err, want)
			}
			for _, w := range append(words, "t/0") {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			if after := head(t, s); after.Version != before.Version {
				t.Errorf("the head was changed")
			}
		})
	}
	// Another topic of the same name.
	f(func(src *tape) { src.id.Topic[0] = 9 }, manifest.ErrIdentity, "created again", "reset")
	// Another cluster.
	f(func(src *tape) { src.id.Cluster = "d" }, manifest.ErrIdentity, `"d"`)
	// The log ends below the next offset.
	f(func(src *tape) { src.n = 19 }, manifest.ErrIdentity, "19", "20")
	// The leader epoch of the last batch ends below the next offset.
	f(func(src *tape) { src.epochs = []int64{18} }, manifest.ErrIdentity, "truncated", "18")
	// Retention was faster than the sink.
	f(func(src *tape) { src.start = 25 }, writer.ErrDataLoss, "[20,25)", "on_data_loss")
}

// A broker without topic ids cannot tell, and a log that ends at next is fine.
func TestLogIsTheSame(t *testing.T) {
	s := finished(t, 20)
	src := newTape(20, 5)
	src.id.Topic = record.TopicID{}
	c := config(t, s, src)
	c.Once = true
	if err := writer.New(nil).Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// With SkipLost what is gone is counted, in a range without rows, and the rest follows.
func TestLostIsCounted(t *testing.T) {
	s := finished(t, 20)
	src := newTape(tableRows, 5)
	src.start = 25
	c := config(t, s, src)
	c.Once, c.OnDataLoss = true, writer.SkipLost
	if err := writer.New(nil).Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	h := head(t, s)
	if h.Next != tableRows || h.Totals.Lost != 5 {
		t.Fatalf("next %d, lost %d, want %d and 5", h.Next, h.Totals.Lost, tableRows)
	}
	consistent(t, s)
}

// The log loses records while the writer waits behind: it claims anew and the
// policy decides.
func TestLostWhileReading(t *testing.T) {
	f := func(policy writer.DataLoss, want error) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s, src := &memory.Store{}, newTape(20, 5)
			c := config(t, s, src)
			c.OnDataLoss = policy
			ctx, cancel := context.WithCancel(t.Context())
			wait := run(ctx, writer.New(nil), c)
			synctest.Wait()
			src.change(func() { src.start, src.n = 25, tableRows })
			synctest.Wait()
			cancel()
			if err := wait(); !errors.Is(err, want) {
				t.Fatalf("err %v, want %v", err, want)
			}
			// What was collected before the loss is published.
			if h := head(t, s); h.Next < 20 {
				t.Fatalf("next %d, want at least 20", h.Next)
			}
			consistent(t, s)
		})
	}
	f(writer.FailOnLoss, writer.ErrDataLoss)
	f(writer.SkipLost, context.Canceled)
}

// pending returns a store with a plan of [0,13) by software, whose process died
// after the given number of its objects were written; there are two.
func pending(t *testing.T, software string, written int64) *memory.Store {
	t.Helper()
	mem := &memory.Store{}
	var objects int64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	met := fault.Wrap(mem, func(_ context.Context, c fault.Call) fault.Action {
		if c.Op != fault.Put || !strings.HasPrefix(c.Key, "d") {
			return fault.Action{}
		}
		if objects++; objects <= written {
			return fault.Action{}
		}
		return fault.Before()
	})
	if written == 2 { // it dies at the publish
		met = fault.Wrap(mem, func(_ context.Context, c fault.Call) fault.Action {
			if h, err := manifest.Read(ctx, mem, 0); err == nil && h.Pending != nil && c.Op == fault.Put && c.Key == h.HeadKey() {
				return fault.Before()
			}
			return fault.Action{}
		})
	}
	met.OnDeath(cancel)
	c := config(t, met, newTape(13, 5))
	c.Once, c.NewEncoder = true, lines{software: software}.encoder
	if err := writer.New(nil).Run(ctx, c); err == nil {
		t.Fatal("the process did not die")
	}
	if h := head(t, mem); h.Pending == nil || h.Pending.Next != 13 || len(h.Pending.Keys) != 2 {
		t.Fatalf("pending %+v", h.Pending)
	}
	return mem
}

// The log can no longer give a pending range whole.
func TestPendingRangeIsLost(t *testing.T) {
	f := func(software string, written, start int64, policy writer.DataLoss, wantErr error, wantLost int64) {
		t.Helper()
		s := pending(t, software, written)
		src := newTape(tableRows, 5)
		src.start = start
		c := config(t, s, src)
		c.Once, c.OnDataLoss = true, policy
		err := writer.New(nil).Run(t.Context(), c)
		if !errors.Is(err, wantErr) {
			t.Fatalf("err %v, want %v", err, wantErr)
		}
		consistent(t, s)
		h := head(t, s)
		if h.Totals.Lost != wantLost || wantErr == nil && h.Next != tableRows {
			t.Fatalf("lost %d, next %d, want %d and %d", h.Totals.Lost, h.Next, wantLost, tableRows)
		}
	}
	// All objects are there: they are published as they are, whatever the policy.
	f("A", 2, 13, writer.FailOnLoss, nil, 0)
	f("A", 2, 5, writer.FailOnLoss, nil, 0)
	// One is missing: stop, or plan the same range again with what is left.
	f("A", 1, 5, writer.FailOnLoss, writer.ErrDataLoss, 0)
	f("A", 1, 5, writer.SkipLost, nil, 5)
	f("A", 0, 13, writer.SkipLost, nil, 13)
	// More is lost than was planned.
	f("A", 1, 20, writer.SkipLost, nil, 20)
	// The objects are of software that lays out otherwise.
	f("a", 1, 5, writer.SkipLost, nil, 5)
}

// The broker is told of a pending range that a restart finished, though nothing
// follows it, and told again by each later run: its group may have been deleted
// or moved by hand meanwhile (B10).
func TestBrokerIsToldByEachRun(t *testing.T) {
	var told []int64
	c := config(t, pending(t, "A", 2), newTape(13, 5))
	c.Once = true
	c.Published = func(_ context.Context, next int64) error {
		told = append(told, next)
		return nil
	}
	for range 2 { // the second run has nothing to publish
		if err := writer.New(nil).Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(told, []int64{13, 13}) {
		t.Fatalf("told %v, want 13 by each run", told)
	}
}

// The topic is deleted and created again while a batch is open: nothing of it
// is planned.
func TestTopicIsRecreatedWhileReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, src, w := &memory.Store{}, newTape(20, 5), writer.New(nil)
		wait := run(t.Context(), w, config(t, s, src))
		synctest.Wait()
		src.change(func() { src.id.Topic[0] = 9 })
		w.Drain()
		if err := wait(); !errors.Is(err, manifest.ErrIdentity) {
			t.Fatalf("err %v, want %v", err, manifest.ErrIdentity)
		}
		if h := head(t, s); h.Next != 0 || h.Pending != nil {
			t.Fatalf("next %d, pending %v", h.Next, h.Pending)
		}
	})
}

// A new leader turns out to have less of the log than was read of it: what was
// read is dropped, and read again.
func TestTruncatedWhileReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, src, w := &memory.Store{}, newTape(20, 5), writer.New(nil)
		wait := run(t.Context(), w, config(t, s, src))
		synctest.Wait()
		src.change(func() { src.epochs, src.n = []int64{10}, tableRows })
		synctest.Wait()
		if h := head(t, s); h.Epoch != 2 || h.Next != 0 {
			t.Fatalf("epoch %d, next %d: want a second claim and nothing published", h.Epoch, h.Next)
		}
		w.Drain()
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		whole(t, s)
		if h := head(t, s); h.LeaderEpoch != 1 {
			t.Fatalf("leader epoch %d, want 1", h.LeaderEpoch)
		}
	})
}
