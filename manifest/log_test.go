package manifest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
)

// again is the plan of r with the next attempt.
func again(p Plan) Plan {
	next := Plan{Range: p.Range, Attempt: p.Attempt + 1, Schema: p.Schema, Superseded: append(p.Superseded[:len(p.Superseded):len(p.Superseded)], p.Keys...)}
	next.Keys = []string{Name{Partition: Partition{ID: part}, Range: p.Range, Attempt: next.Attempt}.Data()}
	return next
}

// attempt is r published under the names of a later attempt.
func attempt(r RangeRecord, n int) RangeRecord {
	r.Attempt, r.Data = n, []File{dataFile(r.Range, r.Generation, n)}
	return r
}

func TestPlans(t *testing.T) {
	r := filled(100, 110)
	first := *planOf(r)
	second := again(first)
	f := func(what string, ok bool, pending *Plan, p Plan) {
		t.Helper()
		s := empty()
		l := claim(t, s)
		if pending != nil {
			h := read(t, s)
			h.Version, h.Pending, h.Schema = 2, pending, pending.Schema
			putHead(t, s, h)
			l = claim(t, s)
		}
		before := asJSON(t, read(t, s))
		err := l.Plan(t.Context(), p)
		if ok {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			} else if h := read(t, s); !samePlan(h.Pending, &p) || h.Schema != p.Schema {
				t.Errorf("%s: pending is %+v", what, h.Pending)
			}
			return
		}
		if !errors.Is(err, ErrChange) || !strings.Contains(err.Error(), "plan") {
			t.Errorf("%s: got %v, want ErrChange", what, err)
		}
		if asJSON(t, read(t, s)) != before {
			t.Errorf("%s: the head was changed", what)
		}
	}
	f("fresh", true, nil, first)
	f("again", true, &first, second)
	f("a third time", true, &second, again(second))
	f("the same once more", true, &first, first)
	f("fewer keys", true, &first, Plan{Range: r.Range, Attempt: 1, Superseded: first.Keys})
	// A fresh range has attempt 0 and supersedes nothing.
	f("fresh with attempt 1", false, nil, second)
	f("fresh with attempt 1, nothing superseded", false, nil, Plan{Range: r.Range, Attempt: 1, Keys: second.Keys})
	f("fresh without keys", false, nil, Plan{Range: r.Range})
	f("not at next offset", false, nil, *planOf(filled(101, 110)))
	f("below next offset", false, nil, *planOf(filled(90, 100)))
	f("key of another range", false, nil, Plan{Range: r.Range, Keys: planOf(filled(100, 111)).Keys})
	// A pending range is planned again whole, with the attempt that follows.
	f("another range", false, &first, *planOf(filled(100, 111)))
	f("another range, next attempt", false, &first, again(*planOf(filled(100, 111))))
	f("same attempt, other keys", false, &first, Plan{Range: r.Range, Keys: []string{"dead" + first.Keys[0][4:]}})
	f("attempt skipped", false, &first, again(again(first)))
	f("attempt goes back", false, &second, first)
	f("key not superseded", false, &first, Plan{Range: r.Range, Attempt: 1, Keys: second.Keys})
	third := again(second)
	third.Superseded = second.Keys
	f("key of the first attempt forgotten", false, &second, third)
}

