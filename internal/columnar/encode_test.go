package columnar_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/writer"
)

var _ writer.Encoder = (*columnar.Encoder)(nil)

// quakeColumns are columns of the earthquakes, of most types.
func quakeColumns() []manifest.Column {
	return []manifest.Column{
		{Name: "id", Type: manifest.String, Required: true},
		{Name: "magnitude", Path: []string{"properties", "mag"}, Type: manifest.Double},
		{Name: "place", Path: []string{"properties", "place"}, Type: manifest.String},
		{Name: "at", Path: []string{"properties", "time"}, Type: manifest.Timestamp, Unit: manifest.Milliseconds},
		{Name: "significance", Path: []string{"properties", "sig"}, Type: manifest.Int32},
		{Name: "network", Path: []string{"properties", "net"}, Type: manifest.String, Encoding: manifest.Dictionary},
		{Name: "depth", Path: []string{"geometry", "coordinates"}, Type: manifest.List, Element: &manifest.Column{Type: manifest.Double}},
	}
}

func mustSchema(t testing.TB, d manifest.Declared) manifest.Schema {
	t.Helper()
	s, err := manifest.NewSchema(d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustEncoder(t testing.TB, s manifest.Schema) *columnar.Encoder {
	t.Helper()
	e, err := columnar.NewEncoder(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// quakes returns the lines of the earthquakes.
func quakes(t testing.TB) [][]byte {
	t.Helper()
	body, err := os.ReadFile("../../testdata/earthquakes.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(body), []byte("\n"))
}

// batchOf returns a batch of values at offsets from start on, a second apart.
func batchOf(t testing.TB, start int64, values ...[]byte) *record.Batch {
	t.Helper()
	b := record.NewBatch(start, nil)
	for i, v := range values {
		r := record.Record{Offset: start + int64(i), Timestamp: 1_600_000_000_000 + int64(i)*1000, Value: v}
		if err := b.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func jobOf(batches ...*record.Batch) manifest.Job {
	return manifest.Job{
		Table: "quakes", Partition: manifest.Partition{ID: 3}, Schema: 1, Batches: batches,
		Range: manifest.Range{Start: batches[0].Start, Next: batches[len(batches)-1].Next},
	}
}

// Every position of the range is accounted for, and the record of the range is
// as the manifest wants it.
func TestEncode(t *testing.T) {
	f := func(name string, d manifest.Declared, want manifest.Counts) {
		t.Run(name, func(t *testing.T) {
			values := append(quakes(t), []byte("nope"), nil, []byte("null"), []byte(`{"id":"x","properties":{"sig":1.5}}`))
			job := jobOf(batchOf(t, 100, values...))
			job.Next += 5 // markers at the end
			job.Lost = 2
			out, err := mustEncoder(t, mustSchema(t, d)).Encode(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			if err := out.Record.Validate(); err != nil {
				t.Error(err)
			}
			if out.Record.Counts != want {
				t.Errorf("counts %+v, want %+v", out.Record.Counts, want)
			}
			if got := len(out.Bodies); got != len(out.Record.Keys()) {
				t.Errorf("%d bodies for keys %q", got, out.Record.Keys())
			}
		})
	}
	// Raw values are all rows.
	f("raw", manifest.Declared{}, manifest.Counts{Rows: 1711, Absent: 3, Lost: 2})
	// The tombstone is a row although id is required; the three others are not.
	f("json", manifest.Declared{Value: manifest.JSONValue, Columns: quakeColumns(), Key: true, Headers: true},
		manifest.Counts{Rows: 1708, Dead: 3, Absent: 3, Lost: 2})
}

func TestEncodeErrors(t *testing.T) {
	e := mustEncoder(t, mustSchema(t, manifest.Declared{}))
	f := func(change func(*manifest.Job), want string) {
		t.Helper()
		job := jobOf(batchOf(t, 10, []byte("a"), []byte("b")))
		change(&job)
		out, err := e.Encode(t.Context(), job)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "encode quakes partition 3 ") {
			t.Errorf("error %v, want %s", err, want)
		}
		if out.Bodies != nil {
			t.Error("bodies come with the error")
		}
	}
	f(func(j *manifest.Job) { j.Next = 11 }, "offset 11 is not in what is left of the range, [11,11)")
	f(func(j *manifest.Job) { j.Start = 11 }, "offset 10 is not in what is left of the range, [11,12)")
	f(func(j *manifest.Job) { j.Next = 10 }, "empty or negative")
	f(func(j *manifest.Job) { j.Schema = 2 }, "the job is for schema version 2, the encoder has 1")
	f(func(j *manifest.Job) { j.Lost = 3 }, "3 positions are lost of 2")
	f(func(j *manifest.Job) { j.Lost = 1 }, "more than the range has")
	f(func(j *manifest.Job) { j.Batches = append(j.Batches, j.Batches[0]) }, "offset 10 is not in what is left")
	if _, err := columnar.NewEncoder(manifest.Schema{}); err == nil {
		t.Error("an invalid schema has an encoder")
	}
}

// A range without rows has no files.
func TestEncodeNothing(t *testing.T) {
	job := manifest.Job{Table: "quakes", Range: manifest.Range{Start: 5, Next: 9}, Schema: 1, Lost: 1, Batches: []*record.Batch{record.NewBatch(5, nil)}}
	out := encode(t, manifest.Declared{}, job)
	if len(out.Bodies) != 0 || len(out.Record.Keys()) != 0 || out.Record.Counts != (manifest.Counts{Absent: 3, Lost: 1}) || out.Record.LeaderEpoch != -1 {
		t.Errorf("%+v", out)
	}
	if err := out.Record.Validate(); err != nil {
		t.Error(err)
	}
}

// An encoder gives up with its context.
func TestEncodeEndsWithItsContext(t *testing.T) {
	e, err := columnar.NewEncoder(mustSchema(t, manifest.Declared{}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped by test"))
	if _, err := e.Encode(ctx, quakeJob(t)); err == nil || !strings.Contains(err.Error(), "stopped by test") {
		t.Errorf("error %v", err)
	}
}
