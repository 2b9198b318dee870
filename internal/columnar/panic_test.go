package columnar

import (
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
)

// A panic below Encode fails the range, with its name, and gives the slot back.
func TestPanicFailsOneRange(t *testing.T) {
	e, err := NewEncoder(mustSchema(t, manifest.Declared{}), Options{Slots: NewSlots(1)})
	if err != nil {
		t.Fatal(err)
	}
	dead := e.dead
	e.dead = nil
	job := manifest.Job{Table: "quakes", Partition: manifest.Partition{ID: 3}, Range: manifest.Range{Start: 1, Next: 2}, Schema: 1}
	if _, err := e.Encode(t.Context(), job); err == nil || !strings.HasPrefix(err.Error(), "encode quakes partition 3 [1,2): panic: ") {
		t.Errorf("error %v", err)
	}
	e.dead = dead
	if _, err := e.Encode(t.Context(), job); err != nil {
		t.Error(err)
	}
}

// Without slots of their own, encoders share those of the process.
func TestDefaultSlots(t *testing.T) {
	s := mustSchema(t, manifest.Declared{})
	a, err1 := NewEncoder(s, Options{})
	b, err2 := NewEncoder(s, Options{})
	if err1 != nil || err2 != nil || a.slots != b.slots || cap(a.slots) < 1 {
		t.Errorf("%v %v, %d slots", err1, err2, cap(a.slots))
	}
}
