package demo

import (
	"bytes"
	"slices"
	"testing"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// The same seed gives the same events, another one others.
func TestEventsAreSeeded(t *testing.T) {
	same := func(a, b event) bool {
		return a.partition == b.partition && a.id == b.id && bytes.Equal(a.value, b.value)
	}
	a, b := slices.Collect(events(1, 5000)), slices.Collect(events(1, 5000))
	if !slices.EqualFunc(a, b, same) {
		t.Error("seed 1 gives other events the second time")
	}
	if c := slices.Collect(events(2, 5000)); slices.EqualFunc(a, c, same) {
		t.Error("seed 2 gives the events of seed 1")
	}
}

// Ids are unique over several rounds of the file, and partitions get alike.
func TestEventsAreUnique(t *testing.T) {
	ids, per, bad := map[string]bool{}, [Partitions]int{}, 0
	for e := range events(3, 8000) {
		per[e.partition]++
		if e.id == "" {
			bad++
			continue
		}
		if ids[e.id] {
			t.Fatalf("id %q comes twice", e.id)
		}
		ids[e.id] = true
		if !bytes.Contains(e.value, []byte(`"id":"`+e.id+`"`)) {
			t.Fatalf("the value of %q does not carry its id: %s", e.id, e.value)
		}
	}
	if per != [Partitions]int{2000, 2000, 2000, 2000} {
		t.Errorf("events per partition: %v", per)
	}
	if want := 8000 / badShare; bad < want/2 || bad > want*2 {
		t.Errorf("%d events are spoiled, want about %d", bad, want)
	}
}

// The decoder of the product takes each event that has an id, and no other: the
// ledger would be wrong otherwise.
func TestEventsAreWhatTheLedgerSays(t *testing.T) {
	for _, snappy := range []bool{false, true} {
		schema, err := order{Snappy: snappy}.schema()
		if err != nil {
			t.Fatal(err)
		}
		l := &ledger{}
		b := record.NewBatch(0, nil)
		for e := range events(4, 6000) {
			at := int64(len(l.sent[0]))
			if err := l.enter(0, at, e.id); err != nil {
				t.Fatal(err)
			}
			if err := b.Append(record.Record{Offset: at, Timestamp: at, Value: e.value}); err != nil {
				t.Fatal(err)
			}
		}
		v := newView(l)
		for key, body := range encode(t, schema, 0, b).Bodies {
			if err := v.file(key, body); err != nil {
				t.Error(err)
			}
		}
		for offset, n := range v.found[0] {
			if n != 1 {
				t.Errorf("offset %d with id %q is found %d times", offset, l.sent[0][offset], n)
			}
		}
		if v.unknown > 0 {
			t.Errorf("%d unknown: %s", v.unknown, v.first)
		}
	}
}

// encode lays out a batch as the product does.
func encode(t *testing.T, schema manifest.Schema, partition int32, b *record.Batch) manifest.Encoded {
	t.Helper()
	e, err := columnar.NewEncoder(schema)
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Encode(t.Context(), manifest.Job{
		Table: table, Partition: manifest.Partition{ID: partition}, Schema: schema.Version,
		Range: manifest.Range{Start: b.Start, Next: b.Next}, Batches: []*record.Batch{b},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Each way to spoil an event is used and leaves no id to be found.
func TestSpoil(t *testing.T) {
	kinds := map[string]int{}
	for e := range events(5, 20_000) {
		if e.id != "" {
			continue
		}
		switch v := string(e.value); {
		case v == "":
			kinds["empty"]++
		case v[len(v)-1] != '}':
			kinds["cut"]++
		case bytes.HasSuffix(e.value, []byte(" }")):
			kinds["trailing"]++
		case bytes.Contains(e.value, []byte(`"mag":"strong"`)):
			kinds["type"]++
		case bytes.Contains(e.value, []byte(`,"name":"`)) && !bytes.Contains(e.value, idMember):
			kinds["no id"]++
		}
	}
	for _, kind := range []string{"empty", "cut", "trailing", "type", "no id"} {
		if kinds[kind] == 0 {
			t.Errorf("no event of kind %s: %v", kind, kinds)
		}
	}
}
