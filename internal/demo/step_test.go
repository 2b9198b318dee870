package demo

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
)

// protocol makes the calls of a writer for one partition, and notes in seen
// what it has done. It claims, publishes a range, and plans the next one again
// under new names.
func protocol(t *testing.T, s store.Store, p int32, seen *[]string) {
	t.Helper()
	do := func(what string, err error) {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		*seen = append(*seen, what)
	}
	log, err := manifest.Claim(t.Context(), s, manifest.Claimant{
		Table: table, Partition: p, Identity: record.Identity{Cluster: "test"},
		First: func(context.Context) (int64, error) { return 0, nil },
	})
	do("claim", err)
	file := func(r manifest.Range, attempt int) (key string, rec manifest.RangeRecord) {
		key = manifest.Name{Partition: manifest.Partition{ID: p}, Range: r, Attempt: attempt}.Data()
		return key, manifest.RangeRecord{
			Range: r, Attempt: attempt, Schema: 1, Counts: manifest.Counts{Rows: r.Len()},
			Data: []manifest.File{{Key: key, Rows: r.Len(), Bytes: 1}},
		}
	}
	put := func(key string, c store.Cond) error {
		_, err := s.Put(t.Context(), key, []byte("x"), c)
		return err
	}
	r := manifest.Range{Start: 0, Next: 10}
	key, rec := file(r, 0)
	do("plan", log.Plan(t.Context(), manifest.Plan{Range: r, Schema: 1, Keys: []string{key}}))
	do("put", put(key, store.IfAbsent()))
	do("publish", log.Publish(t.Context(), rec, nil))
	r = manifest.Range{Start: 10, Next: 20}
	old, _ := file(r, 0)
	key, rec = file(r, 1)
	do("plan 2", log.Plan(t.Context(), manifest.Plan{Range: r, Schema: 1, Keys: []string{old}}))
	do("plan 2 again", log.Plan(t.Context(), manifest.Plan{Range: r, Attempt: 1, Schema: 1, Keys: []string{key}, Superseded: []string{old}}))
	do("vacate 2", put(old, store.Blind()))
	do("put 2", put(key, store.IfAbsent()))
	do("publish 2", log.Publish(t.Context(), rec, nil))
}

// A step is met at the calls that make it up, and at no others.
func TestScript(t *testing.T) {
	f := func(step Step, want ...string) {
		t.Helper()
		w := newWatch(&memory.Store{})
		var seen, at []string
		s := fault.Wrap(w, w.script(step, func(p int32, _ string) {
			last := "nothing"
			if len(seen) > 0 {
				last = seen[len(seen)-1]
			}
			at = append(at, fmt.Sprintf("%d after %s", p, last))
		}))
		for p := range int32(Partitions) {
			protocol(t, s, p, &seen)
		}
		if got := only(at, Partitions-1); !slices.Equal(got, want) {
			t.Errorf("%q: the last partition is held %q, want %q", step, got, want)
		}
		if first := only(at, 0); step == Writing && len(first) > 0 {
			t.Errorf("%q: held %q before all partitions were claimed", step, first)
		}
	}
	f(Claimed, "3 after publish 2") // of the partition before
	f(Planned, "3 after claim", "3 after publish", "3 after plan 2")
	f(Writing, "3 after plan", "3 after vacate 2") // not the file without rows
	f(Written, "3 after plan", "3 after vacate 2")
	f(Published, "3 after put", "3 after put 2")
	f(Telling) // is no call to the store
	f(Anytime)
}

// only returns what happened to a partition.
func only(at []string, p int32) (of []string) {
	for _, a := range at {
		if a[:1] == fmt.Sprint(p) {
			of = append(of, a)
		}
	}
	return of
}

// A write that failed is no step.
func TestScriptOfFailedWrites(t *testing.T) {
	w := newWatch(&memory.Store{})
	s := fault.Wrap(w, w.script(Written, func(_ int32, key string) { t.Errorf("held at %s", key) }))
	key := manifest.Name{Range: manifest.Range{Start: 0, Next: 1}}.Data()
	if _, err := w.Store.Put(t.Context(), key, []byte("x"), store.IfAbsent()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), key, []byte("y"), store.IfAbsent()); err == nil {
		t.Error("a name was written twice")
	}
}
