package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// SHA256 is the hash of an object's bytes. In JSON it is 64 hex digits.
type SHA256 [sha256.Size]byte

// String returns the hash in hex.
func (h SHA256) String() string { return hex.EncodeToString(h[:]) }

// MarshalText is encoding.TextMarshaler.
func (h SHA256) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText is encoding.TextUnmarshaler.
func (h *SHA256) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(h) {
		return fmt.Errorf("sha256 %q does not have 64 hex digits", text)
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// File is one object that a range record names.
type File struct {
	Key     string  `json:"key"`  // relative to the root of the table
	Rows    int64   `json:"rows"` // as the footer says
	Bytes   int64   `json:"bytes"`
	SHA256  SHA256  `json:"sha256"`
	MinTime *int64  `json:"min_time,omitempty"` // record timestamps in milliseconds; nil when no row has one
	MaxTime *int64  `json:"max_time,omitempty"`
	Values  []Value `json:"values,omitempty"` // of the directories in Key
	Stats   []Stat  `json:"stats,omitempty"`  // of the first 16 leaf columns

	unknown unknownFields
}

// Value is the value of a partition column that all rows of a file share.
type Value struct {
	Column string  `json:"column"`
	Value  *string `json:"value"` // nil is null
}

// Stat bounds the values of one leaf column of a file. Min and Max are JSON
// scalars in the column's own type (timestamps in microseconds, dates in days,
// decimals and UUIDs as text); both are absent when the column has no values,
// or none that can be bounded. A Max that was cut short is rounded up.
type Stat struct {
	Column int             `json:"c"` // field id
	Min    json.RawMessage `json:"min,omitempty"`
	Max    json.RawMessage `json:"max,omitempty"`
	Nulls  int64           `json:"nulls,omitempty"`
}

// Counts says what became of every position of a range.
type Counts struct {
	Rows       int64 `json:"rows,omitempty"`       // in data files
	Duplicates int64 `json:"duplicates,omitempty"` // dropped by the event-id window
	Dead       int64 `json:"dead,omitempty"`       // in dead-letter files
	Filtered   int64 `json:"filtered,omitempty"`   // left out by a rule of the schema
	Absent     int64 `json:"absent,omitempty"`     // markers, aborted, compacted away
	Lost       int64 `json:"lost,omitempty"`       // gone from the log before they were read
}

// Sum returns the number of positions accounted for. It equals the length of the range.
func (c Counts) Sum() int64 {
	return c.Rows + c.Duplicates + c.Dead + c.Filtered + c.Absent + c.Lost
}

// within reports whether each count lies between 0 and n.
func (c Counts) within(n int64) bool {
	low := min(c.Rows, c.Duplicates, c.Dead, c.Filtered, c.Absent, c.Lost)
	return low >= 0 && max(c.Rows, c.Duplicates, c.Dead, c.Filtered, c.Absent, c.Lost) <= n
}

// Add returns the sums of c and d.
func (c Counts) Add(d Counts) Counts {
	return Counts{
		Rows: c.Rows + d.Rows, Duplicates: c.Duplicates + d.Duplicates, Dead: c.Dead + d.Dead,
		Filtered: c.Filtered + d.Filtered, Absent: c.Absent + d.Absent, Lost: c.Lost + d.Lost,
	}
}

// Totals sums what is published. Files and Bytes count data and dead-letter files.
type Totals struct {
	Ranges int64 `json:"ranges,omitempty"`
	Files  int64 `json:"files,omitempty"`
	Bytes  int64 `json:"bytes,omitempty"`
	Counts
}

// Add returns the sums of t and u.
func (t Totals) Add(u Totals) Totals {
	return Totals{Ranges: t.Ranges + u.Ranges, Files: t.Files + u.Files, Bytes: t.Bytes + u.Bytes, Counts: t.Counts.Add(u.Counts)}
}
