package writer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/store/storetest"
	"github.com/lakeweir/lakeweir/writer"
)

// events is a log of JSON values, each with a key, a header and a time.
// Some are bad.
type events struct {
	*tape
	bad map[int64]string
}

func newEvents(n int64, bad map[int64]string) events {
	t := newTape(n, 100)
	t.quiet, t.ahead = 400, n
	return events{t, bad}
}

// at returns the record at an offset.
func (e events) at(o int64) record.Record {
	value, isBad := e.bad[o]
	if !isBad {
		value = fmt.Sprintf(`{"id":%d,"name":"n%d"}`, o, o)
	}
	return record.Record{
		Offset: o, Timestamp: 1_700_000_000_000 + o, Key: fmt.Appendf(nil, "k%d", o), Value: []byte(value),
		Headers: record.NewHeaders(record.Header{Key: []byte("h"), Value: fmt.Append(nil, o)}, record.Header{Key: []byte("null")}),
	}
}

// Read gives the batches of the tape with other records, one at each offset.
func (e events) Read(ctx context.Context) (*record.Batch, error) {
	b, err := e.tape.Read(ctx)
	if err != nil {
		return nil, err
	}
	all := record.NewBatch(b.Start, nil)
	all.LeaderEpoch = b.LeaderEpoch
	for o := b.Start; o < b.Next; o++ {
		if err := all.Append(e.at(o)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// columns is the schema of events.
func columns(t testing.TB) manifest.Schema {
	t.Helper()
	s, err := manifest.NewSchema(manifest.Declared{Value: manifest.JSONValue, Columns: []manifest.Column{
		{Name: "id", Type: manifest.Int64}, {Name: "name", Type: manifest.String},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// eventsConfig returns a writer of events to Parquet files, which ends with the log.
func eventsConfig(t testing.TB, s store.Store, src events) writer.Config {
	return writer.Config{
		Store: s, Table: "t", Source: src, Schema: columns(t), Once: true,
		Limits: writer.Limits{MaxRows: src.quiet}, Published: src.published,
	}
}

// dead returns the letters of all published dead-letter files, and the number
// of rows that are published.
func dead(t *testing.T, s store.Store) (letters []manifest.DeadLetter, rows int64) {
	t.Helper()
	e, err := columnar.NewEncoder(columns(t))
	if err != nil {
		t.Fatal(err)
	}
	h := head(t, s)
	for f, err := range h.DeadLetters(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		for l, err := range e.ReadDead(get(t, s, f.Key)) {
			if err != nil {
				t.Fatal(err)
			}
			letters = append(letters, l)
		}
	}
	for f, err := range h.Files(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		body := get(t, s, f.Key)
		p, err := columnar.Open(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatal(err)
		}
		rows += p.Rows()
	}
	return letters, rows
}

// 1000 records of which three are bad: cut off at 10 and 500, and no UTF-8 at
// 999. A process dies at each of its calls, before the dead-letter file is
// there, after it, and between any two letters to the topic. After that there
// are 997 rows, and the three, once in files and at least once in the topic,
// each with all that the log had of it. (B20)
func TestThreeBadOfThousand(t *testing.T) {
	src := func() events {
		return newEvents(1000, map[int64]string{10: `{"id":10,"na`, 500: `{"id":500`, 999: "{\"id\":999,\"name\":\"\xff\xfe\"}"})
	}
	reasons := map[int64]string{10: "bad_json", 500: "bad_json", 999: "invalid_utf8"}
	work := func(name string) storetest.Work {
		return func(ctx context.Context, s store.Store) error {
			c := eventsConfig(t, s, src())
			c.Rejected = letterbox{s, name}.publish
			return writer.New(nil).Run(ctx, c)
		}
	}
	check := func(t *testing.T, s store.Store) {
		letters, rows := dead(t, s)
		if rows != 997 || len(letters) != 3 {
			t.Fatalf("%d rows and %d dead letters", rows, len(letters))
		}
		for _, l := range letters {
			want := manifest.DeadLetter{Record: src().at(l.Offset), Topic: "t", Reason: reasons[l.Offset], Detail: l.Detail}
			if !reflect.DeepEqual(l, want) || l.Detail == "" || l.Reason == "" {
				t.Errorf("got  %+v\nwant %+v", l, want)
			}
			copies := 0
			for i, err := range s.List(context.Background(), fmt.Sprintf("topic/%020d-", l.Offset), "") {
				if err != nil {
					t.Fatal(err)
				}
				var got manifest.DeadLetter
				if err := json.Unmarshal(get(t, s, i.Key), &got); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("the topic has %+v, %v", got, err)
				}
				copies++
			}
			if copies == 0 {
				t.Errorf("offset %d is not in the topic", l.Offset)
			}
		}
		if got := posted(t, s); !slices.Equal(got, []int64{10, 500, 999}) {
			t.Errorf("the topic has %v", got)
		}
	}
	storetest.EveryCrash(t, work("first"), work("again"), check)
}

// A batch of nothing but bad records moves the next offset with no row, and
// the only file of its range is dead. (B20)
func TestAllBad(t *testing.T) {
	bad := map[int64]string{}
	for o := range int64(400) {
		bad[o] = strings.Repeat("x", int(o%50))
	}
	s := &memory.Store{}
	if err := writer.New(nil).Run(t.Context(), eventsConfig(t, s, newEvents(400, bad))); err != nil {
		t.Fatal(err)
	}
	h := head(t, s)
	if h.Next != 400 || len(h.Ranges) != 1 || h.Totals.Rows != 0 || h.Totals.Dead != 400 {
		t.Fatalf("next %d, %+v", h.Next, h.Totals)
	}
	if r := h.Ranges[0]; len(r.Data) != 0 || len(r.Dead) != 1 || r.Dead[0].Rows != 400 || r.Validate() != nil {
		t.Errorf("%+v", r)
	}
	if letters, rows := dead(t, s); len(letters) != 400 || rows != 0 {
		t.Errorf("%d rows and %d dead letters", rows, len(letters))
	}
}
