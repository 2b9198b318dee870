package verify

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// table is a table that a test makes and then damages.
type table struct {
	t       *testing.T
	s       store.Store
	encoder *columnar.Encoder
	logs    map[int32]*manifest.Log
}

// batch is how many positions a range of a test has. The last record of each
// is no JSON, so it has a dead letter.
const batch = 5

// sealing is how many ranges make the head of a test seal some: their
// statistics fill it before there are 64.
const sealing = 34

// newTable makes a table with so many ranges in partition 0 and one in 1. Each
// is made once; tests get copies.
func newTable(t *testing.T, ranges int) *table {
	t.Helper()
	schema, err := manifest.NewSchema(manifest.Declared{Value: manifest.JSONValue, Columns: []manifest.Column{
		{Name: "id", Type: manifest.String, Required: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	made, _ := originals.LoadOrStore(ranges, sync.OnceValue(func() store.Store {
		tb := openTable(t, schema)
		for range ranges {
			tb.publish(0, "")
		}
		tb.publish(1, "")
		return tb.s
	}))
	tb := openTable(t, schema)
	from := &table{t: t, s: made.(func() store.Store)()}
	for _, key := range from.list("") {
		tb.put(key, from.get(key))
	}
	return tb
}

var originals sync.Map // number of ranges -> func() store.Store

// openTable makes a table without ranges.
func openTable(t *testing.T, schema manifest.Schema) *table {
	t.Helper()
	tb := &table{t: t, s: &memory.Store{}, logs: map[int32]*manifest.Log{}}
	schema, err := manifest.EnsureSchema(t.Context(), tb.s, schema)
	if err != nil {
		t.Fatal(err)
	}
	if tb.encoder, err = columnar.NewEncoder(schema); err != nil {
		t.Fatal(err)
	}
	return tb
}

// claim returns the log of a partition.
func (tb *table) claim(partition int32) *manifest.Log {
	tb.t.Helper()
	if l := tb.logs[partition]; l != nil {
		return l
	}
	l, err := manifest.Claim(tb.t.Context(), tb.s, manifest.Claimant{
		Table: "quakes", Partition: partition,
		First: zero,
	})
	if err != nil {
		tb.t.Fatal(err)
	}
	tb.logs[partition] = l
	return l
}

// encode lays out the next range of a partition. An id replaces that of its
// first record.
func (tb *table) encode(partition int32, id string, attempt int) manifest.Encoded {
	tb.t.Helper()
	h := tb.claim(partition).Head()
	b := record.NewBatch(h.Next, nil)
	for i := range int64(batch) {
		value := fmt.Sprintf(`{"id":"%d-%d-%d"}`, partition, h.Generation, h.Next+i)
		if i == 0 && id != "" {
			value = fmt.Sprintf(`{"id":%q}`, id)
		}
		if i == batch-1 {
			value = "no JSON"
		}
		if err := b.Append(record.Record{Offset: h.Next + i, Timestamp: 1000 + i, Value: []byte(value)}); err != nil {
			tb.t.Fatal(err)
		}
	}
	e, err := tb.encoder.Encode(tb.t.Context(), manifest.Job{
		Table: "quakes", Partition: h.Partition, Range: manifest.Range{Start: h.Next, Next: h.Next + batch},
		Attempt: attempt, Schema: 1, Batches: []*record.Batch{b},
	})
	if err != nil {
		tb.t.Fatal(err)
	}
	return e
}

// plan plans and writes a range, and does not publish it.
func (tb *table) plan(partition int32, e manifest.Encoded, superseded ...string) {
	tb.t.Helper()
	p := manifest.Plan{Range: e.Record.Range, Attempt: e.Record.Attempt, Schema: 1, Keys: e.Record.Keys(), Superseded: superseded}
	if err := tb.claim(partition).Plan(tb.t.Context(), p); err != nil {
		tb.t.Fatal(err)
	}
	for _, key := range slices.Sorted(maps.Keys(e.Bodies)) {
		tb.put(key, e.Bodies[key])
	}
}

// publish writes one more range of a partition.
func (tb *table) publish(partition int32, id string) manifest.Encoded {
	tb.t.Helper()
	e := tb.encode(partition, id, 0)
	tb.plan(partition, e)
	tb.commit(partition, e)
	return e
}

func (tb *table) commit(partition int32, e manifest.Encoded) {
	tb.t.Helper()
	if err := tb.claim(partition).Publish(tb.t.Context(), e.Record, nil); err != nil {
		tb.t.Fatal(err)
	}
}

func (tb *table) put(key string, body []byte) {
	tb.t.Helper()
	if _, err := tb.s.Put(tb.t.Context(), key, body, store.Blind()); err != nil {
		tb.t.Fatal(err)
	}
}

func (tb *table) get(key string) []byte {
	tb.t.Helper()
	o, err := tb.s.Get(tb.t.Context(), key, store.Span{})
	if err != nil {
		tb.t.Fatal(err)
	}
	return slices.Clone(o.Body)
}

func (tb *table) remove(key string) {
	tb.t.Helper()
	if err := tb.s.Delete(tb.t.Context(), key); err != nil {
		tb.t.Fatal(err)
	}
}

// edit changes the stored form of an object by hand.
func (tb *table) edit(key, old, with string) {
	tb.t.Helper()
	body := string(tb.get(key))
	if !strings.Contains(body, old) {
		tb.t.Fatalf("%s has no %q: %s", key, old, body)
	}
	tb.put(key, []byte(strings.Replace(body, old, with, 1)))
}

// rewrite changes the record of the newest range of a partition in its head,
// which still holds together.
func (tb *table) rewrite(partition int32, change func(*manifest.RangeRecord)) {
	tb.t.Helper()
	tb.rewriteAt(partition, -1, change)
}

// rewriteAt does the same to the range of an index; -1 is the newest.
func (tb *table) rewriteAt(partition int32, index int, change func(*manifest.RangeRecord)) {
	tb.t.Helper()
	h, err := manifest.Read(tb.t.Context(), tb.s, partition)
	if err != nil {
		tb.t.Fatal(err)
	}
	if index < 0 {
		index += len(h.Ranges)
	}
	r := &h.Ranges[index]
	before := r.Totals()
	change(r)
	after := r.Totals()
	h.Totals.Files += after.Files - before.Files
	h.Totals.Bytes += after.Bytes - before.Bytes
	h.Totals.Rows += after.Rows - before.Rows
	h.Totals.Dead += after.Dead - before.Dead
	h.Totals.Absent += after.Absent - before.Absent
	h.Totals.Filtered += after.Filtered - before.Filtered
	body, err := manifest.EncodeHead(h)
	if err != nil {
		tb.t.Fatal(err)
	}
	tb.put(h.HeadKey(), body)
}

// list returns the keys under a prefix.
func (tb *table) list(prefix string) []string {
	tb.t.Helper()
	var keys []string
	for info, err := range tb.s.List(tb.t.Context(), prefix, "") {
		if err != nil {
			tb.t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

// verify runs a check and returns "severity kind key" of each finding, sorted.
func (tb *table) verify(o Options) []string {
	tb.t.Helper()
	var all []string
	for f, err := range Run(tb.t.Context(), tb.s, o) {
		if err != nil {
			tb.t.Fatalf("verify: %v", err)
		}
		if f.What == "" || f.Do == "" || strings.Contains(f.String(), "\n") {
			tb.t.Errorf("the finding %+v does not say in one line what is wrong and what to do", f)
		}
		all = append(all, fmt.Sprintf("%s %s %s", f.Severity, f.Kind, f.Key))
	}
	slices.Sort(all)
	return all
}

// finds fails unless a check finds exactly this.
func (tb *table) finds(o Options, want ...string) {
	tb.t.Helper()
	slices.Sort(want)
	if got := tb.verify(o); !slices.Equal(got, want) {
		tb.t.Errorf("found\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// errBroken is what a failing store returns.
var errBroken = errors.New("the store is on fire")

// failing is a store of which one kind of call fails, for files only.
type failing struct {
	store.Store
	op string
}

func (f failing) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	if f.op != "list" {
		return f.Store.List(ctx, prefix, after)
	}
	return func(yield func(store.Info, error) bool) { yield(store.Info{}, errBroken) }
}

func (f failing) Stat(ctx context.Context, key string) (store.Info, error) {
	if f.op == "stat" {
		return store.Info{}, errBroken
	}
	return f.Store.Stat(ctx, key)
}

func (f failing) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	if f.op == "get" && strings.HasPrefix(key, "data/") {
		return store.Object{}, errBroken
	}
	return f.Store.Get(ctx, key, span)
}

// zero is where every partition of a test begins.
func zero(context.Context) (int64, error) { return 0, nil }
