package writer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

// commits is how many commits are counted: two lists of level 0.
const commits = 128

// A commit of one file costs two store writes under load and three when quiet,
// and 1/63 more for sealing, at the start of a table and after 100,000 ranges.
// The head stays under 64 KB.
func TestCostOfCommits(t *testing.T) {
	f := func(ranges int64, p process, want cost) {
		t.Helper()
		mem := &memory.Store{}
		first := old(t, mem, ranges)
		if got := costOf(t, mem, first, p); got != want {
			t.Errorf("%d ranges, %+v: %+v, want %+v", ranges, p, got, want)
		}
	}
	for _, ranges := range []int64{0, 100_000} {
		// Under load a plan rides in the publish before it: two writes a commit.
		// The claim and the first plan are one more each.
		f(ranges, process{"A", 1, true}, cost{objects: commits, heads: commits + 2, lists: commits / 64})
		// Quiet, each commit has a plan of its own: three writes.
		f(ranges, process{"A", 1, false}, cost{objects: commits, heads: 2*commits + 1, lists: commits / 64})
		// Two objects in a commit: one write more.
		f(ranges, process{"D", 2, true}, cost{objects: 2 * commits, heads: commits + 2, lists: commits / 64})
		// The same with real files of raw values, statistics and all.
		f(ranges, process{parquet, 1, false}, cost{objects: commits, heads: 2*commits + 1, lists: commits / 64})
	}
}

// parquet is the software of a process that lays out with the default encoder.
const parquet = "parquet"

// cost is how many objects of each kind were written.
type cost struct{ objects, heads, lists int }

// costOf lets p make 128 commits from an offset on and counts its writes.
func costOf(t *testing.T, mem store.Store, first int64, p process) (n cost) {
	t.Helper()
	counted := fault.Wrap(mem, func(_ context.Context, c fault.Call) fault.Action {
		switch {
		case c.Op != fault.Put:
		case strings.HasPrefix(c.Key, "d"): // data/ and dead/
			n.objects++
		case c.Key == (manifest.Partition{}).HeadKey():
			n.heads++
			if c.Size >= 64<<10 {
				t.Errorf("the head grew to %d bytes", c.Size)
			}
		case strings.HasPrefix(c.Key, "manifest/"):
			n.lists++
		}
		return fault.Action{}
	})
	end := fill(first, commits*p.rows)
	src := newTape(end, 64)
	src.ahead = p.rows
	c := config(t, counted, src)
	c.Limits.MaxRows, c.Once = p.rows, true
	if p.load {
		g := &gate{Store: counted, end: end, laid: map[int64]bool{}, more: make(chan struct{})}
		c.Store, c.NewEncoder = g, lines{software: p.software, laidOut: g.laidOut}.encoder
	} else {
		src.quiet, c.Published, c.NewEncoder = p.rows, src.published, lines{software: p.software}.encoder
	}
	if p.software == parquet {
		c.NewEncoder = nil
	}
	if err := writer.New(nil).Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return n
}

// old gives a table a head that has published n ranges of one offset each, and
// returns its next offset. Its lists are referred to and not there: a commit
// reads none.
func old(t *testing.T, s store.Store, n int64) int64 {
	t.Helper()
	if n == 0 {
		return 0
	}
	h := manifest.Head{Table: "t", Identity: identity, LeaderEpoch: -1, Version: uint64(n), Epoch: 1, Owner: manifest.Owner{ID: "x"}, Next: n}
	at := int64(0)
	for level, size := 2, int64(64*64*64); level >= 0; level, size = level-1, size/64 {
		for ; n-at >= size; at += size {
			totals := manifest.Totals{Ranges: size, Files: size, Bytes: size, Counts: manifest.Counts{Rows: size}}
			h.Sealed = append(h.Sealed, manifest.ListRef{Level: level, Range: manifest.Range{Start: at, Next: at + size}, Random: fmt.Sprintf("%016x", at), Totals: totals})
			h.Totals = h.Totals.Add(totals)
		}
	}
	for ; at < n; at++ {
		r := manifest.Range{Start: at, Next: at + 1}
		file := manifest.File{Key: manifest.Name{Range: r}.Data(), Rows: 1, Bytes: 1}
		h.Ranges = append(h.Ranges, manifest.RangeRecord{Range: r, Schema: 1, Counts: manifest.Counts{Rows: 1}, Data: []manifest.File{file}})
		h.Totals = h.Totals.Add(h.Ranges[len(h.Ranges)-1].Totals())
	}
	body, err := manifest.EncodeHead(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), h.HeadKey(), body, store.IfAbsent()); err != nil {
		t.Fatal(err)
	}
	return n
}