// Long: a case a line.
func TestPublishes(t *testing.T) {
	r := filled(100, 110)
	first := *planOf(r)
	second := again(first)
	f := func(what string, ok bool, pending *Plan, r RangeRecord, rider *Plan) {
		t.Helper()
		s := empty()
		claim(t, s)
		h := read(t, s)
		h.Version, h.Pending = 2, pending
		putHead(t, s, h)
		l := claim(t, s)
		before := asJSON(t, read(t, s))
		err := l.Publish(t.Context(), r, rider)
		h = read(t, s)
		if !ok {
			if !errors.Is(err, ErrChange) || asJSON(t, h) != before {
				t.Errorf("%s: got %v, want ErrChange and nothing changed", what, err)
			}
			return
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		if h.Next != r.Next || !samePlan(h.Pending, rider) || h.Totals != r.Totals() || len(h.Ranges) != 1 || h.Ranges[0].Range != r.Range {
			t.Errorf("%s: head is %s", what, asJSON(t, h))
		}
	}
	f("as planned", true, &first, r, nil)
	f("second attempt", true, &second, attempt(r, 1), nil)
	f("with a rider", true, &first, r, planOf(filled(110, 120)))
	f("without files, not planned", true, nil, hollow(100, 110), nil)
	f("without files, not planned, with a rider", true, nil, hollow(100, 110), planOf(filled(110, 120)))
	empty2 := hollow(100, 110)
	empty2.Attempt = 1
	empty2.Schema = 1
	f("without files, planned again", true, &Plan{Range: r.Range, Attempt: 1, Schema: 1, Superseded: first.Keys}, empty2, nil)
	// What was not planned.
	f("files, not planned", false, nil, r, nil)
	f("without files, not at next offset", false, nil, hollow(101, 110), nil)
	f("without files, but others are planned", false, &first, hollow(100, 110), nil)
	f("another range", false, &first, filled(100, 111), nil)
	f("attempt of before", false, &second, r, nil)
	f("attempt to come", false, &first, attempt(r, 1), nil)
	other := r
	other.Schema = 2
	f("another schema", false, &first, other, nil)
	two := r
	two.Data = append(two.Data[:1:1], File{Key: Name{Partition: Partition{ID: part}, Range: r.Range, Hive: "a=b"}.Data()})
	f("a file more than planned", false, &first, two, nil)
	// What is no range.
	wrong := r
	wrong.Counts.Rows--
	f("counts", false, &first, wrong, nil)
	// Riders that do not follow.
	f("rider elsewhere", false, &first, r, planOf(filled(111, 120)))
	f("rider of the same range", false, &first, r, &first)
	late := again(*planOf(filled(110, 120)))
	f("rider with attempt 1", false, &first, r, &late)
}

// Ranges without files merge with their neighbour, if it has none either.
func TestHollowRangesMerge(t *testing.T) {
	s := empty()
	l := claim(t, s)
	publish := func(r RangeRecord) {
		t.Helper()
		if err := l.Publish(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, l, filled(100, 110))
	publish(hollow(110, 111))
	lost := hollow(111, 120)
	lost.Counts, lost.LeaderEpoch = Counts{Lost: 9}, 7
	publish(lost)
	publish(hollow(120, 121)) // merged: three in one
	commit(t, l, filled(121, 122))
	publish(hollow(122, 123))
	other := hollow(123, 124)
	other.Schema = 2
	publish(other) // not merged: another schema
	h := read(t, s)
	var got []string
	for _, r := range h.Ranges {
		got = append(got, r.Range.String())
	}
	if s := strings.Join(got, " "); s != "[100,110) [110,121) [121,122) [122,123) [123,124)" {
		t.Error("ranges ", s)
	}
	if m := h.Ranges[1]; m.Counts != (Counts{Absent: 2, Lost: 9}) || m.LeaderEpoch != 7 {
		t.Errorf("merged to %+v", m)
	}
	if h.Totals.Ranges != 5 || h.Totals.Lost != 9 || h.Totals.Absent != 4 || h.LeaderEpoch != 5 {
		t.Errorf("totals %+v, leader epoch %d", h.Totals, h.LeaderEpoch)
	}
}

// A writer whose claim was taken changes nothing more, whatever it does.
func TestFenced(t *testing.T) {
	f := func(what string, pending bool, change func(l *Log) error) {
		t.Helper()
		s := empty()
		l := claim(t, s)
		if pending {
			if err := l.Plan(t.Context(), *planOf(filled(100, 110))); err != nil {
				t.Fatal(err)
			}
		}
		claim(t, s)
		before := asJSON(t, read(t, s))
		for range 2 { // once fenced, always fenced
			if err := change(l); !errors.Is(err, ErrFenced) {
				t.Errorf("%s: got %v, want ErrFenced", what, err)
			}
		}
		if asJSON(t, read(t, s)) != before {
			t.Errorf("%s: the head was changed", what)
		}
	}
	f("plan", false, func(l *Log) error { return l.Plan(t.Context(), *planOf(filled(100, 110))) })
	f("publish", true, func(l *Log) error { return l.Publish(t.Context(), filled(100, 110), nil) })
	f("publish without files", false, func(l *Log) error { return l.Publish(t.Context(), hollow(100, 110), nil) })
	f("resume", false, func(l *Log) error { return l.Resume(t.Context()) })
}

// work is four commits, one of them of a range without files, with a rider in
// the second.
func work(ctx context.Context, l *Log) error {
	a, b, c := filled(100, 110), filled(110, 120), filled(125, 130)
	for _, step := range []func() error{
		func() error { return l.Plan(ctx, *planOf(a)) },
		func() error { return l.Publish(ctx, a, planOf(b)) },
		func() error { return l.Publish(ctx, b, nil) },
		func() error { return l.Publish(ctx, hollow(120, 125), nil) },
		func() error { return l.Plan(ctx, *planOf(c)) },
		func() error { return l.Publish(ctx, c, nil) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func worked(t *testing.T, s *memory.Store) {
	t.Helper()
	h := read(t, s)
	if h.Next != 130 || h.Pending != nil || h.Totals.Rows != 25 || h.Totals.Absent != 5 {
		t.Errorf("head %s", asJSON(t, h))
	}
	contiguous(t, h.Ranges, begin, 130)
}

// Each head write goes wrong in turn: the writer settles it by reading, and
// ends with all published once.
func TestEveryHeadWriteGoesWrong(t *testing.T) {
	busy := errors.New("503 slow down")
	f := func(what string, met func(arrived *[]func() error) fault.Action) {
		t.Helper()
		for n := 2; n <= 7; n++ { // the first is the claim
			synctest.Test(t, func(t *testing.T) {
				s := empty()
				var late []func() error
				l := claim(t, fault.Wrap(s, atPut(n, met(&late))))
				if err := work(t.Context(), l); err != nil {
					t.Fatalf("%s at head write %d: %v", what, n, err)
				}
				worked(t, s)
				before := asJSON(t, read(t, s))
				// A request that arrives when all is over changes nothing.
				for _, arrive := range late {
					if err := arrive(); !errors.Is(err, store.ErrConflict) {
						t.Errorf("%s at head write %d: the late one got %v", what, n, err)
					}
				}
				if asJSON(t, read(t, s)) != before {
					t.Errorf("%s at head write %d: the late one took effect", what, n)
				}
			})
		}
	}
	f("failed", func(*[]func() error) fault.Action { return fault.Fail(busy) })
	f("conflict without a cause", func(*[]func() error) fault.Action { return fault.Fail(store.ErrConflict) })
	f("answer lost", func(*[]func() error) fault.Action { return fault.Lost() })
	f("conflict answered for a success", func(*[]func() error) fault.Action {
		return fault.Action{After: func(error) error { return store.ErrConflict }}
	})
	f("late", func(late *[]func() error) fault.Action {
		return fault.Action{Late: func(arrive func() error) { *late = append(*late, arrive) }}
	})
}

// A head write that arrives between the reading and the next try is the
// writer's own: the next try meets it.
func TestLateHeadWriteArrivesBeforeTheNextTry(t *testing.T) {
	for n := 2; n <= 7; n++ {
		synctest.Test(t, func(t *testing.T) {
			s := empty()
			var arrive func() error
			count := 0
			script := func(_ context.Context, c fault.Call) fault.Action {
				if c.Op != fault.Put {
					return fault.Action{}
				}
				switch count++; {
				case count == n:
					return fault.Action{Late: func(a func() error) { arrive = a }}
				case count == n+1:
					return fault.Action{Before: func(context.Context) error { return arrive() }}
				}
				return fault.Action{}
			}
			l := claim(t, fault.Wrap(s, script))
			if err := work(t.Context(), l); err != nil {
				t.Fatalf("head write %d: %v", n, err)
			}
			worked(t, s)
		})
	}
}

// Maintenance of another process changes ranges, sealed and totals and adds 1
// to the version: the writer meets it as a conflict and goes on on top of it.
func TestMaintenanceBetween(t *testing.T) {
	for n := int64(2); n <= 7; n++ {
		synctest.Test(t, func(t *testing.T) {
			s := empty()
			isHead := func(c fault.Call) bool { return c.Op == fault.Put }
			l := claim(t, fault.Wrap(s, fault.BeforeNth(n, isHead, func() {
				h, lists, err := sealRanges(read(t, s), newRandom)
				if err != nil {
					t.Error(err)
				}
				for _, list := range lists {
					put(t, s, list.key, list.body)
				}
				h.Version++
				putHead(t, s, h)
			})))
			epoch := l.Head().Epoch
			if err := work(t.Context(), l); err != nil {
				t.Fatalf("before head write %d: %v", n, err)
			}
			h := read(t, s)
			if h.Next != 130 || h.Epoch != epoch || h.Totals.Rows != 25 || h.Totals.Absent != 5 {
				t.Errorf("before head write %d: %s", n, asJSON(t, h))
			}
			contiguous(t, allRanges(t, h, s), begin, 130)
		})
	}
}

// A change ends with its context while the store is away.
func TestChangeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := false
		l := claim(t, fault.Wrap(empty(), func(context.Context, fault.Call) fault.Action {
			if down {
				return fault.Fail(errors.New("down"))
			}
			return fault.Action{}
		}))
		down = true
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Plan(ctx, *planOf(filled(100, 110))) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the error of the context", err)
		}
	})
}
