package columnar

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/parquet-go/parquet-go"
)

func col(name string, t manifest.Type) manifest.Column {
	return manifest.Column{Name: name, Type: t}
}

func structOf(name string, fields ...manifest.Column) manifest.Column {
	return manifest.Column{Name: name, Type: manifest.Struct, Fields: fields}
}

func listOf(name string, e manifest.Column) manifest.Column {
	return manifest.Column{Name: name, Type: manifest.List, Element: &e}
}

func required(c manifest.Column) manifest.Column {
	c.Required = true
	return c
}

func mustSchema(t testing.TB, d manifest.Declared) manifest.Schema {
	t.Helper()
	s, err := manifest.NewSchema(d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// jsonShredder is one of JSON values. extra says whether the rest is kept.
func jsonShredder(t testing.TB, extra bool, cols ...manifest.Column) *shredder {
	t.Helper()
	l, err := newLayout(mustSchema(t, manifest.Declared{Value: manifest.JSONValue, Columns: cols, NoExtra: !extra}))
	if err != nil {
		t.Fatal(err)
	}
	return newShredder(l)
}

// values returns the values of the open page, nulls included, with their levels.
func (l *leaf) values() []parquet.Value {
	var all []parquet.Value
	plain, index := l.open.plain, l.open.index
	for i := range l.open.values {
		rep, def := uint8(0), l.form.maxDef
		if l.open.leveled {
			def = l.open.defs[i]
		}
		if l.form.maxRep > 0 {
			rep = l.open.reps[i]
		}
		var v parquet.Value
		switch width := l.form.width; {
		case def < l.form.maxDef:
		case l.inDictionary():
			v, index = l.form.kind.Kind().Value(l.dict.value(index[0])), index[1:]
		case width == 0:
			n := 4 + binary.LittleEndian.Uint32(plain)
			v, plain = parquet.ByteArrayValue(plain[4:n]), plain[n:]
		default:
			v, plain = l.form.kind.Kind().Value(plain[:width]), plain[width:]
		}
		all = append(all, v.Level(int(rep), int(def), 0))
	}
	return all
}

// show writes the values of the first n leaves as repetition/definition:value.
func show(sh *shredder, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(" | ")
		}
		for k, v := range sh.leaves[i].values() {
			if k > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "%d/%d:%s", v.RepetitionLevel(), v.DefinitionLevel(), v)
		}
	}
	return b.String()
}

// restart empties the columns.
func restart(sh *shredder) {
	sh.reset()
	for i := range sh.leaves {
		sh.leaves[i].restart()
	}
}

// shredOne pushes one value and shows the first n leaves, or the reject.
func shredOne(sh *shredder, value []byte, n int) string {
	restart(sh)
	if rej := sh.push(&row{Record: record.Record{Offset: 7, Value: value}}); rej != nil {
		return rej.Error()
	}
	if err := sh.aligned(); err != nil {
		return err.Error()
	}
	return show(sh, n)
}

