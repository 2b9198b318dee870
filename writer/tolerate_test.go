package writer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

// badOf returns a log of n events of which some are bad.
func badOf(n int64, is func(int64) bool) events {
	bad := map[int64]string{}
	for o := range n {
		if is(o) {
			bad[o] = "x"
		}
	}
	return newEvents(n, bad)
}

// crossing is what the cap has to find, the slow way: the first offset at
// which more than a share of the last 10,000 records are bad; -1 for none.
func crossing(n int64, share float64, is func(int64) bool) int64 {
	dead := 0
	for o := range n {
		if is(o) {
			dead++
		}
		if o >= 10_000 && is(o-10_000) {
			dead--
		}
		if seen := min(o+1, 10_000); seen >= 1000 && float64(dead) > share*float64(seen) {
			return o
		}
	}
	return -1
}

// nothingAside checks that no object is there of a range that is not published.
func nothingAside(t *testing.T, s store.Store) {
	t.Helper()
	h := head(t, s)
	if h.Pending != nil {
		t.Errorf("a plan is pending: %+v", h.Pending)
	}
	for i, err := range s.List(context.Background(), "d", "") {
		if err != nil {
			t.Fatal(err)
		}
		if n, _, err := manifest.Parse(i.Key); err != nil || n.Next > h.Next {
			t.Errorf("%s is there, published is up to %d (%v)", i.Key, h.Next, err)
		}
	}
}

// The cap stops at the same record wherever batches are cut, before the range
// of that record is planned, and the error tells an operator what to do. (B20)
func TestTooManyDead(t *testing.T) {
	f := func(name string, share float64, n int64, is func(int64) bool, want int64) {
		t.Run(name, func(t *testing.T) {
			if got := crossing(n, share, is); got != want {
				t.Fatalf("the model says %d, want %d", got, want)
			}
			for _, rows := range []int64{250, 1111, 1 << 20} {
				s, src := &memory.Store{}, badOf(n, is)
				src.quiet = rows
				c := eventsConfig(t, s, src)
				c.MaxDead = share
				c.Rejected = func(_ context.Context, key string, _ iter.Seq2[manifest.DeadLetter, error]) (int64, error) {
					if r, _, err := manifest.Parse(key); want >= 0 && (err != nil || r.Next > want) {
						t.Errorf("letters of %s are handed on, %v", key, err)
					}
					return 0, nil
				}
				err := writer.New(nil).Run(t.Context(), c)
				if want < 0 {
					if err != nil || head(t, s).Next != n {
						t.Errorf("cut at %d: next %d, %v", rows, head(t, s).Next, err)
					}
					continue
				}
				if !errors.Is(err, writer.ErrTooManyDead) || !strings.Contains(err.Error(), fmt.Sprintf("at offset %d,", want)) {
					t.Errorf("cut at %d: got %v, want offset %d", rows, err, want)
				}
				if next := head(t, s).Next; next > want || next+rows <= want && next != 0 {
					t.Errorf("cut at %d: published up to %d", rows, next)
				}
				nothingAside(t, s)
			}
		})
	}
	all := func(int64) bool { return true }
	// A schema that fits nothing: it stops as soon as enough was seen.
	f("All", 0.1, 3000, all, 999)
	f("AllButFew", 0.1, 999, all, -1)
	f("AllIsTolerated", 1, 3000, all, -1)
	// Exactly the share is tolerated, one more is not.
	f("Share", 0.1, 12_000, func(o int64) bool { return o%10 == 9 }, -1)
	f("More", 0.1, 12_000, func(o int64) bool { return o%10 == 0 }, 1000)
	// The share of the last 10,000, not of all there ever were.
	f("Storm", 0.1, 15_000, func(o int64) bool { return o >= 12_000 }, 13_000)
	f("StormsApart", 0.1, 22_000, func(o int64) bool { return o >= 10_000 && o%10_000 < 1000 }, -1)
	f("StormsTooClose", 0.1, 22_000, func(o int64) bool { return o >= 10_000 && o%9_999 < 1000 }, 19_998+1)
	// Without any it costs nothing.
	f("None", 0.001, 3000, func(int64) bool { return false }, -1)
}

