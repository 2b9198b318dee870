package manifest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
)

// anew is what an operator says who resets the partition to another log.
func anew() Claimant {
	c := claimant()
	c.Identity = record.Identity{Cluster: "lab", Topic: record.TopicID{9}}
	c.First = firstAt(0)
	return c
}

// generation1 is a range of the log after the first reset.
func generation1(start, next int64) RangeRecord {
	r := filled(start, next)
	r.Generation, r.Data = 1, []File{dataFile(r.Range, 1, 0)}
	return r
}

func TestReset(t *testing.T) {
	s := empty()
	l := claim(t, s)
	commit(t, l, filled(100, 110))
	if err := l.Plan(t.Context(), *planOf(filled(110, 120))); err != nil {
		t.Fatal(err)
	}
	before := read(t, s)
	h, err := Reset(t.Context(), s, anew())
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, s); asJSON(t, got) != asJSON(t, h) {
		t.Errorf("Reset returned %s, the store has %s", asJSON(t, h), asJSON(t, got))
	}
	// A new generation of another log from its own offsets on; the plan is given up.
	if h.Generation != 1 || h.Identity != anew().Identity || h.First != 0 || h.Next != 0 || h.Pending != nil || h.LeaderEpoch != -1 {
		t.Errorf("head %s", asJSON(t, h))
	}
	// It is a claim, so the writer that ran is fenced.
	if h.Epoch != before.Epoch+1 || h.Version != before.Version+1 || h.Totals != before.Totals {
		t.Errorf("epoch %d, version %d, totals %+v", h.Epoch, h.Version, h.Totals)
	}
	if err := l.Publish(t.Context(), filled(110, 120), nil); !errors.Is(err, ErrFenced) {
		t.Errorf("got %v, want ErrFenced", err)
	}
	// The old log is not the one of the head any more, the new one is.
	if _, err := Claim(t.Context(), s, claimant()); !errors.Is(err, ErrIdentity) {
		t.Errorf("got %v, want ErrIdentity", err)
	}
	l, err = Claim(t.Context(), s, anew())
	if err != nil {
		t.Fatal(err)
	}
	// The same offsets again: their names cannot meet the old ones.
	if err := l.Plan(t.Context(), *planOf(filled(0, 10))); !errors.Is(err, ErrChange) {
		t.Errorf("a name of the old generation was planned: %v", err)
	}
	commit(t, l, generation1(0, 105))
	commit(t, l, generation1(105, 115))
	// What was published stays readable, oldest first.
	all := allRanges(t, read(t, s), s)
	if len(all) != 3 || all[0].Range != (Range{Start: 100, Next: 110}) || all[0].Generation != 0 || all[2].Generation != 1 {
		t.Errorf("ranges %s", asJSON(t, all))
	}
	contiguous(t, all[1:], 0, 115)
}

// Lists hold one generation each, and an old generation is one reference, so
// that a head that was reset often stays small.
func TestResetsSealTheirGeneration(t *testing.T) {
	sealGenerations(t, 64*63+6, 63)   // as many lists of one level as there can be
	sealGenerations(t, 64*64+64*5, 6) // lists of two levels, and no range beside
}

// sealGenerations resets three times with so many ranges in each generation,
// which make so many lists.
func sealGenerations(t *testing.T, each, lists int) {
	t.Helper()
	s := empty()
	claim(t, s)
	const resets = 3
	for g := range resets {
		h := extend(t, s, read(t, s), each)
		if len(h.Sealed) != g+lists {
			t.Fatalf("%d lists before reset %d, want %d", len(h.Sealed), g, g+lists)
		}
		h.Version++
		putHead(t, s, h)
		h, err := Reset(t.Context(), s, anew())
		if err != nil {
			t.Fatal(err)
		}
		if len(h.Sealed) != g+1 || len(h.Ranges) != 0 {
			t.Errorf("%d lists and %d ranges after reset %d, want one list for each", len(h.Sealed), len(h.Ranges), g)
		}
		for _, r := range h.Sealed {
			if r.Totals.Ranges != int64(each) {
				t.Errorf("a list of %d ranges, want %d", r.Totals.Ranges, each)
			}
		}
	}
	h := read(t, s)
	n := 0
	for r, err := range h.All(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Generation != n/each {
			t.Fatalf("range %d is of generation %d", n, r.Generation)
		}
		n++
	}
	if n != resets*each || h.Totals.Ranges != int64(resets*each) {
		t.Errorf("%d ranges, totals say %d, want %d", n, h.Totals.Ranges, resets*each)
	}
}

// A reset with nothing published, and one after it, seal nothing.
func TestResetOfNothing(t *testing.T) {
	s := empty()
	claim(t, s)
	counted := countPuts(s)
	for g := 1; g <= 2; g++ {
		h, err := Reset(t.Context(), counted, anew())
		if err != nil || h.Generation != g || len(h.Sealed) != 0 || counted.n != g {
			t.Errorf("generation %d, %d lists, %d writes, %v", h.Generation, len(h.Sealed), counted.n, err)
		}
	}
}

func TestResetRefuses(t *testing.T) {
	// A partition without a head has nothing to reset.
	s := empty()
	if _, err := Reset(t.Context(), s, anew()); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("got %v, want ErrNotExist", err)
	}
	// The head of another table.
	claim(t, s)
	before := asJSON(t, read(t, s))
	c := anew()
	c.Table = "other"
	if _, err := Reset(t.Context(), s, c); !errors.Is(err, ErrDamage) {
		t.Errorf("got %v, want ErrDamage", err)
	}
	// No answer to where the new generation begins.
	mine := errors.New("mine")
	c = anew()
	c.First = func(context.Context) (int64, error) { return 0, mine }
	if _, err := Reset(t.Context(), s, c); !errors.Is(err, mine) {
		t.Errorf("got %v, want %v", err, mine)
	}
	if asJSON(t, read(t, s)) != before {
		t.Error("the head was changed")
	}
}

// Whatever goes wrong at a call, one reset is one generation.
func TestResetWithFaults(t *testing.T) {
	for at := int64(1); at <= 5; at++ {
		for _, a := range []fault.Action{fault.Lost(), fault.Fail(errors.New("503"))} {
			if at == 1 {
				continue // the first read asks whether there is a head at all, and its error is the operator's
			}
			synctest.Test(t, func(t *testing.T) {
				s := empty()
				commit(t, claim(t, s), filled(100, 110))
				if _, err := Reset(t.Context(), fault.Wrap(s, fault.AtCall(at, a)), anew()); err != nil {
					t.Fatalf("call %d: %v", at, err)
				}
				h := read(t, s)
				if h.Generation != 1 || h.Epoch != 2 || len(h.Sealed) != 1 {
					t.Errorf("call %d: %s", at, asJSON(t, h))
				}
				contiguous(t, allRanges(t, h, s), 100, 110)
			})
		}
	}
}
