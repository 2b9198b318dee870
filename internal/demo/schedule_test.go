package demo

import (
	"reflect"
	"slices"
	"testing"
)

// A seed stands for one schedule.
func TestIncidentsAreSeeded(t *testing.T) {
	if !reflect.DeepEqual(incidents(1, 10_000, 12), incidents(1, 10_000, 12)) {
		t.Error("seed 1 gives another schedule the second time")
	}
	if reflect.DeepEqual(incidents(1, 10_000, 12), incidents(2, 10_000, 12)) {
		t.Error("seed 2 gives the schedule of seed 1")
	}
}

// Whatever the seed, a schedule shows all that it should.
func TestIncidentsCover(t *testing.T) {
	for seed := range uint64(50) {
		all := incidents(seed, 100_000, DefaultKills)
		if n := kills(all); n != DefaultKills {
			t.Errorf("seed %d: %d kills, want %d", seed, n, DefaultKills)
		}
		steps, overlaps, pauses := map[Step]int{}, 0, 0
		for _, in := range all {
			switch {
			case in.pause:
				pauses++
			case in.overlap:
				overlaps++
				fallthrough
			default:
				steps[in.step]++
			}
		}
		for _, step := range append(named, Anytime) {
			if steps[step] == 0 {
				t.Errorf("seed %d: nobody is killed %s", seed, step)
			}
		}
		if contends != (overlaps > 0) || contends != (pauses > 0) {
			t.Errorf("seed %d: %d overlaps, %d pauses", seed, overlaps, pauses)
		}
	}
}

// No sink cuts as the one before it, and who takes over from a stopped one has
// another layout: else a broken protocol could pass for a good one.
func TestIncidentsCutDifferently(t *testing.T) {
	for seed := range uint64(50) {
		before := cut{}
		for i, in := range incidents(seed, 10_000, 12) {
			if in.cut.rows == before.rows {
				t.Errorf("seed %d incident %d: cuts at %d rows as the sink before", seed, i, before.rows)
			}
			if in.other.rows == in.cut.rows || in.cut.rows < 1 || in.nth < 1 {
				t.Errorf("seed %d incident %d: %+v", seed, i, in)
			}
			if in.pause && in.other.snappy == in.cut.snappy {
				t.Errorf("seed %d incident %d: the heir has the same layout", seed, i)
			}
			before = in.last()
		}
	}
}

// Few kills and none at all are schedules too.
func TestIncidentsFew(t *testing.T) {
	f := func(n int) {
		t.Helper()
		all := incidents(7, 1000, n)
		if got := kills(all); got != n {
			t.Errorf("%d kills, want %d", got, n)
		}
		if s := shares(all); s < len(all)+1 || s > 2*len(all)+1 {
			t.Errorf("%d shares for %d incidents", s, len(all))
		}
	}
	f(0) // only a stopped sink
	f(1)
	f(3) // fewer than there are steps
}

// kills returns how many of the incidents are kills.
func kills(all []incident) int {
	return len(slices.DeleteFunc(slices.Clone(all), func(in incident) bool { return in.pause }))
}
