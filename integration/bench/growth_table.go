package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lakeweir/lakeweir/integration/bench/shop"
	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

const (
	tableName = "events"

	// fileRows are the rows of each file of a made-up table. They count for
	// nothing here: a file is what costs.
	fileRows = 100

	// tableFirst is where a made-up table begins: offsets up from here all have
	// twelve digits, and digits that stand in a file for nothing else.
	tableFirst = 271_828_182_800
)

// tableLog is the log that a made-up table is of.
var tableLog = record.Identity{Cluster: "made-up", Topic: record.TopicID{1}}

// stencil is a text with some offsets in it, and where they stand.
type stencil struct {
	body  []byte
	start []int // where the first offset of the range stands
	last  []int
	next  []int
	hash  []int
}

func newStencil(body []byte, hash string) stencil {
	s := stencil{body: body}
	find := func(word string) (at []int) {
		for from := 0; word != ""; {
			i := bytes.Index(body[from:], []byte(word))
			if i < 0 {
				return at
			}
			at, from = append(at, from+i), from+i+len(word)
		}
		return at
	}
	s.start, s.next = find(fmt.Sprint(tableFirst)), find(fmt.Sprint(tableFirst+fileRows))
	s.last, s.hash = find(fmt.Sprint(tableFirst+fileRows-1)), find(hash)
	return s
}

// at returns the text for file i.
func (s stencil) at(i int) []byte {
	body, start := bytes.Clone(s.body), offsetOf(i)
	put := func(at []int, word string) {
		for _, place := range at {
			copy(body[place:], word)
		}
	}
	put(s.start, fmt.Sprint(start))
	put(s.last, fmt.Sprint(start+fileRows-1))
	put(s.next, fmt.Sprint(start+fileRows))
	put(s.hash, hashOf(i).String())
	return body
}

func offsetOf(i int) int64 { return tableFirst + int64(i)*fileRows }

// hashOf is what the store says is the hash of file i. As S3, it is believed.
func hashOf(i int) manifest.SHA256 {
	var h manifest.SHA256
	for at := 0; at < len(h); at += 8 {
		binary.BigEndian.PutUint64(h[at:], uint64(i+1)*0x9e3779b97f4a7c15>>(at/8))
	}
	return h
}

// table is a store with one partition of which n files are published, one to a
// range. What the manifest is made of lies there, as a store would have it.
// The files are those of the events of a shop; each is made when it is read,
// out of the one before which only its offsets differ.
type table struct {
	memory.Store // what is not there of the below: nothing is written to a table
	n            int
	objects      map[string][]byte // under manifest/ and schema/
	keys         []string          // of objects, sorted
	file, record stencil
}

// newTable makes a table whose lists are those that so many commits leave.
func newTable(ctx context.Context, n int) (*table, error) {
	t := &table{n: n, objects: map[string][]byte{}}
	schema, err := shopSchema()
	if err != nil {
		return nil, err
	}
	if schema, err = manifest.EnsureSchema(ctx, &t.Store, schema); err != nil {
		return nil, err
	}
	if t.objects[manifest.SchemaKey(schema.Version)], err = manifest.EncodeSchema(schema); err != nil {
		return nil, err
	}
	if err := t.draw(ctx, schema); err != nil {
		return nil, err
	}
	h := newTree(t).grow(n)
	h.Schema = schema.Version
	if t.objects[h.HeadKey()], err = manifest.EncodeHead(h); err != nil {
		return nil, err
	}
	t.keys = slices.Sorted(maps.Keys(t.objects))
	return t, h.Validate()
}

