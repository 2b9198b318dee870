package columnar_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// allocated returns how many bytes do allocates.
func allocated(do func()) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	do()
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}

// join makes a file of pages and a footer. The fuzzer changes either; the
// length and the magic, without which nothing is looked at, fit.
func join(pages, footer []byte) []byte {
	body := append(append([]byte("PAR1"), pages...), footer...)
	return append(binary.LittleEndian.AppendUint32(body, uint32(len(footer))), "PAR1"...)
}

// apart is the reverse of join.
func apart(body []byte) (pages, footer []byte) {
	end := len(body) - 8
	from := end - int(binary.LittleEndian.Uint32(body[end:]))
	return body[4:from], body[from:end]
}

// seedFiles are small files of lakeweir with every codec, with columns of all
// kinds, and without rows.
func seedFiles(t testing.TB) [][]byte {
	var all [][]byte
	add := func(out manifest.Encoded) {
		for _, body := range out.Bodies {
			all = append(all, body)
		}
	}
	for _, c := range []manifest.Compression{manifest.Zstd, manifest.Snappy, manifest.LZ4, manifest.Uncompressed} {
		d := manifest.Declared{Layout: manifest.Layout{Compression: c}}
		add(encode(t, d, jobOf(batchOf(t, 0, []byte("a"), nil, bytes.Repeat([]byte("b"), 200)))))
	}
	add(encode(t, manifest.Declared{Value: manifest.JSONValue, NoExtra: true, Columns: []manifest.Column{
		{Name: "value", Type: manifest.String, Encoding: manifest.Dictionary},
		{Name: "d", Type: manifest.Decimal, Precision: 20, Scale: 2},
		{Name: "l", Type: manifest.List, Element: &manifest.Column{Type: manifest.UUID}},
		{Name: "n", Type: manifest.Int64, Encoding: manifest.Delta},
	}}, jobOf(batchOf(t, 5, []byte(`{"value":"x","d":1.5,"l":["00000000-0000-0000-0000-000000000001"],"n":3}`), []byte(`{"value":"x"}`), []byte("bad")))))
	all = append(all, dead(t, 0, record.Record{Value: []byte("x"), Headers: record.NewHeaders(record.Header{Key: []byte("h")})}))
	body, err := mustEncoder(t, mustSchema(t, manifest.Declared{})).Vacant(jobOf(batchOf(t, 0, nil)), "data/00003-00000000000000000000-00000000000000000001.parquet")
	if err != nil {
		t.Fatal(err)
	}
	return append(all, body)
}

// FuzzOpen: any bytes are a file whose footer says what a head can hold, and
// whose rows can be read or end in an error; or an error with a cause. Never
// more memory than in proportion to the bytes.
func FuzzOpen(f *testing.F) {
	for _, body := range seedFiles(f) {
		pages, footer := apart(body)
		f.Add(pages, footer)
	}
	e := mustEncoder(f, mustSchema(f, manifest.Declared{}))
	f.Fuzz(func(t *testing.T, pages, footer []byte) {
		body := join(pages, footer)
		var d manifest.Description
		var err error
		// 600 bytes is what the library has for a column chunk; a list of them
		// has one of at least a byte for each.
		if n := allocated(func() { d, err = columnar.ReadFooter(bytes.NewReader(body), int64(len(body))) }); n > 1<<20+4000*uint64(len(body)) {
			t.Errorf("%d bytes allocated for the footer of a file of %d: %v", n, len(body), err)
		}
		if err == nil {
			checkDescription(t, d)
		} else if !errors.Is(err, columnar.ErrFooter) && !errors.Is(err, manifest.ErrFormat) {
			t.Errorf("error %v has no cause", err)
		}
		if n := allocated(func() { err = readRows(body) }); n > 8<<20+40000*uint64(len(body)) {
			t.Errorf("%d bytes allocated for the rows of a file of %d: %v", n, len(body), err)
		}
		if err != nil && strings.Contains(err.Error(), "more rows") {
			t.Error(err)
		}
		if n := allocated(func() { err = readLetters(t, e, body) }); n > 16<<20+400000*uint64(len(body)) {
			t.Errorf("%d bytes allocated for the dead letters of a file of %d: %v", n, len(body), err)
		}
	})
}

// readRows reads some rows, and complains when there are more than the file says.
func readRows(body []byte) error {
	file, err := columnar.Open(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return err
	}
	count := int64(0)
	for _, err := range file.Read("value") {
		if err != nil {
			return err
		}
		if count++; count > file.Rows() {
			return errors.New("more rows than the file says")
		}
		if count == 1<<14 { // one bit can stand for a million rows
			break
		}
	}
	return nil
}

// readLetters reads a file as one of dead letters, up to some.
func readLetters(t *testing.T, e *columnar.Encoder, body []byte) error {
	t.Helper()
	count := 0
	for l, err := range e.ReadDead(body) {
		if err != nil {
			return err
		}
		if err := l.Headers.Validate(); err != nil {
			t.Errorf("headers %x: %v", []byte(l.Headers), err)
		}
		if count++; count == 1<<10 {
			break
		}
	}
	return nil
}

// checkDescription fails for a description that no head takes.
func checkDescription(t *testing.T, d manifest.Description) {
	t.Helper()
	c := d.Counts
	if least := min(c.Rows, c.Duplicates, c.Dead, c.Filtered, c.Absent, c.Lost, d.File.Rows, d.File.Bytes, d.Start, int64(d.Attempt), int64(d.Partition.ID)); least < 0 {
		t.Errorf("a negative number in %+v", d)
	}
	if d.Next <= d.Start {
		t.Errorf("range %s", d.Range)
	}
	for _, s := range d.File.Stats {
		if s.Min != nil && !json.Valid(s.Min) || s.Max != nil && !json.Valid(s.Max) || s.Nulls < 0 {
			t.Errorf("column %d: bounds %q and %q, %d nulls", s.Column, s.Min, s.Max, s.Nulls)
		}
	}
}
