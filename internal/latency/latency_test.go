package latency

import (
	"testing"
	"time"
)

func TestObserve(t *testing.T) {
	f := func(d time.Duration, bucket int, sum time.Duration) {
		t.Helper()
		var h Histogram
		h.Observe(d)
		for i, n := range h.Counts {
			if want := i == bucket; (n == 1) != want || n > 1 {
				t.Errorf("%v: %d in bucket %d, want it in %d", d, n, i, bucket)
			}
		}
		if h.Sum != sum || h.Count() != 1 {
			t.Errorf("%v: sum %v, count %d", d, h.Sum, h.Count())
		}
	}
	// A bound belongs to the bucket below it, as in Prometheus ("le").
	f(time.Millisecond, 0, time.Millisecond)
	f(time.Millisecond+1, 1, time.Millisecond+1)
	f(0, 0, 0)
	f(2*time.Minute, len(Bounds)-1, 2*time.Minute)
	// Above all bounds.
	f(time.Hour, len(Bounds), time.Hour)
	// The clock was set back.
	f(-time.Second, 0, 0)
}

// The bounds ascend, else Observe would skip a bucket.
func TestBounds(t *testing.T) {
	for i := 1; i < len(Bounds); i++ {
		if Bounds[i] <= Bounds[i-1] {
			t.Errorf("bound %d is %v, behind %v", i, Bounds[i], Bounds[i-1])
		}
	}
}

// Durations add up, in counts and in the sum.
func TestSeveral(t *testing.T) {
	var h Histogram
	for range 3 {
		h.Observe(time.Second)
	}
	h.Observe(time.Hour)
	if h.Count() != 4 || h.Sum != time.Hour+3*time.Second {
		t.Errorf("%+v", h)
	}
}