// shopSchema returns the schema that the other benchmarks have for JSON values.
func shopSchema() (manifest.Schema, error) {
	f, err := os.CreateTemp("", "lakeweir-bench-*.yaml")
	if err != nil {
		return manifest.Schema{}, err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString("topics:\n  " + tableName + ":\n    value: json\n    extra: false\n    columns:" + shop.Columns)
	if err := errors.Join(err, f.Close()); err != nil {
		return manifest.Schema{}, err
	}
	set, err := settings.Load(&settings.Flags{}, []string{"LAKEWEIR_CONFIG=" + f.Name()})
	if err != nil {
		return manifest.Schema{}, err
	}
	return set.Schema(set.Topics[0])
}

// draw encodes the first file, and makes stencils of it and of its record.
func (t *table) draw(ctx context.Context, schema manifest.Schema) error {
	e, err := columnar.NewEncoder(schema)
	if err != nil {
		return err
	}
	b, events := record.NewBatch(tableFirst, nil), shop.New()
	for i := range int64(fileRows) {
		if err := b.Append(record.Record{Offset: tableFirst + i, Timestamp: 1_768_435_200_000 + i, Value: events.Next()}); err != nil {
			return err
		}
	}
	out, err := e.Encode(ctx, manifest.Job{
		Table: tableName, Schema: schema.Version, Batches: []*record.Batch{b},
		Range: manifest.Range{Start: tableFirst, Next: tableFirst + fileRows},
	})
	if err != nil {
		return err
	}
	if len(out.Record.Data) != 1 || len(out.Record.Dead) != 0 {
		return fmt.Errorf("%d files and %d of dead letters, want one file", len(out.Record.Data), len(out.Record.Dead))
	}
	f := out.Record.Data[0]
	t.file = newStencil(out.Bodies[f.Key], "")
	text, err := json.Marshal(out.Record)
	t.record = newStencil(text, f.SHA256.String())
	return err
}

// ranged returns the record of file i.
func (t *table) ranged(i int) (r manifest.RangeRecord, err error) {
	err = json.Unmarshal(t.record.at(i), &r)
	return r, err
}

// number returns which file a key is of, and whether it is a file's.
func (t *table) number(key string) (int, bool) {
	n, err := manifest.ParseData(key)
	i := int((n.Start - tableFirst) / fileRows)
	return i, err == nil && n.Start >= tableFirst && i < t.n && keyOf(i) == key
}

func keyOf(i int) string {
	return manifest.Name{Range: manifest.Range{Start: offsetOf(i), Next: offsetOf(i) + fileRows}}.Data()
}

// Get is of store.Store.
func (t *table) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	body, ok := t.objects[key]
	if i, isFile := t.number(key); isFile {
		body, ok = t.file.at(i), true
	}
	if !ok {
		return store.Object{}, fmt.Errorf("get %s: %w", key, store.ErrNotExist)
	}
	info, err := t.Stat(ctx, key)
	from, to := span.Bounds(int64(len(body)))
	return store.Object{Info: info, Body: bytes.Clone(body[from:to])}, err
}

// Stat is of store.Store.
func (t *table) Stat(_ context.Context, key string) (store.Info, error) {
	info := store.Info{Key: key, ETag: `"made"`, Modified: time.Unix(1_768_435_200, 0)}
	if i, ok := t.number(key); ok {
		sum := [32]byte(hashOf(i))
		info.Size, info.SHA256 = int64(len(t.file.body)), &sum
		return info, nil
	}
	body, ok := t.objects[key]
	if !ok {
		return store.Info{}, fmt.Errorf("stat %s: %w", key, store.ErrNotExist)
	}
	info.Size = int64(len(body))
	return info, nil
}

// List is of store.Store.
func (t *table) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		if prefix == "data/" && after == "" {
			for i := range t.n {
				if !yield(t.Stat(ctx, keyOf(i))) {
					return
				}
			}
			return
		}
		at, _ := slices.BinarySearch(t.keys, max(prefix, after))
		for ; at < len(t.keys) && strings.HasPrefix(t.keys[at], prefix); at++ {
			if t.keys[at] > after && !yield(t.Stat(ctx, t.keys[at])) {
				return
			}
		}
	}
}
