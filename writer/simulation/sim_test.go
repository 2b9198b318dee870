package simulation

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/lakeweir/lakeweir/manifest"
)

var (
	seeds   = flag.Int("seeds", 100, "how many seeds to run")
	replays = flag.Int("replays", 20, "how many of them to run twice")
	first   = flag.Uint64("first", 1, "the first of them")
	only    = flag.Uint64("seed", 0, "run this one and print its steps")
)

func schema(t *testing.T) manifest.Schema {
	t.Helper()
	s, err := manifest.NewSchema(manifest.Declared{Value: manifest.RawValue})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// play runs a seed; equal seeds give equal steps.
func play(t *testing.T, seed uint64) *world {
	cryptotest.SetGlobalRandom(t, seed)
	return simulate(t, seed, schema(t))
}

// state tells where all partitions are.
func (w *world) state() string {
	var parts []string
	for id := range w.partitions {
		h, l := w.truths[id].head, w.logs[id]
		parts = append(parts, fmt.Sprintf("%d: version %d epoch %d log %d next %d of [%d,%d) of log %d", id, h.Version, h.Epoch, h.Identity.Topic[0], h.Next, l.start, l.end, l.tag))
	}
	for _, p := range w.processes {
		for id := range w.partitions {
			if k := p.works[id]; k != nil && k.ended && k.err != nil && w.owners[id] == p {
				parts = append(parts, fmt.Sprintf("process %d on %d: %v", p.id, id, k.err))
			}
		}
	}
	return strings.Join(parts, "; ")
}

// Whatever happens in whatever order, no record is lost or published twice,
// what is published stays, and all is published in the end.
func TestSeeds(t *testing.T) {
	if *only > 0 {
		w := play(t, *only)
		t.Logf("seed %d:\n%s", *only, strings.Join(w.trace, "\n"))
		if w.failure != "" {
			t.Errorf("seed %d: %s", *only, w.failure)
		}
		return
	}
	begin, steps, counts := time.Now(), 0, map[string]int{}
	for seed := *first; seed < *first+uint64(*seeds); seed++ {
		w := play(t, seed)
		if w.failure != "" {
			t.Fatalf("seed %d, step %d: %s\nrun it alone with: go test ./writer/simulation -seed %d -v", seed, w.steps, w.failure, seed)
		}
		steps += w.steps
		for kind, n := range w.counts {
			counts[kind] += n
		}
	}
	t.Logf("%d seeds from %d on, %d steps, in %v", *seeds, *first, steps, time.Since(begin).Round(time.Millisecond))
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%-14s %d", kind, counts[kind])
	}
}

// A seed gives the same steps again, but for crowded ones.
func TestReplay(t *testing.T) {
	for seed := *first; seed < *first+uint64(*replays); seed++ {
		if crowded(seed) {
			continue
		}
		one, two := play(t, seed), play(t, seed)
		if one.digest() == two.digest() {
			continue
		}
		for i := range min(len(one.trace), len(two.trace)) {
			if one.trace[i] != two.trace[i] {
				t.Fatalf("seed %d differs at step %d:\n%s\n%s\nthen\n%s", seed, i+1, strings.Join(one.trace[max(0, i-5):i], "\n"), one.trace[i], two.trace[i])
			}
		}
		t.Fatalf("seed %d has %d steps, then %d", seed, len(one.trace), len(two.trace))
	}
}
