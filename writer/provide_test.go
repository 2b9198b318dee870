package writer

import (
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// A batch that is cut while the one before it still waits for memory does not
// take what has become free meanwhile: it is published after that one, and both
// would wait for ever.
func TestMemoryIsGivenInOrder(t *testing.T) {
	s := &session{budget: NewBudget(0, 1)}
	first, second := s.newUnit(manifest.Range{Next: 1}, nil, 0, 0), s.newUnit(manifest.Range{Start: 1, Next: 2}, []*record.Batch{}, 0, 0)
	held, ok := s.budget.laidOut.try(1)
	if !ok {
		t.Fatal("there is none")
	}
	s.provide(first)
	s.budget.laidOut.release(held)
	s.provide(second)
	if first.laidOut != 0 || second.laidOut != 0 || s.behind.Load() != 0 {
		t.Fatalf("the first has %d bytes, the second %d, %d are to be awaited", first.laidOut, second.laidOut, s.behind.Load())
	}
	if err := s.reserve(t.Context(), first); err != nil || first.laidOut != 1 {
		t.Fatalf("the first has %d bytes, %v", first.laidOut, err)
	}
}