// The error names topic, partition, offsets, share and the commonest reason.
func TestTooManyDeadTells(t *testing.T) {
	src := badOf(2000, func(o int64) bool { return o >= 1000 && o%3 > 0 })
	for o := int64(1000); o < 1010; o++ {
		src.bad[o] = "[]"
	}
	c := eventsConfig(t, &memory.Store{}, src)
	c.MaxDead = 0.05
	err := writer.New(nil).Run(t.Context(), c)
	for _, want := range []string{"t/0: ", "of the last 10", "0.05", "dead_letter.max_ratio", "bad_json, first at offset 1010 (", "[800,1200)", "correct the producer"} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// The last records are those that this process has published, over all claims:
// another process, or one that starts again, has seen none. What was read
// twice because it was not published counts once.
func TestTooManyDeadOverClaims(t *testing.T) {
	is := func(o int64) bool { return o >= 9400 && o < 10_600 }
	f := func(again bool, want string) {
		t.Helper()
		s, w := &memory.Store{}, writer.New(nil)
		for _, n := range []int64{10_000, 10_600} {
			if n > 10_000 && !again {
				w = writer.New(nil)
			}
			c := eventsConfig(t, s, badOf(n, is))
			c.MaxDead = 0.1
			err := w.Run(t.Context(), c)
			if n > 10_000 && want != "" {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
				// It stays so: the same records are read again, and counted once.
				if err := w.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("again: got %v, want %q", err, want)
				}
			} else if err != nil {
				t.Error(err)
			}
		}
	}
	f(true, "at offset 10400, 1001 of the last 10000 records")
	f(false, "")
}

// A range is tolerated for the records before it, and its process dies with the
// plan in the head. The one that starts after it has not seen those records,
// and yet finishes the range: it would else never start.
func TestPendingRangeIsTolerated(t *testing.T) {
	is := func(o int64) bool { return o >= 10_000 && o%3 == 0 }
	s := &memory.Store{}
	run := func(ctx context.Context, w *writer.Writers, as store.Store, n int64) error {
		src := badOf(n, is)
		src.quiet = 0 // batches larger than its steps are not to wait for their age
		c := eventsConfig(t, as, src)
		c.MaxDead, c.Limits.MaxRows = 0.1, 2000
		return w.Run(ctx, c)
	}
	w := writer.New(nil)
	if err := run(t.Context(), w, s, 10_000); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dying := fault.Wrap(s, func(_ context.Context, c fault.Call) fault.Action {
		if c.Op == fault.Put && strings.HasPrefix(c.Key, "data/") {
			return fault.Before()
		}
		return fault.Action{}
	})
	dying.OnDeath(cancel)
	if err := run(ctx, w, dying, 12_000); err == nil {
		t.Fatal("the process did not die")
	}
	if p := head(t, s).Pending; p == nil || p.Next != 12_000 {
		t.Fatalf("pending is %+v", p)
	}
	if err := run(t.Context(), writer.New(nil), s, 12_000); err != nil {
		t.Fatal(err)
	}
	if h := head(t, s); h.Next != 12_000 || h.Totals.Rows+h.Totals.Dead != 12_000 {
		t.Errorf("next %d, %+v", h.Next, h.Totals)
	}
	// What comes then is measured with it.
	if err := run(t.Context(), writer.New(nil), s, 14_000); !errors.Is(err, writer.ErrTooManyDead) {
		t.Errorf("the next range: %v", err)
	}
}

// Once the columns are corrected, a new start reads all again and loses nothing.
func TestTooManyDeadThenCorrected(t *testing.T) {
	s := &memory.Store{}
	c := eventsConfig(t, s, badOf(3000, func(o int64) bool { return o >= 500 }))
	c.MaxDead = 0.2
	if err := writer.New(nil).Run(t.Context(), c); !errors.Is(err, writer.ErrTooManyDead) {
		t.Fatal(err)
	}
	c.Source = badOf(3000, func(int64) bool { return false })
	if err := writer.New(nil).Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if h := head(t, s); h.Next != 3000 || h.Totals.Rows < 2500 || h.Totals.Rows+h.Totals.Dead != 3000 {
		t.Errorf("next %d, %+v", h.Next, h.Totals)
	}
}
