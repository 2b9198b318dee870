package manifest

import (
	"fmt"
	"strings"
)

// RangeRecord is what one commit published: which positions, what became of
// them, and the files with the rows. All its files are one commit, whatever
// their number; none at all is legal.
type RangeRecord struct {
	Range
	Generation  int    `json:"generation,omitempty"`
	Attempt     int    `json:"attempt,omitempty"`
	Schema      int    `json:"schema"`       // version of the schema object
	LeaderEpoch int32  `json:"leader_epoch"` // of the last batch read; -1 when unknown
	Counts      Counts `json:"counts"`
	Data        []File `json:"data,omitempty"`
	Dead        []File `json:"dead,omitempty"`

	unknown unknownFields
}

// Totals returns what r adds to the totals of its head.
func (r RangeRecord) Totals() Totals {
	t := Totals{Ranges: 1, Counts: r.Counts, Files: int64(len(r.Data) + len(r.Dead))}
	for _, files := range [][]File{r.Data, r.Dead} {
		for _, f := range files {
			t.Bytes += f.Bytes
		}
	}
	return t
}

// Keys returns the keys of all files, data first.
func (r RangeRecord) Keys() []string {
	var keys []string
	for _, files := range [][]File{r.Data, r.Dead} {
		for _, f := range files {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// Validate returns an error unless the positions are accounted for and each
// file bears a name of this range and holds as many rows as the counts say.
func (r RangeRecord) Validate() error {
	if err := r.Range.Validate(); err != nil {
		return err
	}
	if n := r.Counts.Sum(); n != r.Len() || !r.Counts.within(n) {
		return fmt.Errorf("range %s has %d positions but accounts for %d", r.Range, r.Len(), n)
	}
	data, err := r.rowsOf(r.Data, "data/")
	if err != nil {
		return err
	}
	dead, err := r.rowsOf(r.Dead, "dead/")
	if err != nil {
		return err
	}
	if data != r.Counts.Rows || dead != r.Counts.Dead {
		return fmt.Errorf("range %s counts %d rows and %d dead letters, its files hold %d and %d", r.Range, r.Counts.Rows, r.Counts.Dead, data, dead)
	}
	return nil
}

// rowsOf sums the rows of files under a prefix, whose names must lie in the range.
func (r RangeRecord) rowsOf(files []File, prefix string) (rows int64, err error) {
	for _, f := range files {
		n, _, err := Parse(f.Key)
		if err != nil {
			return 0, err
		}
		if !strings.HasPrefix(f.Key, prefix) {
			return 0, fmt.Errorf("%s is not under %s", f.Key, prefix)
		}
		if n.Start < r.Start || n.Next > r.Next || n.Generation != r.Generation {
			return 0, fmt.Errorf("%s is not of range %s", f.Key, r.Range)
		}
		if f.Rows < 0 || f.Rows > r.Len() || f.Bytes < 0 {
			return 0, fmt.Errorf("%s has %d rows and %d bytes in range %s", f.Key, f.Rows, f.Bytes, r.Range)
		}
		rows += f.Rows
	}
	return rows, nil
}

// Plan is a cut made durable before a byte of it is visible: the range that is
// being written, and the exact keys. Superseded are the keys of earlier
// attempts at the same range; they can never be published any more.
type Plan struct {
	Range
	Attempt    int      `json:"attempt,omitempty"`
	Schema     int      `json:"schema"`
	Keys       []string `json:"keys,omitempty"`
	Superseded []string `json:"superseded,omitempty"`

	unknown unknownFields
}

// Names reports whether keys are those of the plan, in whatever order.
func (p Plan) Names(keys []string) bool { return sameKeys(p.Keys, keys) }
