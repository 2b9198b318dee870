package columnar

import (
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
)

// A panic below Encode fails the range, with its name; the next one works.
func TestPanicFailsOneRange(t *testing.T) {
	e, err := NewEncoder(mustSchema(t, manifest.Declared{}))
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