func TestShredLevels(t *testing.T) {
	f := func(c manifest.Column, n int, text, want string) {
		t.Helper()
		if got := shredOne(jsonShredder(t, false, c), []byte(text), n); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	a := col("a", manifest.Int32)
	f(a, 1, `{"a":1}`, "0/1:1")
	f(a, 1, `{"a":null}`, "0/0:<null>")
	f(a, 1, `{}`, "0/0:<null>")
	// A struct that is null, that is empty, and one with a null field differ.
	s := structOf("s", col("a", manifest.Int32), structOf("t", col("b", manifest.String)))
	f(s, 2, `{"s":{"a":1,"t":{"b":"x"}}}`, "0/2:1 | 0/3:x")
	f(s, 2, `{"s":{"a":1,"t":null}}`, "0/2:1 | 0/1:<null>")
	f(s, 2, `{"s":{"t":{}}}`, "0/1:<null> | 0/2:<null>")
	f(s, 2, `{"s":{}}`, "0/1:<null> | 0/1:<null>")
	f(s, 2, `{"s":null}`, "0/0:<null> | 0/0:<null>")
	// So do a list that is null, one that is empty and one with a null.
	l := listOf("l", col("", manifest.Int32))
	f(l, 1, `{"l":[1,null,2]}`, "0/3:1 1/2:<null> 1/3:2")
	f(l, 1, `{"l":[]}`, "0/1:<null>")
	f(l, 1, `{"l":null}`, "0/0:<null>")
	// A list of lists.
	ll := listOf("l", listOf("", col("", manifest.Int32)))
	f(ll, 1, `{"l":[[1,2],[],null,[3]]}`, "0/5:1 2/5:2 1/3:<null> 1/2:<null> 1/5:3")
	f(ll, 1, `{"l":[[]]}`, "0/3:<null>")
	// A list of structs that have a list.
	ls := listOf("l", structOf("", col("a", manifest.Int32), listOf("m", col("", manifest.String))))
	f(ls, 2, `{"l":[{"a":1,"m":["x","y"]},{"m":["z"]},null,{"a":2}]}`,
		"0/4:1 1/3:<null> 1/2:<null> 1/4:2 | 0/6:x 2/6:y 1/6:z 1/2:<null> 1/3:<null>")
	// A struct with a list.
	sl := structOf("s", listOf("l", col("", manifest.Bool)))
	f(sl, 1, `{"s":{"l":[true,false]}}`, "0/4:true 1/4:false")
	f(sl, 1, `{"s":{"l":[]}}`, "0/2:<null>")
	f(sl, 1, `{"s":{}}`, "0/1:<null>")
}

func TestShredRejects(t *testing.T) {
	f := func(c manifest.Column, text, want string) {
		t.Helper()
		if got := shredOne(jsonShredder(t, true, c), []byte(text), 1); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	i := col("i", manifest.Int32)
	f(i, `{"i":1.5}`, `does_not_fit: column "i": 1.5 does not fit int32`)
	f(i, `{"i":1`, `bad_json: ends at byte 6 in the middle of a value`)
	f(i, ``, `bad_json: the value is empty`)
	f(i, `[1]`, `not_object: the value is [1]`)
	f(i, "{\"x\":\"\xff\"}", `invalid_utf8: column "extra": a member that is not declared is not UTF-8`)
	s := col("s", manifest.String)
	f(s, "{\"s\":\"\xff\"}", "invalid_utf8: column \"s\": \"\uFFFD\" does not fit string as UTF-8")
	f(s, `{"s":"\ud800"}`, `invalid_utf8: column "s": "\ud800" does not fit string as UTF-8`)
	f(s, `{"s":7}`, `does_not_fit: column "s": 7 does not fit string`)
	// A detail shows the beginning of a long value.
	f(i, `{"i":"`+strings.Repeat("x", 100)+`"}`, `does_not_fit: column "i": "`+strings.Repeat("x", 63)+`... (102 bytes) does not fit int32`)
	// Required: missing, null, or in a null that is the whole value.
	r := required(i)
	f(r, `{}`, `missing_required: column "i" has no value`)
	f(r, `{"i":null}`, `missing_required: column "i" has no value`)
	f(r, `null`, `missing_required: column "i" has no value`)
	// In a struct, required holds where the struct is; in a list for each element.
	st := structOf("s", required(col("a", manifest.Int32)))
	f(st, `{"s":{}}`, `missing_required: column "s.a" has no value`)
	f(st, `{"s":null}`, "0/0:<null>")
	l := listOf("l", required(col("", manifest.Int32)))
	f(l, `{"l":[1,null]}`, `missing_required: column "l[]" has no value`)
	f(l, `{"l":[1,"x"]}`, `does_not_fit: column "l[]": "x" does not fit int32`)
	f(required(l), `{"l":[]}`, "0/1:<null>")
	// Kinds of values that are no list, no struct, no bool.
	f(l, `{"l":{}}`, `does_not_fit: column "l": {} does not fit list`)
	f(st, `{"s":[]}`, `does_not_fit: column "s": [] does not fit struct`)
	f(col("b", manifest.Bool), `{"b":1}`, `does_not_fit: column "b": 1 does not fit bool`)
	f(listOf("l", structOf("", col("a", manifest.Int32))), `{"l":[3]}`, `does_not_fit: column "l[]": 3 does not fit struct`)
}

// Rows of a tombstone and of the literal null are empty, but not the same.
func TestShredNulls(t *testing.T) {
	sh := jsonShredder(t, true, col("a", manifest.Int32))
	last := len(sh.leaves) // kafka_tombstone
	f := func(value []byte, want string) {
		t.Helper()
		restart(sh)
		if rej := sh.push(&row{Record: record.Record{Offset: 7, Timestamp: -1, Value: value}}); rej != nil {
			t.Fatal(rej)
		}
		if got := show(sh, last); got != want {
			t.Errorf("%q\n got %s\nwant %s", value, got, want)
		}
	}
	const position = " | 0/0:0 | 0/0:7 | 0/0:<null> | 0/0:create | "
	f(nil, "0/0:<null> | 0/0:<null>"+position+"0/0:true")
	f([]byte("null"), "0/0:<null> | 0/0:<null>"+position+"0/0:false")
	f([]byte("{}"), "0/0:<null> | 0/0:<null>"+position+"0/0:false")
	f([]byte(`{"a":1,"b":2}`), `0/1:1 | 0/1:{"b":2}`+position+"0/0:false")
	// A tombstone is exempt from what is required.
	if got := shredOne(jsonShredder(t, false, required(col("a", manifest.Int32))), nil, 1); got != "0/0:<null>" {
		t.Errorf("tombstone gives %s", got)
	}
}

// cutColumns are columns that fail early and late in a row, and inside lists.
func cutColumns() []manifest.Column {
	return []manifest.Column{
		col("a", manifest.Int32),
		listOf("l", structOf("", col("x", manifest.String), listOf("m", col("", manifest.Double)))),
		structOf("s", col("t", manifest.UUID), required(col("u", manifest.Int64))),
		col("z", manifest.Date),
	}
}

// A record that is rejected leaves the columns as they were, and the next one
// comes out as it would without it.
func FuzzCutBack(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"l":[{"x":"p","m":[1,2]},{"x":7}]}`, `{"a":1,"l":[],"s":{"t":null}}`, `{"z":"2020-02-30"}`, `{"a":1,"y":"é"`,
		`{"l":[{"m":[1,"x"]}]}`, "", "null", `{"a":1,"l":[{"x":"p","m":[1,2]}],"s":{"u":3},"z":1,"more":[]}`,
	} {
		f.Add([]byte(s))
	}
	sh := jsonShredder(f, true, cutColumns()...)
	good := &row{Record: record.Record{Offset: 1, Value: []byte(`{"a":1,"l":[{"x":"\u00e9","m":[1]},{}],"s":{"u":1},"q":[1]}`)}}
	f.Fuzz(func(t *testing.T, value []byte) {
		restart(sh)
		if rej := sh.push(good); rej != nil {
			t.Fatal(rej)
		}
		before := show(sh, len(sh.leaves))
		rej := sh.push(&row{Record: record.Record{Offset: 2, Value: value}})
		if err := sh.aligned(); err != nil {
			t.Fatal(err)
		}
		if rej == nil {
			if !strings.HasPrefix(show(sh, 1), "0/1:1 0/") || sh.rows != 2 {
				t.Errorf("%q: %s", value, show(sh, 1))
			}
			return
		}
		if got := show(sh, len(sh.leaves)); got != before || sh.rows != 1 {
			t.Errorf("%q left\n%s\nwant %s", value, got, before)
		}
		if rej.Reason == "" || rej.Detail == "" || len(rej.Detail) > 400 {
			t.Errorf("%q: reject %+v", value, rej)
		}
	})
}

// A leaf with a row too many is seen before the library takes it.
func TestAligned(t *testing.T) {
	sh := jsonShredder(t, false, col("a", manifest.Int32), listOf("l", col("", manifest.Int32)))
	if rej := sh.push(&row{Record: record.Record{Value: []byte(`{"a":1,"l":[1,2]}`)}}); rej != nil {
		t.Fatal(rej)
	}
	if err := sh.aligned(); err != nil {
		t.Error(err)
	}
	sh.leaves[0].putInt32(2, 0)
	if err := sh.aligned(); err == nil || !strings.Contains(err.Error(), "leaf column 0 has 2 rows of 1") {
		t.Errorf("error %v", err)
	}
}

func TestShredDoesNotAllocate(t *testing.T) {
	cols := append(cutColumns(), manifest.Column{Name: "d", Type: manifest.Decimal, Precision: 30, Scale: 2},
		manifest.Column{Name: "at", Type: manifest.Timestamp}, col("b", manifest.Binary), col("f", manifest.Double))
	sh := jsonShredder(t, true, cols...)
	r := &row{Record: record.Record{Value: []byte(`{"a":1,"l":[{"x":"\u00e9","m":[1,0.1234567890123456789]}],"s":{"t":"01234567-89ab-cdef-0123-456789abcdef",` +
		`"u":1e3},"z":"2020-02-29","more":[1,"é"],"d":"-12.34","at":"2020-01-01T00:00:00.5Z","b":"AAEC","f":12345678901234567}`)}}
	n := testing.AllocsPerRun(100, func() {
		restart(sh)
		if rej := sh.push(r); rej != nil && rej.Reason != "does_not_fit" {
			t.Fatal(rej)
		}
	})
	// The last column rejects: 12345678901234567 is no double. The reject is
	// what was allocated.
	if n > 8 {
		t.Errorf("%v allocations for a reject", n)
	}
	r.Value = []byte(strings.Replace(string(r.Value), "12345678901234567}", "1234567890123456}", 1))
	if n := testing.AllocsPerRun(100, func() {
		restart(sh)
		if rej := sh.push(r); rej != nil {
			t.Fatal(rej)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a record", n)
	}
}

// BenchmarkShred lays out one JSON value as columns, pages not included.
func BenchmarkShred(b *testing.B) {
	sh := jsonShredder(b, false, col("id", manifest.Int64), col("name", manifest.String), manifest.Column{Name: "at", Type: manifest.Timestamp}, col("price", manifest.Double))
	r := &row{Record: record.Record{Value: []byte(`{"id":1234567,"name":"a name of some length","at":"2026-01-15T10:20:30.123Z","price":12.34}`)}}
	b.ReportAllocs()
	b.SetBytes(int64(len(r.Value)))
	for n := 0; b.Loop(); n++ {
		if n%step == 0 {
			restart(sh)
		}
		if rej := sh.push(r); rej != nil {
			b.Fatal(rej)
		}
	}
}

// BenchmarkDigest hashes one record of 390 bytes into the digest of its range.
func BenchmarkDigest(b *testing.B) {
	var d digest
	d.init()
	r := &row{Record: record.Record{Key: []byte("key"), Value: make([]byte, 390)}}
	b.ReportAllocs()
	b.SetBytes(int64(len(r.Value)))
	for b.Loop() {
		d.add(r)
	}
}
