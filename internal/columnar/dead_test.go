package columnar_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// oneInt is a schema that takes {"id": 1} and nothing else.
func oneInt(layout manifest.Layout) manifest.Declared {
	return manifest.Declared{Value: manifest.JSONValue, Columns: []manifest.Column{{Name: "id", Type: manifest.Int64}}, Layout: layout}
}

// dead returns a dead-letter file of the records, in row groups of some rows.
func dead(t testing.TB, rows int64, recs ...record.Record) []byte {
	t.Helper()
	b := record.NewBatch(0, nil)
	b.TimestampType = recs[0].TimestampType
	for _, r := range recs {
		if err := b.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	out := encode(t, oneInt(manifest.Layout{GroupRows: rows}), jobOf(b))
	if len(out.Record.Dead) != 1 {
		t.Fatalf("%+v", out.Record)
	}
	return out.Bodies[out.Record.Dead[0].Key]
}

// readDead reads back all of a file.
func readDead(t testing.TB, body []byte) (all []manifest.DeadLetter, err error) {
	t.Helper()
	e := mustEncoder(t, mustSchema(t, oneInt(manifest.Layout{})))
	for l, err := range e.ReadDead(body) {
		if err != nil {
			return all, err
		}
		all = append(all, l)
	}
	return all, nil
}

// What is read back is what the log held: null and empty apart, headers in
// order with repeats and nulls. (B20)
func TestReadDead(t *testing.T) {
	recs := []record.Record{
		{Offset: 3, Timestamp: -2000, Key: nil, Value: []byte("x")},
		{Offset: 4, Timestamp: record.NoTimestamp, Key: []byte{}, Value: []byte{}},
		{Offset: 9, Timestamp: 7, Key: []byte("k\x00\xff"), Value: []byte("\xff"), Headers: record.NewHeaders(
			record.Header{Key: []byte("b"), Value: []byte("1")}, record.Header{Key: []byte("a")},
			record.Header{Key: []byte("b"), Value: []byte{}}, record.Header{Key: []byte("\xff"), Value: []byte("\xff")})},
		{Offset: 10, Timestamp: 8, Value: []byte("y"), Headers: record.NewHeaders(record.Header{Key: []byte{}})},
	}
	for i := range recs {
		recs[i].TimestampType = record.LogAppendTime
	}
	got, err := readDead(t, dead(t, 0, recs...))
	if err != nil || len(got) != len(recs) {
		t.Fatalf("%d letters of %d, %v", len(got), len(recs), err)
	}
	for i, l := range got {
		if !reflect.DeepEqual(l.Record, recs[i]) {
			t.Errorf("got  %#v\nwant %#v", l.Record, recs[i])
		}
		if l.Topic != "quakes" || l.Partition != 3 || l.Reason != "bad_json" || l.Detail == "" {
			t.Errorf("%+v", l)
		}
	}
}

// A tombstone never is a dead letter, but a time that no file can hold makes
// one of it: its value stays null, and the time is in the detail.
func TestReadDeadTombstone(t *testing.T) {
	got, err := readDead(t, dead(t, 0, record.Record{Timestamp: 1 << 62, Key: []byte("k")}))
	if err != nil || len(got) != 1 || got[0].Value != nil || got[0].Timestamp != record.NoTimestamp || !strings.Contains(got[0].Detail, "4611686018427387904") {
		t.Errorf("%+v, %v", got, err)
	}
}

// Many letters over pages and row groups stay themselves, and may be kept.
func TestReadDeadMany(t *testing.T) {
	var recs []record.Record
	for i := range 5000 {
		r := record.Record{Offset: int64(2 * i), Timestamp: int64(i), Value: fmt.Appendf(nil, "%d %s", i, bytes.Repeat([]byte{byte(i)}, i%700))}
		if i%3 > 0 {
			r.Key = fmt.Appendf(nil, "k%d", i)
		}
		var hs []record.Header
		for j := range i % 4 {
			hs = append(hs, record.Header{Key: fmt.Appendf(nil, "h%d", j), Value: fmt.Appendf(nil, "%d-%d", i, j)})
		}
		r.Headers = record.NewHeaders(hs...)
		recs = append(recs, r)
	}
	got, err := readDead(t, dead(t, 1024, recs...))
	if err != nil || len(got) != len(recs) {
		t.Fatalf("%d letters of %d, %v", len(got), len(recs), err)
	}
	for i, l := range got {
		if !reflect.DeepEqual(l.Record, recs[i]) {
			t.Fatalf("got  %#v\nwant %#v", l.Record, recs[i])
		}
	}
}

// A caller that has enough is given no more.
func TestReadDeadStops(t *testing.T) {
	body := dead(t, 0, record.Record{Value: []byte("x")}, record.Record{Offset: 1, Value: []byte("y")})
	n := 0
	for range mustEncoder(t, mustSchema(t, oneInt(manifest.Layout{}))).ReadDead(body) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d letters", n)
	}
}

// A file of rows is no file of dead letters, and neither is one that is damaged.
func TestReadDeadErrors(t *testing.T) {
	out := encode(t, oneInt(manifest.Layout{}), jobOf(batchOf(t, 0, []byte(`{"id":1}`))))
	f := func(body []byte) {
		t.Helper()
		if got, err := readDead(t, body); !errors.Is(err, columnar.ErrFooter) {
			t.Errorf("%d letters, error %v, want %v", len(got), err, columnar.ErrFooter)
		}
	}
	f(out.Bodies[out.Record.Data[0].Key])
	f([]byte("PAR1"))
	body := dead(t, 0, record.Record{Value: bytes.Repeat([]byte("x"), 1000)})
	f(body[:len(body)-20])
}
