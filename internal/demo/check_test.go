package demo

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// lake is a table that is written without a writer, to be damaged in tests.
type lake struct {
	store.Store
	ledger *ledger
	logs   [Partitions]*manifest.Log
	schema manifest.Schema
}

// Each partition of a lake has two ranges of ten; every fifth event is spoiled.
const (
	lakeRange = 10
	lakeBad   = 5
)

func newLake(t *testing.T) *lake {
	t.Helper()
	l := &lake{Store: &memory.Store{}, ledger: &ledger{}}
	schema, err := order{}.schema()
	if err == nil {
		l.schema, err = manifest.EnsureSchema(t.Context(), l, schema)
	}
	for p := range int32(Partitions) {
		if err == nil {
			l.logs[p], err = manifest.Claim(t.Context(), l, manifest.Claimant{
				Table: table, Partition: p, Identity: record.Identity{Cluster: "test"},
				First: func(context.Context) (int64, error) { return 0, nil },
			})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for p := range int32(Partitions) {
		for start := int64(0); start < 2*lakeRange; start += lakeRange {
			l.publish(t, p, l.batch(t, p, start, true))
		}
	}
	return l
}

// batch returns ten records, which are sent if the ledger is to know of them.
func (l *lake) batch(t *testing.T, p int32, start int64, sent bool) *record.Batch {
	t.Helper()
	b := record.NewBatch(start, nil)
	for at := start; at < start+lakeRange; at++ {
		id, value := fmt.Sprintf("e%d-%d", p, at), ""
		if at%lakeBad == 0 {
			id, value = "", "{"
		} else {
			value = `{"id":"` + id + `"}`
		}
		if sent {
			if err := l.ledger.enter(p, at, id); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Append(record.Record{Offset: at, Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// publish commits a batch.
func (l *lake) publish(t *testing.T, p int32, b *record.Batch) {
	t.Helper()
	out := encode(t, l.schema, p, b)
	err := l.logs[p].Plan(t.Context(), manifest.Plan{Range: out.Record.Range, Schema: l.schema.Version, Keys: out.Record.Keys()})
	for key, body := range out.Bodies {
		if err == nil {
			_, err = l.Put(t.Context(), key, body, store.IfAbsent())
		}
	}
	if err == nil {
		err = l.logs[p].Publish(t.Context(), out.Record, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// put stores an object without a word to the heads.
func (l *lake) put(t *testing.T, key string, body []byte) {
	t.Helper()
	if _, err := l.Put(t.Context(), key, body, store.Blind()); err != nil {
		t.Fatal(err)
	}
}

// A good table passes, and each kind of damage is reported as what it is.
func TestCheck(t *testing.T) {
	const data0, dead0 = "data/00000-00000000000000000000-00000000000000000010.parquet", "dead/00000-00000000000000000000-00000000000000000010.parquet"
	f := func(name string, damage func(t *testing.T, l *lake), lost, doubled, unknown int64, problem string) {
		t.Run(name, func(t *testing.T) {
			l := newLake(t)
			damage(t, l)
			var r Report
			check(t.Context(), l, l.ledger, &r)
			if r.Lost != lost || r.Doubled != doubled || r.Unknown != unknown {
				t.Errorf("%d lost, %d doubled, %d unknown; want %d, %d, %d", r.Lost, r.Doubled, r.Unknown, lost, doubled, unknown)
			}
			all := strings.Join(r.Failed, "\n")
			if !strings.Contains(all, problem) || problem == "" && all != "" {
				t.Errorf("problems %q, want one with %q", all, problem)
			}
			if bad := lost+doubled+unknown > 0 || problem != ""; bad != (r.Err() != nil) {
				t.Errorf("the report has the error %v", r.Err())
			}
		})
	}
	get := func(t *testing.T, l *lake, key string) []byte {
		o, err := l.Get(t.Context(), key, store.Span{})
		if err != nil {
			t.Fatal(err)
		}
		return o.Body
	}
	f("good", func(*testing.T, *lake) {}, 0, 0, 0, "")
	// A file that a head names is not there: neither reader finds its rows.
	f("no data file", func(t *testing.T, l *lake) { _ = l.Delete(t.Context(), data0) }, 8, 0, 0, "named by the head")
	f("no dead letters", func(t *testing.T, l *lake) { _ = l.Delete(t.Context(), dead0) }, 2, 0, 0, "named by the head")
	// A copy that no head names: only who lists files sees the rows twice.
	f("a second file", func(t *testing.T, l *lake) {
		l.put(t, strings.Replace(data0, ".parquet", "-a1.parquet", 1), get(t, l, data0))
	}, 0, 8, 0, "")
	f("dead letters twice", func(t *testing.T, l *lake) {
		l.put(t, strings.Replace(dead0, ".parquet", "-a1.parquet", 1), get(t, l, dead0))
	}, 0, 2, 0, "")
	// The rows of another partition under this name.
	f("a foreign file", func(t *testing.T, l *lake) {
		l.put(t, data0, get(t, l, strings.Replace(data0, "/00000-", "/00001-", 1)))
	}, 8, 0, 0, "of partition 1")
	// Dead letters in place of rows.
	f("wrong verdict", func(t *testing.T, l *lake) { l.put(t, data0, get(t, l, dead0)) }, 8, 0, 0, `no leaf column "id"`)
	f("not Parquet", func(t *testing.T, l *lake) { l.put(t, data0, []byte("rows")) }, 8, 0, 0, data0)
	f("a stray file", func(t *testing.T, l *lake) { l.put(t, "data/notes.txt", []byte("hello")) }, 0, 0, 0, "found by listing")
	// Published, but never sent.
	f("too much", func(t *testing.T, l *lake) { l.publish(t, 2, l.batch(t, 2, 2*lakeRange, false)) }, 0, 0, 10, "was not sent so")
	// Sent, but not published yet.
	f("too little", func(t *testing.T, l *lake) { l.batch(t, 3, 2*lakeRange, true) }, 10, 0, 0, "")
	// Half of a commit: the files are there, the head does not name them.
	f("not committed", func(t *testing.T, l *lake) {
		for key, body := range encode(t, l.schema, 1, l.batch(t, 1, 2*lakeRange, true)).Bodies {
			l.put(t, key, body)
		}
	}, 10, 0, 0, "")
	f("no head", func(t *testing.T, l *lake) { _ = l.Delete(t.Context(), "manifest/00000.json") }, 20, 0, 0, "read head")
}

// The figures of one partition, from what readers met.
func TestSettle(t *testing.T) {
	l := &ledger{}
	for at, id := range []string{"a", "b", "", "d"} {
		if err := l.enter(1, int64(at), id); err != nil {
			t.Fatal(err)
		}
	}
	heads, listing := newView(l), newView(l)
	for _, v := range []*view{heads, listing} {
		v.row(1, 0, "a")
		v.deadLetter(1, 2)
		v.row(1, 3, "a") // the id of another: d is lost, and this row unknown
	}
	listing.row(1, 0, "a") // twice, but not through the heads
	listing.row(1, 1, "b") // not through the heads: lost to their readers
	got := settle(l, heads, listing, [Partitions]int64{})[1]
	if want := (Account{Sent: 4, Rows: 2, Dead: 1, Lost: 2, Doubled: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if heads.unknown != 1 || !strings.Contains(heads.first, `offset 3 has id "a"`) {
		t.Errorf("%d unknown: %s", heads.unknown, heads.first)
	}
	heads.row(1, 4, "e")
	heads.deadLetter(1, -1)
	if heads.unknown != 3 {
		t.Errorf("%d unknown, want 3: offsets outside of the log are", heads.unknown)
	}
}
