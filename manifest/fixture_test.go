package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"testing"

	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
)

var update = flag.Bool("update", false, "write the golden files anew")

// quakes is the log that the tests publish: partition 3 from offset 100 on.
var quakes = record.Identity{Cluster: "lab", Topic: record.TopicID{1, 2, 3}}

const (
	part  = 3
	begin = 100
)

func claimant() Claimant {
	return Claimant{Table: "quakes", Partition: part, Identity: quakes, First: firstAt(begin), Host: "here", Software: "test"}
}

func firstAt(offset int64) func(context.Context) (int64, error) {
	return func(context.Context) (int64, error) { return offset, nil }
}

func claim(t testing.TB, s store.Store) *Log {
	t.Helper()
	l, err := Claim(t.Context(), s, claimant())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// read returns the head in the store, which must be a valid one.
func read(t testing.TB, s store.Store) Head {
	t.Helper()
	h, err := Read(t.Context(), s, part)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// dataFile is a file that holds all rows of the range.
func dataFile(r Range, generation, attempt int) File {
	n := Name{Partition: Partition{ID: part, Generation: generation}, Range: r, Attempt: attempt}
	return File{Key: n.Data(), Rows: r.Len(), Bytes: 10 * r.Len(), SHA256: sha256.Sum256([]byte(n.Data()))}
}

// filled is a range whose every position is a row of one file.
func filled(start, next int64) RangeRecord {
	r := Range{Start: start, Next: next}
	return RangeRecord{Range: r, Schema: 1, LeaderEpoch: 5, Counts: Counts{Rows: r.Len()}, Data: []File{dataFile(r, 0, 0)}}
}

// hollow is a range without files.
func hollow(start, next int64) RangeRecord {
	r := Range{Start: start, Next: next}
	return RangeRecord{Range: r, Schema: 1, LeaderEpoch: -1, Counts: Counts{Absent: r.Len()}}
}

// planOf is the plan that r publishes.
func planOf(r RangeRecord) *Plan {
	return &Plan{Range: r.Range, Attempt: r.Attempt, Schema: r.Schema, Keys: r.Keys()}
}

// commit plans and publishes r.
func commit(t testing.TB, l *Log, r RangeRecord) {
	t.Helper()
	if err := l.Plan(t.Context(), *planOf(r)); err != nil {
		t.Fatal(err)
	}
	if err := l.Publish(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
}

// putHead stores h as an outside hand would.
func putHead(t testing.TB, s store.Store, h Head) {
	t.Helper()
	body, err := EncodeHead(h)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, h.HeadKey(), body)
}

func put(t testing.TB, s store.Store, key string, body []byte) {
	t.Helper()
	if _, err := s.Put(t.Context(), key, body, store.Blind()); err != nil {
		t.Fatal(err)
	}
}

// asJSON makes heads and ranges comparable, with the members that are not known.
func asJSON(t testing.TB, v any) string {
	t.Helper()
	if h, ok := v.(Head); ok {
		body, err := EncodeHead(h)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// allRanges collects what h yields.
func allRanges(t testing.TB, h Head, s store.Store) []RangeRecord {
	t.Helper()
	var all []RangeRecord
	for r, err := range h.All(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// contiguous fails unless ranges follow each other from first to next.
func contiguous(t testing.TB, ranges []RangeRecord, first, next int64) {
	t.Helper()
	at := first
	for _, r := range ranges {
		if r.Start != at {
			t.Fatalf("range %s does not begin at %d", r.Range, at)
		}
		at = r.Next
	}
	if at != next {
		t.Fatalf("ranges end at %d, want %d", at, next)
	}
}

// puts is a store that counts its Puts.
type puts struct {
	*fault.Store
	n int
}

func countPuts(s store.Store) *puts {
	p := &puts{}
	p.Store = fault.Wrap(s, func(_ context.Context, c fault.Call) fault.Action {
		if c.Op == fault.Put {
			p.n++
		}
		return fault.Action{}
	})
	return p
}

// atPut meets the n-th Put, counted from 1, with a.
func atPut(n int, a fault.Action) fault.Script {
	return func(_ context.Context, c fault.Call) fault.Action {
		if c.Op != fault.Put {
			return fault.Action{}
		}
		if n--; n != 0 {
			return fault.Action{}
		}
		return a
	}
}

// numbered returns random parts that tell nothing: 1, 2, 3 ...
func numbered() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("%016x", n) }
}

// empty is a store with nothing in it.
func empty() *memory.Store { return &memory.Store{} }
