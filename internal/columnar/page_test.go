package columnar_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/parquet-go/parquet-go"
)

// leaves are columns of every type and encoding, the last of which rejects.
func leafColumns() []manifest.Column {
	dictionary := func(c manifest.Column) manifest.Column { c.Encoding = manifest.Dictionary; return c }
	delta := func(c manifest.Column) manifest.Column { c.Encoding = manifest.Delta; return c }
	list := func(name string, e manifest.Column) manifest.Column {
		return manifest.Column{Name: name, Type: manifest.List, Element: &e}
	}
	of := func(name string, ty manifest.Type) manifest.Column { return manifest.Column{Name: name, Type: ty} }
	return []manifest.Column{
		of("flag", manifest.Bool), of("i32", manifest.Int32), of("i64", manifest.Int64), of("f64", manifest.Double),
		of("text", manifest.String), of("uuid", manifest.UUID), of("day", manifest.Date),
		delta(of("d32", manifest.Int32)), delta(of("d64", manifest.Int64)),
		dictionary(of("few", manifest.String)), dictionary(of("many", manifest.String)), dictionary(of("fewer", manifest.Int64)),
		dictionary(of("code", manifest.Int32)), dictionary(of("uuids", manifest.UUID)), dictionary(of("ratio", manifest.Double)),
		list("numbers", of("", manifest.Int32)), list("words", dictionary(of("", manifest.String))),
		{Name: "last", Type: manifest.Int32, Required: true},
	}
}

// leafRow is a random value with, for each leaf column, what a file has of it.
func leafRow(r *rand.Rand) (value string, cells map[string]string) {
	cells = map[string]string{}
	var members []string
	add := func(name, text, plain string) {
		if r.IntN(9) == 0 {
			cells[name] = "0/0:<null>"
			return
		}
		members = append(members, fmt.Sprintf("%q:%s", name, text))
		cells[name] = "0/1:" + plain
	}
	number := func(name string, n int) { add(name, fmt.Sprint(n), fmt.Sprint(n)) }
	word := func(name, s string) { add(name, `"`+s+`"`, s) }
	hex := func(n int) string { return fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64())[:n] }
	flag := fmt.Sprint(r.IntN(2) == 0)
	add("flag", flag, flag)
	number("i32", r.IntN(1<<31)-1<<30)
	number("i64", r.IntN(1<<52)-1<<51)
	number("f64", r.IntN(4)-2)
	word("text", strings.Repeat("x", r.IntN(40))+hex(8))
	id := func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n) }
	word("uuid", id(r.IntN(1<<40)))
	add("day", `"1970-01-11"`, "1970-01-11")
	number("d32", r.IntN(1000)-500)
	number("d64", r.IntN(1<<40)-1<<39)
	word("few", "value-"+fmt.Sprint(r.IntN(7)))
	word("many", hex(32))
	number("fewer", r.IntN(300)-150)
	number("code", r.IntN(5)-2)
	word("uuids", id(r.IntN(9)))
	number("ratio", r.IntN(5)-2)
	list := func(name string, element func() (text, plain string)) {
		var texts, plains []string
		for i := range r.IntN(4) {
			text, plain := element()
			level := "0/3:"
			if i > 0 {
				level = "1/3:"
			}
			texts, plains = append(texts, text), append(plains, level+plain)
		}
		if plains == nil {
			plains = []string{"0/1:<null>"}
		}
		members = append(members, fmt.Sprintf("%q:[%s]", name, strings.Join(texts, ",")))
		cells[name] = strings.Join(plains, " ")
	}
	list("numbers", func() (string, string) { n := fmt.Sprint(r.IntN(99)); return n, n })
	list("words", func() (string, string) { w := "w" + fmt.Sprint(r.IntN(500)); return `"` + w + `"`, w })
	members = append(members, `"last":7`)
	cells["last"] = "0/1:7"
	return "{" + strings.Join(members, ",") + "}", cells
}

