package writer_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

var errDown = errors.New("the store is down")

// outage is a store whose calls are met by an action while it lasts, if their
// keys hold part.
type outage struct {
	part  string
	meet  fault.Action
	lasts atomic.Bool
}

func (o *outage) over(s store.Store) store.Store {
	return fault.Wrap(s, func(_ context.Context, c fault.Call) fault.Action {
		if o.lasts.Load() && c.Op == fault.Put && strings.Contains(c.Key, o.part) {
			return o.meet
		}
		return fault.Action{}
	})
}

// only returns the Stats of the only partition.
func only(t *testing.T, w *writer.Writers) writer.Stats {
	t.Helper()
	all := w.Stats()
	if len(all) != 1 {
		t.Fatalf("%d partitions, want one", len(all))
	}
	return all[0]
}

// trouble returns the only trouble, in words.
func trouble(t *testing.T, w *writer.Writers) string {
	t.Helper()
	all := only(t, w).Troubles
	if len(all) != 1 {
		t.Fatalf("troubles %v, want one", all)
	}
	return all[0].String()
}

// A step that fails is told while it fails, with what it waits for, since when
// and how often it was tried; and no more when it is through.
func TestTroubles(t *testing.T) {
	f := func(part, want string, claimed bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			o := &outage{part: part, meet: fault.Fail(errDown)}
			c := config(t, o.over(&memory.Store{}), newTape(tableRows, 5))
			c.Limits = writer.Limits{MaxRows: 11, MaxAge: 20 * time.Second}
			o.lasts.Store(true)
			if claimed && part == "manifest/" { // the claim is made before the outage
				o.lasts.Store(false)
				c.Start = func(context.Context) (int64, error) {
					time.AfterFunc(time.Millisecond, func() { o.lasts.Store(true) })
					return 0, nil
				}
				c.Source = slowly{c.Source}
			}
			w := writer.New(nil)
			ctx, cancel := context.WithCancel(t.Context())
			wait := run(ctx, w, c)
			time.Sleep(15 * time.Second)
			synctest.Wait()
			if got := trouble(t, w); !strings.HasPrefix(got, want+" for 1") || !strings.Contains(got, "s, tried ") || !strings.HasSuffix(got, errDown.Error()) {
				t.Errorf("%q, want %q", got, want)
			}
			st := only(t, w)
			if !st.Running || st.Claimed != claimed || !errors.Is(st.Troubles[0].Err, errDown) || st.Troubles[0].Tries < 3 {
				t.Errorf("%+v", st)
			}
			o.lasts.Store(false)
			time.Sleep(time.Minute)
			synctest.Wait()
			if st := only(t, w); len(st.Troubles) != 0 || st.Next != tableRows || !st.Waiting.IsZero() || !st.Oldest.IsZero() || st.Ranges != 4 {
				t.Errorf("after the outage: %+v", st)
			}
			cancel()
			if err := wait(); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if st := only(t, w); st.Running || st.Claimed || st.Counts.Rows == 0 {
				t.Errorf("after the end: %+v", st)
			}
		})
	}
	f("manifest/", "no claim", false)
	f("schema/", "the schema is not stored", true)
	f("data/", "the store has not taken an object", true)
	f("dead/", "the store has not taken an object", true)
	f("manifest/", "the plan of a range is not in the head", true)
}

// slowly is a source that takes a moment for each answer, so that an outage
// can begin behind a claim.
type slowly struct{ writer.Source }

func (s slowly) Bounds(ctx context.Context) (start, end int64, err error) {
	time.Sleep(5 * time.Millisecond)
	return s.Source.Bounds(ctx)
}

// One failed try is nothing to hear of, and a store that hangs is told though
// it gives no error.
func TestSlowStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, hang := 0, make(chan struct{})
		s := fault.Wrap(&memory.Store{}, func(_ context.Context, c fault.Call) fault.Action {
			if c.Op != fault.Put || !strings.HasPrefix(c.Key, "data/") {
				return fault.Action{}
			}
			if calls++; calls == 1 {
				return fault.Fail(errDown)
			}
			return fault.Pause(nil, hang)
		})
		c := config(t, s, newTape(tableRows, 5))
		c.Limits.MaxRows = 11
		w := writer.New(nil)
		ctx, cancel := context.WithCancel(t.Context())
		wait := run(ctx, w, c)
		time.Sleep(29 * time.Second)
		if st := only(t, w); len(st.Troubles) != 0 || st.Retries != 1 {
			t.Errorf("after 29 s: %+v", st)
		}
		time.Sleep(2 * time.Second)
		if got := trouble(t, w); got != "the store has not taken an object for 31s: "+errDown.Error() {
			t.Errorf("after 31 s: %q", got)
		}
		cancel()
		close(hang)
		_ = wait()
	})
}

// A step that never answered says so.
func TestTroubleWithoutAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		time.Sleep(42 * time.Second)
		if got := (writer.Trouble{Step: "nothing happens", Since: begin}).String(); got != "nothing happens for 42s: no answer yet" {
			t.Errorf("%q", got)
		}
	})
}

// What waits is told with when it came and with the timestamp of its first
// record, from the first one that is read to the publish.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		c := config(t, &memory.Store{}, newTape(tableRows, 5))
		c.Limits.MaxAge = time.Minute
		w := writer.New(nil)
		ctx, cancel := context.WithCancel(t.Context())
		wait := run(ctx, w, c)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		st := only(t, w)
		// Offset 0 is no record; that of offset 1 has the timestamp 1 ms.
		if !st.Waiting.Equal(begin) || st.Oldest.UnixMilli() != 1 || st.Position != tableRows || st.Next != 0 || !st.Published.IsZero() {
			t.Errorf("%+v", st)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		st = only(t, w)
		if !st.Waiting.IsZero() || !st.Oldest.IsZero() || st.Next != tableRows || !st.Published.Equal(begin.Add(time.Minute)) {
			t.Errorf("%+v", st)
		}
		cancel()
		_ = wait()
	})
}

// Counts go on over claims, so that they never fall while the process lives: a
// fence and a second claim are counted, and so is the time of each step.
func TestStatsOutliveClaims(t *testing.T) {
	s := &memory.Store{}
	src := newTape(tableRows, 5)
	c := config(t, s, src)
	c.Limits.MaxRows, c.Once = 11, true
	c.Confirmed = func(context.Context) error { return nil }
	fenced := false
	c.Store = fault.Wrap(s, func(_ context.Context, call fault.Call) fault.Action {
		if fenced || call.Op != fault.Put || !strings.HasPrefix(call.Key, "data/") {
			return fault.Action{}
		}
		fenced = true
		return fault.Action{Before: func(context.Context) error { fence(t, s); return nil }}
	})
	w := writer.New(nil)
	before := writer.Stats{}
	for round := range 2 {
		if err := w.Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		st := only(t, w)
		if st.Claims <= before.Claims || st.Records < before.Records || st.Ranges < before.Ranges || st.Counts.Rows < before.Counts.Rows {
			t.Errorf("round %d: %+v after %+v", round, st, before)
		}
		before = st
	}
	if before.Claims != 3 || before.Fences != 1 || before.Ranges != 4 || before.Next != tableRows || before.Running || len(before.Troubles) != 0 {
		t.Errorf("%+v", before)
	}
	steps := w.Steps()
	if steps.Write.Count() != 5 || // one of them was fenced before its publish
		steps.Publish.Count() != 4 || steps.Plan.Count() == 0 || steps.Plan.Count() > 5 {
		t.Errorf("plan %d, write %d, publish %d times", steps.Plan.Count(), steps.Write.Count(), steps.Publish.Count())
	}
}
