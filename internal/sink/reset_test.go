package sink

import (
	"errors"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// A plan is good for the head that it was made of only: a sink that still runs
// makes it void, and nothing is changed.
func TestResetOfChangedHead(t *testing.T) {
	c := cluster(t, 1)
	send(t, c, 0, 0, 5)
	set, mem := quakes(c), &memory.Store{}
	if err := runOnce(t, set, mem); err != nil {
		t.Fatal(err)
	}
	table := store.Sub(mem, "quakes/")
	plan, err := PlanReset(t.Context(), set, table, "quakes", nil)
	if err != nil || len(plan) != 1 || plan[0].First != 0 || !plan[0].SameLog() {
		t.Fatalf("%+v, %v", plan, err)
	}
	if err := runOnce(t, set, mem); err != nil { // claims anew
		t.Fatal(err)
	}
	before := head(t, mem, 0)
	if _, err := plan[0].Apply(t.Context(), table, "h", "s"); !errors.Is(err, errChanged) {
		t.Fatalf("err %v, want %v", err, errChanged)
	}
	if head(t, mem, 0).Version != before.Version {
		t.Error("the head was changed")
	}
	plan, err = PlanReset(t.Context(), set, table, "quakes", []int32{0})
	if err != nil {
		t.Fatal(err)
	}
	if h, err := plan[0].Apply(t.Context(), table, "h", "s"); err != nil || h.Generation != 1 || h.Next != 0 {
		t.Errorf("%+v, %v", h, err)
	}
}
