package writer_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

// busy is an Encoder that takes a second for a range, a later one less, and
// counts how many it lays out at once. It fails at the range that begins at bad.
type busy struct {
	lines
	bad int64

	mu      *sync.Mutex
	n, most *int
}

func (e busy) Encode(ctx context.Context, job manifest.Job) (manifest.Encoded, error) {
	e.mu.Lock()
	*e.n++
	*e.most = max(*e.most, *e.n)
	e.mu.Unlock()
	time.Sleep(time.Second - time.Duration(job.Start)*10*time.Millisecond)
	e.mu.Lock()
	*e.n--
	e.mu.Unlock()
	if job.Start == e.bad {
		return manifest.Encoded{}, errors.New("broken")
	}
	return e.lines.Encode(ctx, job)
}

func newBusy(bad int64) busy {
	return busy{lines: lines{software: "A"}, bad: bad, mu: new(sync.Mutex), n: new(int), most: new(int)}
}

// One partition with a backlog has a batch on each core, and publishes them in
// order although the later ones are done first.
func TestBacklogTakesAllCores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := &memory.Store{}, newBusy(-1)
		c := config(t, s, newTape(tableRows, 2))
		c.Limits.MaxRows = 4
		c.NewEncoder = func(manifest.Schema) (writer.Encoder, error) { return e, nil }
		toEnd(t, writer.New(nil), c)
		whole(t, s)
		got := starts(t, s)
		if !slices.IsSorted(got) {
			t.Errorf("published in the order %v", got)
		}
		if want := min(runtime.GOMAXPROCS(0), len(got)-1); *e.most != want {
			t.Errorf("%d ranges were laid out at once, want %d", *e.most, want)
		}
	})
}

// A range that cannot be laid out ends the writer with its error. What comes
// behind it is not published, also when that is laid out already.
func TestBacklogWithABrokenRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := &memory.Store{}, newBusy(-1)
		all := config(t, s, newTape(tableRows, 2))
		all.Limits.MaxRows, all.Once = 4, true
		all.NewEncoder = func(manifest.Schema) (writer.Encoder, error) { return e, nil }
		toEnd(t, writer.New(nil), all)
		third := starts(t, s)[2]

		s, e = &memory.Store{}, newBusy(third)
		c := all
		c.Store, c.Source = s, newTape(tableRows, 2)
		budget := writer.NewBudget(0, 1<<20)
		err := writer.New(budget).Run(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), "broken") {
			t.Fatalf("got %v", err)
		}
		if next := head(t, s).Next; next > third {
			t.Errorf("published up to %d, the range at %d is broken", next, third)
		}
		if n := budget.Objects(); n != 0 {
			t.Errorf("%d bytes are still charged", n)
		}
	})
}
