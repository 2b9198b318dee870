package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lakeweir/lakeweir/manifest"
)

// When package manifest seals ranges into a list: at so many, at so many bytes
// of them, at so many bytes of them and of references. TestTree compares what
// comes of it with what a manifest.Log leaves after the same commits, which
// would take half an hour for a million.
const (
	treeFan   = 64
	treeBytes = 32 << 10
	treeHead  = 56 << 10
)

// list is a sealed list as it is stored.
type list struct {
	Format    string             `json:"format"`
	Table     string             `json:"table"`
	Partition int32              `json:"partition"`
	Level     int                `json:"level"`
	Ranges    []json.RawMessage  `json:"ranges,omitempty"`
	Lists     []manifest.ListRef `json:"lists,omitempty"`
}

// tree grows the lists of a table.
type tree struct {
	t      *table
	open   []json.RawMessage // ranges that are not sealed
	bytes  int               // of them
	from   int               // which file is the first of them
	sealed []manifest.ListRef
	refs   int // bytes of sealed as JSON
}

func newTree(t *table) *tree { return &tree{t: t} }

// grow publishes n files, puts the lists into the table and returns the head.
func (g *tree) grow(n int) manifest.Head {
	for i := range n {
		g.open = append(g.open, g.t.record.at(i))
		g.bytes += len(g.t.record.body) + 1
		if len(g.open) >= treeFan || g.bytes+1 > treeBytes || g.bytes+1+g.refs > treeHead {
			g.seal(list{Ranges: g.open}, g.totals(len(g.open)), g.from, i+1)
			g.open, g.bytes, g.from = nil, 0, i+1
		}
	}
	h := manifest.Head{
		Table: tableName, Identity: tableLog, LeaderEpoch: -1,
		Version: uint64(2*n + 1), Epoch: 1, Owner: manifest.Owner{ID: "before"},
		First: tableFirst, Next: offsetOf(n), Sealed: g.sealed, Totals: g.totals(n),
	}
	for i := g.from; i < n; i++ {
		h.Ranges = append(h.Ranges, must(g.t.ranged(i)))
	}
	return h
}

// seal makes a list for files [from, to), and one of the next level when there
// are enough.
func (g *tree) seal(l list, totals manifest.Totals, from, to int) {
	l.Format, l.Table = manifest.Format, tableName
	ref := manifest.ListRef{
		Level: l.Level, Range: manifest.Range{Start: offsetOf(from), Next: offsetOf(to)},
		Random: fmt.Sprintf("%016x", uint64(to)<<8|uint64(l.Level)), Totals: totals,
	}
	g.t.objects[ref.Key(0)] = must(json.Marshal(l))
	g.sealed = append(g.sealed, ref)
	run := g.sealed[slices.IndexFunc(g.sealed, func(r manifest.ListRef) bool { return r.Level == l.Level }):]
	if len(run) == treeFan {
		g.sealed = slices.Clone(g.sealed[:len(g.sealed)-len(run)])
		first := int((run[0].Start - tableFirst) / fileRows)
		g.seal(list{Level: l.Level + 1, Lists: run}, g.totals(to-first), first, to)
	}
	g.refs = len(must(json.Marshal(g.sealed)))
}

// totals are those of n files, which are all alike.
func (g *tree) totals(n int) manifest.Totals {
	one := must(g.t.ranged(0)).Totals()
	return manifest.Totals{
		Ranges: one.Ranges * int64(n), Files: one.Files * int64(n), Bytes: one.Bytes * int64(n),
		Counts: manifest.Counts{Rows: one.Rows * int64(n)},
	}
}

// must is for JSON of our own values, which always can be made.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
