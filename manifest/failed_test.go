package manifest

import (
	"context"
	"errors"
	"testing"

	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
)

// Who claims is told of each try at the head that is made again: of the claim,
// of a change, and of the reading that settles a change.
func TestFailedIsTold(t *testing.T) {
	down := errors.New("down")
	f := func(what string, op fault.Op, fails int, want int) {
		t.Helper()
		var told []error
		left := 0
		s := fault.Wrap(&memory.Store{}, func(_ context.Context, c fault.Call) fault.Action {
			if left == 0 || op != "" && c.Op != op {
				return fault.Action{}
			}
			left--
			return fault.Fail(down)
		})
		c := claimant()
		c.Failed = func(err error) { told = append(told, err) }
		if what == "claim" {
			left = fails
		}
		l, err := Claim(t.Context(), s, c)
		if err != nil {
			t.Fatal(err)
		}
		if what == "change" {
			left = fails
			if err := l.Plan(t.Context(), *planOf(filled(begin, begin+5))); err != nil {
				t.Fatal(err)
			}
		}
		if len(told) != want {
			t.Errorf("%s: told %v, want %d errors", what, told, want)
		}
		for _, err := range told {
			if !errors.Is(err, down) {
				t.Errorf("%s: told %v", what, err)
			}
		}
	}
	f("claim", fault.Put, 2, 2)
	f("claim", fault.Get, 1, 1)
	f("change", fault.Put, 2, 2)
	// One write that fails, and two readings that are to settle it.
	f("change", "", 3, 3)
	// Nothing fails, nothing is told.
	f("change", fault.Put, 0, 0)
}
