package manifest

import "fmt"

// Range is a run of positions in a log, half open: [Start, Next). Markers,
// aborted records and records that compaction took lie inside it, so its
// length is not a count of records.
type Range struct {
	Start int64 `json:"start"`
	Next  int64 `json:"next"`
}

// Len returns the number of positions.
func (r Range) Len() int64 { return r.Next - r.Start }

// Validate returns an error unless 0 <= Start < Next.
func (r Range) Validate() error {
	if r.Start < 0 || r.Next <= r.Start {
		return fmt.Errorf("range %s is empty or negative", r)
	}
	return nil
}

// String returns "[start,next)".
func (r Range) String() string { return fmt.Sprintf("[%d,%d)", r.Start, r.Next) }
