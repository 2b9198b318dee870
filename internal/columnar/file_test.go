package columnar_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/parquet-go/parquet-go"
)

func quakeDeclared() manifest.Declared {
	return manifest.Declared{Value: manifest.JSONValue, Columns: quakeColumns(), Key: true, Headers: true}
}

// quakeJob has all earthquakes, and some values that do not fit.
func quakeJob(t testing.TB) manifest.Job {
	return jobOf(batchOf(t, 100, append(quakes(t), []byte("nope"), nil, []byte(`{}`))...))
}

// The same job gives the same bytes, again and at the same time.
func TestEncodeIsDeterministic(t *testing.T) {
	f := func(name string, d manifest.Declared) {
		t.Run(name, func(t *testing.T) {
			d.Layout.GroupRows = 512 // several row groups
			e := mustEncoder(t, mustSchema(t, d))
			job := quakeJob(t)
			want, err := e.Encode(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			var all [3]manifest.Encoded
			var wg sync.WaitGroup
			for i := range all {
				wg.Go(func() {
					var err error
					if all[i], err = e.Encode(t.Context(), job); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			for i := range all {
				if !reflect.DeepEqual(all[i], want) {
					t.Errorf("encoding %d differs", i)
				}
			}
		})
	}
	f("raw", manifest.Declared{})
	f("json", quakeDeclared())
	f("snappy", manifest.Declared{Layout: manifest.Layout{Compression: manifest.Snappy}})
	f("lz4", manifest.Declared{Layout: manifest.Layout{Compression: manifest.LZ4}})
	f("none", manifest.Declared{Layout: manifest.Layout{Compression: manifest.Uncompressed}})
}

// How the log was fetched does not show in the bytes.
func TestEncodeIsIndependentOfBatches(t *testing.T) {
	job := quakeJob(t)
	e := mustEncoder(t, mustSchema(t, quakeDeclared()))
	want, err := e.Encode(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	whole := job.Batches[0]
	for _, at := range []int64{100, 101, 300, 355, 356, 1000, whole.Next} {
		a, b := whole.Split(at)
		b, c := b.Split((at + whole.Next) / 2)
		job.Batches = []*record.Batch{a, b, c}
		got, err := e.Encode(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("cut at %d the result differs", at)
		}
	}
}

// Another attempt at a range has other names and other bytes, but the rows and
// the digest are the same.
func TestAttemptChangesBytes(t *testing.T) {
	job := quakeJob(t)
	e := mustEncoder(t, mustSchema(t, quakeDeclared()))
	first, err := e.Encode(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	job.Attempt = 1
	second, err := e.Encode(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	a, b := first.Record.Data[0], second.Record.Data[0]
	if a.Key == b.Key || a.SHA256 == b.SHA256 || !strings.HasSuffix(b.Key, "-a1.parquet") {
		t.Errorf("%s %s and %s %s", a.Key, a.SHA256, b.Key, b.SHA256)
	}
	if values(t, first.Bodies[a.Key], "id") != values(t, second.Bodies[b.Key], "id") {
		t.Error("rows differ")
	}
	da, err1 := e.Describe(a.Key, first.Bodies[a.Key])
	db, err2 := e.Describe(b.Key, second.Bodies[b.Key])
	if err1 != nil || err2 != nil || da.Digest != db.Digest || db.Attempt != 1 {
		t.Errorf("%v %v %v %v", da, err1, db, err2)
	}
}

// The digest tells any two readings of a range apart.
func TestDigest(t *testing.T) {
	digest := func(d manifest.Declared, r record.Record) string {
		t.Helper()
		b := record.NewBatch(5, nil)
		b.TimestampType = r.TimestampType
		if err := b.Append(r); err != nil {
			t.Fatal(err)
		}
		job := jobOf(b)
		job.Next = 10
		out := encode(t, d, job)
		key := out.Record.Keys()[0]
		desc, err := columnar.ReadFooter(bytes.NewReader(out.Bodies[key]), int64(len(out.Bodies[key])))
		if err != nil {
			t.Fatal(err)
		}
		if len(desc.Digest) != 32 {
			t.Errorf("digest %q", desc.Digest)
		}
		return desc.Digest
	}
	base := record.Record{Offset: 5, Timestamp: 6, Key: []byte("ab"), Value: []byte(`{"c":1}`)}
	seen := map[string]string{}
	f := func(what string, d manifest.Declared, change func(*record.Record)) {
		t.Helper()
		r := base
		change(&r)
		got := digest(d, r)
		if other, ok := seen[got]; ok {
			t.Errorf("%s has the digest of %s", what, other)
		}
		seen[got] = what
	}
	f("nothing", manifest.Declared{}, func(*record.Record) {})
	f("offset", manifest.Declared{}, func(r *record.Record) { r.Offset++ })
	f("timestamp", manifest.Declared{}, func(r *record.Record) { r.Timestamp++ })
	f("type", manifest.Declared{}, func(r *record.Record) { r.TimestampType = record.LogAppendTime })
	f("null key", manifest.Declared{}, func(r *record.Record) { r.Key = nil })
	f("empty key", manifest.Declared{}, func(r *record.Record) { r.Key = []byte{} })
	f("null value", manifest.Declared{}, func(r *record.Record) { r.Value = nil })
	f("a byte moved", manifest.Declared{}, func(r *record.Record) { r.Key, r.Value = []byte("ab{"), []byte(`"c":1}`) })
	f("headers", manifest.Declared{}, func(r *record.Record) { r.Headers = record.NewHeaders(record.Header{Key: []byte("h")}) })
	// The decision counts: here the record is a dead letter.
	c := manifest.Column{Name: "c", Type: manifest.String}
	f("dead", manifest.Declared{Value: manifest.JSONValue, Columns: []manifest.Column{c}}, func(*record.Record) {})
}

// Row groups end at the rows or bytes of the layout, at steps of 256 rows.
func TestRowGroups(t *testing.T) {
	f := func(l manifest.Layout, records int, want string) {
		t.Helper()
		vs := make([][]byte, records)
		for i := range vs {
			vs[i] = bytes.Repeat([]byte("x"), 100)
		}
		out := encode(t, manifest.Declared{Layout: l}, jobOf(batchOf(t, 0, vs...)))
		body := out.Bodies[out.Record.Data[0].Key]
		file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatal(err)
		}
		var sizes []int64
		for _, g := range file.RowGroups() {
			sizes = append(sizes, g.NumRows())
		}
		if got := fmt.Sprint(sizes); got != want {
			t.Errorf("%+v: row groups %s, want %s", l, got, want)
		}
	}
	f(manifest.Layout{}, 1000, "[1000]")
	f(manifest.Layout{GroupRows: 300}, 1300, "[512 512 276]")
	f(manifest.Layout{GroupRows: 1}, 600, "[256 256 88]")
	f(manifest.Layout{GroupRows: 256}, 512, "[256 256]")
	f(manifest.Layout{GroupBytes: 30_000}, 1300, "[512 512 276]")
}

func TestVacant(t *testing.T) {
	job := quakeJob(t)
	e := mustEncoder(t, mustSchema(t, quakeDeclared()))
	full, err := e.Encode(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	job.Attempt = 4
	for _, key := range full.Record.Keys() {
		body, err := e.Vacant(job, key)
		if err != nil {
			t.Fatal(err)
		}
		d, err := e.Describe(key, body)
		if err != nil {
			t.Fatal(err)
		}
		if d.File.Rows != 0 || d.Attempt != 4 || d.Range != job.Range || d.Counts != (manifest.Counts{}) || d.Table != "quakes" {
			t.Errorf("%s: %+v", key, d)
		}
		// It has the columns of the file that might have been there.
		a, err1 := columnar.Open(bytes.NewReader(body), int64(len(body)))
		b, err2 := columnar.Open(bytes.NewReader(full.Bodies[key]), int64(len(full.Bodies[key])))
		if err1 != nil || err2 != nil || !reflect.DeepEqual(a.Columns(), b.Columns()) || a.Rows() != 0 {
			t.Errorf("%s: columns %v %v %v", key, a.Columns(), err1, err2)
		}
		if got := values(t, body, "kafka_offset"); got != "" {
			t.Errorf("%s: rows %s", key, got)
		}
	}
	if _, err := e.Vacant(job, "manifest/00000.json"); !errors.Is(err, manifest.ErrName) {
		t.Errorf("error %v", err)
	}
	job.Schema = 2
	if _, err := e.Vacant(job, full.Record.Keys()[0]); err == nil || !strings.Contains(err.Error(), "schema version 2") {
		t.Errorf("error %v", err)
	}
}

// What a footer says is what a head knows of the range and the file.
func TestDescribe(t *testing.T) {
	job := quakeJob(t)
	job.Partition.Generation, job.Attempt, job.Lost = 2, 1, 3
	job.Next += 10
	job.Batches[0].LeaderEpoch = 9
	e := mustEncoder(t, mustSchema(t, quakeDeclared()))
	out, err := e.Encode(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(out.Record.Data, out.Record.Dead...) {
		body := out.Bodies[file.Key]
		d, err := e.Describe(file.Key, body)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(d.File, file) || d.File.SHA256 != sha256.Sum256(body) || d.File.Bytes != int64(len(body)) {
			t.Errorf("file %+v\nwant %+v", d.File, file)
		}
		d.File, d.Digest = manifest.File{}, ""
		want := manifest.Description{
			Table: "quakes", Partition: job.Partition, Range: job.Range, Attempt: 1, Schema: 1, LeaderEpoch: 9, Counts: out.Record.Counts,
		}
		if !reflect.DeepEqual(d, want) {
			t.Errorf("%+v\nwant %+v", d, want)
		}
		// One read of the end is enough.
		r := &counter{Reader: bytes.NewReader(body)}
		if _, err := columnar.ReadFooter(r, int64(len(body))); err != nil || r.reads != 1 || r.bytes > 64<<10 {
			t.Errorf("%s: %d reads of %d bytes, %v", file.Key, r.reads, r.bytes, err)
		}
	}
	if out.Record.LeaderEpoch != 9 || out.Record.Generation != 2 || out.Record.Attempt != 1 {
		t.Errorf("%+v", out.Record)
	}
}

// counter counts reads.
type counter struct {
	*bytes.Reader
	reads, bytes int
}

func (r *counter) ReadAt(p []byte, at int64) (int, error) {
	r.reads++
	r.bytes += len(p)
	return r.Reader.ReadAt(p, at)
}

// Files of other software, and of a newer format, are refused.
func TestDescribeErrors(t *testing.T) {
	e := mustEncoder(t, mustSchema(t, manifest.Declared{}))
	f := func(meta map[string]string, want string, cause error) {
		t.Helper()
		var b bytes.Buffer
		w := parquet.NewGenericWriter[struct{ A int32 }](&b)
		for k, v := range meta {
			w.SetKeyValueMetadata(k, v)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := e.Describe("data/x", b.Bytes())
		if !errors.Is(err, cause) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "data/x") {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	f(nil, "the footer has no lakeweir.format", columnar.ErrFooter)
	f(map[string]string{"lakeweir.format": "2.0"}, `format "2.0"`, manifest.ErrFormat)
	f(map[string]string{"lakeweir.format": "1.0", "lakeweir.table": "t", "lakeweir.partition": "x"}, `lakeweir.partition is "x"`, columnar.ErrFooter)
	f(map[string]string{"lakeweir.format": "1.0", "lakeweir.table": "t", "lakeweir.partition": "4294967296"}, "lakeweir.partition", columnar.ErrFooter)
}

// A CPU of another kind may give other bytes, but the same rows and digest.
func TestOtherCPU(t *testing.T) {
	const key = "LAKEWEIR_TEST_OUT"
	out := encode(t, quakeDeclared(), quakeJob(t))
	file := out.Record.Data[0]
	if path := os.Getenv(key); path != "" { // in the child
		if err := os.WriteFile(path, out.Bodies[file.Key], 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	path := t.TempDir() + "/out.parquet"
	cmd := exec.Command(os.Args[0], "-test.run=^TestOtherCPU$")
	cmd.Env = append(os.Environ(), "GODEBUG=cpu.avx2=off", key+"="+path)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range []string{"id", "magnitude", "place", "at", "network", "extra", "kafka_offset"} {
		if values(t, body, column) != values(t, out.Bodies[file.Key], column) {
			t.Errorf("column %s differs", column)
		}
	}
	d, err := columnar.ReadFooter(bytes.NewReader(body), int64(len(body)))
	if err != nil || d.File.Rows != file.Rows {
		t.Errorf("%+v %v", d, err)
	}
}