// Columns of every type and encoding, over many pages and row groups, with
// rejects in between that were half laid out: the library reads what went in,
// in the pages that the index names, and inside the bounds.
func TestPages(t *testing.T) {
	r := seeded(t)
	const rows = 6_000
	var events [][]byte
	want := map[string]*strings.Builder{}
	for len(events) < rows {
		value, cells := leafRow(r)
		if r.IntN(5) == 0 {
			events = append(events, []byte(strings.Replace(value, `"last":7`, `"last":"no"`, 1)))
			continue
		}
		events = append(events, []byte(value))
		for name, cell := range cells {
			if want[name] == nil {
				want[name] = new(strings.Builder)
			}
			want[name].WriteString(cell + " ")
		}
	}
	d := manifest.Declared{Value: manifest.JSONValue, Columns: leafColumns(), Layout: manifest.Layout{GroupRows: 2_000}}
	e := mustEncoder(t, mustSchema(t, d))
	columnar.SmallPages(e)
	out, err := e.Encode(t.Context(), jobOf(batchOf(t, 0, events...)))
	if err != nil {
		t.Fatal(err)
	}
	body := out.Bodies[out.Record.Data[0].Key]
	file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(file.RowGroups()); n < 2 {
		t.Errorf("%d row groups", n)
	}
	pages := 0
	for name, cells := range want {
		path := []string{name}
		if name == "numbers" || name == "words" {
			path = append(path, "list", "element")
		}
		column, ok := file.Schema().Lookup(path...)
		if !ok {
			t.Fatalf("no column %s", name)
		}
		var got strings.Builder
		for _, g := range file.RowGroups() {
			pages += readChunk(t, g.ColumnChunks()[column.ColumnIndex], &got)
		}
		if got.String() != cells.String() {
			t.Errorf("%s: %s", name, firstDifference(got.String(), cells.String()))
		}
	}
	if pages < 5*len(want) {
		t.Errorf("%d pages: too few to meet their ends", pages)
	}
}

// readChunk appends the values of a column chunk, and compares its pages with
// their index.
func readChunk(t *testing.T, c parquet.ColumnChunk, to *strings.Builder) (n int) {
	t.Helper()
	offsets, err := c.(*parquet.FileColumnChunk).OffsetIndex()
	if err != nil {
		t.Fatal(err)
	}
	index, err := c.ColumnIndex()
	if err != nil {
		t.Fatal(err)
	}
	pages := c.Pages()
	defer pages.Close()
	first := int64(0)
	for ; ; n++ {
		p, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := offsets.FirstRowIndex(n); got != first {
			t.Errorf("page %d begins at row %d, the index says %d", n, first, got)
		}
		first += p.NumRows()
		values := make([]parquet.Value, p.NumValues())
		if got, err := p.Values().ReadValues(values); got != len(values) || err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("%d values of %d: %v", got, len(values), err)
		}
		nulls := int64(0)
		low, high := index.MinValue(n), index.MaxValue(n)
		for _, v := range values {
			fmt.Fprintf(to, "%d/%d:%s ", v.RepetitionLevel(), v.DefinitionLevel(), shown(c, v))
			if v.IsNull() {
				nulls++
			} else if c.Type().Kind() != parquet.ByteArray && (c.Type().Compare(v, low) < 0 || c.Type().Compare(v, high) > 0) {
				t.Errorf("%v is not in the bounds of its page, %v to %v", v, low, high)
			}
		}
		if got := index.NullCount(n); got != nulls {
			t.Errorf("page %d has %d nulls, the index says %d", n, nulls, got)
		}
	}
	if got := offsets.NumPages(); got != n {
		t.Errorf("%d pages, the index has %d", n, got)
	}
	return n
}

// shown returns a value as the events write it.
func shown(c parquet.ColumnChunk, v parquet.Value) string {
	if v.IsNull() {
		return "<null>"
	}
	switch c.Type().String() {
	case "UUID":
		b := v.ByteArray()
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	case "DATE":
		return "1970-01-" + fmt.Sprint(v.Int32()+1)
	}
	return v.String()
}

// firstDifference shows where two texts part.
func firstDifference(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	from := max(0, i-40)
	return fmt.Sprintf("at byte %d of %d: got %.100q, want %.100q", i, len(want), got[from:], want[from:])
}
