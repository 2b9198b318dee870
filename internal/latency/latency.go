// Package latency counts how long calls take, in buckets that are the same for
// all of them. It is plain values, so that the packages that measure need no
// library for metrics.
package latency

import "time"

// Bounds are the upper bounds of the buckets but for the last, which has none.
// They reach from a local disk, which takes a millisecond, to the deadline of
// a store call, which is a minute and more.
var Bounds = [...]time.Duration{
	time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond,
	5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
}

// Histogram counts durations. The zero value is empty. It is a value: whoever
// shares one guards it.
type Histogram struct {
	Counts [len(Bounds) + 1]uint64 // by bucket, not added up; the last is above all bounds
	Sum    time.Duration
}

// Observe adds a duration. A negative one, of a clock that was set back, is 0.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	i := 0
	for i < len(Bounds) && d > Bounds[i] {
		i++
	}
	h.Counts[i]++
	h.Sum += d
}

// Count returns how many durations were added.
func (h *Histogram) Count() (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}
