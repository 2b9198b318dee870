package manifest

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func declared(cols ...Column) Declared { return Declared{Value: JSONValue, Columns: cols} }

func names(s Schema) string {
	var out []string
	for _, c := range s.Columns {
		out = append(out, c.Name)
	}
	return strings.Join(out, " ")
}

func TestNewSchema(t *testing.T) {
	f := func(d Declared, want string) {
		t.Helper()
		s, err := NewSchema(d)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(s); got != want {
			t.Errorf("columns %s\nwant %s", got, want)
		}
	}
	const position = "kafka_partition kafka_offset kafka_timestamp kafka_timestamp_type"
	// Raw is the default, and always has key and headers.
	f(Declared{}, position+" kafka_key kafka_headers value")
	f(Declared{Value: RawValue, Key: true}, position+" kafka_key kafka_headers value")
	// Declared columns come first, in their order.
	z, a := Column{Name: "z", Type: Int32}, Column{Name: "a", Type: String}
	f(declared(z, a), "z a extra "+position+" kafka_tombstone")
	f(Declared{Value: JSONValue, Columns: []Column{z}, NoExtra: true, Key: true, Headers: true},
		"z "+position+" kafka_tombstone kafka_key kafka_headers")
	// No columns at all: everything is extra.
	f(declared(), "extra "+position+" kafka_tombstone")
	// The name extra is free when there is no such column.
	f(Declared{Value: JSONValue, Columns: []Column{{Name: "extra", Type: JSON}}, NoExtra: true},
		"extra "+position+" kafka_tombstone")
}

// A column without a path is found under its name, also in structs and lists.
func TestNewSchemaFillsPaths(t *testing.T) {
	d := declared(
		Column{Name: "m", Path: []string{"properties", "mag"}, Type: Double},
		Column{Name: "s", Type: Struct, Fields: []Column{{Name: "f", Type: Int32}}},
		Column{Name: "l", Type: List, Element: &Column{Type: Struct, Fields: []Column{{Name: "g", Type: Int32}}}},
	)
	s, err := NewSchema(d)
	if err != nil {
		t.Fatal(err)
	}
	c := s.Columns
	got := [][]string{c[0].Path, c[1].Path, c[1].Fields[0].Path, c[2].Path, c[2].Element.Fields[0].Path}
	want := [][]string{{"properties", "mag"}, {"s"}, {"f"}, {"l"}, {"g"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("paths %q, want %q", got, want)
	}
	if len(d.Columns[2].Element.Fields[0].Path) > 0 || d.Columns[2].Element.ID != 0 {
		t.Error("the declaration was changed")
	}
}

// Ids count from 1, parents before parts.
func TestNewSchemaNumbers(t *testing.T) {
	s, err := NewSchema(declared(
		Column{Name: "s", Type: Struct, Fields: []Column{{Name: "f", Type: Int32}, {Name: "g", Type: Int32}}},
		Column{Name: "l", Type: List, Element: &Column{Type: Int32}},
	))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Columns
	got := []int{c[0].ID, c[0].Fields[0].ID, c[0].Fields[1].ID, c[1].ID, c[1].Element.ID, c[2].ID}
	if want := []int{1, 2, 3, 4, 5, 6}; !reflect.DeepEqual(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
}

func TestNewSchemaErrors(t *testing.T) {
	f := func(d Declared, want string) {
		t.Helper()
		s, err := NewSchema(d)
		if err == nil {
			t.Errorf("%+v has no error, want %s", s, want)
		} else if err.Error() != want {
			t.Errorf("error %s\nwant  %s", err, want)
		}
	}
	f(Declared{Value: "avro"}, `value kind "avro" is not known: use raw or json`)
	f(Declared{Columns: []Column{{Name: "a", Type: Int32}}}, `column "a" is declared but values are raw: set value: json`)
	// Our own names, in any case.
	f(declared(Column{Name: "kafka_offset", Type: Int64}), `column "kafka_offset": names that begin with kafka_ are reserved: choose another name`)
	f(declared(Column{Name: "Kafka_x", Type: Int64}), `column "Kafka_x": names that begin with kafka_ are reserved: choose another name`)
	f(declared(Column{Name: "Extra", Type: JSON}), `column "Extra": the name is that of the column for undeclared members: choose another name or set extra: off`)
	f(declared(Column{Name: "a", Type: Int64, Source: FromOffset}), `column "a": a source is not to be declared, only a path`)
	// Names.
	f(declared(Column{Type: Int64}), `column "": has no name`)
	f(declared(Column{Name: "a\n", Type: Int64}), `column "a\n": the name has control characters`)
	f(declared(Column{Name: "\xff", Type: Int64}), `column "\xff": the name is not UTF-8`)
	f(declared(Column{Name: strings.Repeat("x", 256), Type: Int64}), `column "`+strings.Repeat("x", 256)+`": the name has more than 255 bytes`)
	f(declared(Column{Name: "a", Type: Int64}, Column{Name: "a", Type: String}),
		`column "a": its name is that of column "a" to engines that ignore case or join names by dots`)
	f(declared(Column{Name: "id", Type: Int64}, Column{Name: "ID", Type: String}),
		`column "ID": its name is that of column "id" to engines that ignore case or join names by dots`)
	// Dots that make two columns one.
	st := Column{Name: "a", Type: Struct, Fields: []Column{{Name: "b", Type: Int32}}}
	f(declared(st, Column{Name: "a.b", Type: Int32}),
		`column "a.b": its name is that of column "a.b" to engines that ignore case or join names by dots`)
	f(declared(Column{Name: "a", Type: List, Element: &Column{Type: Int32}}, Column{Name: "a.list.element", Type: Int32}),
		`column "a.list.element": its name is that of column "a.list.element" to engines that ignore case or join names by dots`)
	// Types and what belongs to them.
	f(declared(Column{Name: "a"}), `column "a": has no type`)
	f(declared(Column{Name: "a", Type: "text"}), `column "a": type "text" is not known`)
	f(declared(Column{Name: "a", Type: Struct}), `column "a": a struct needs fields`)
	f(declared(Column{Name: "a", Type: Int32, Fields: st.Fields}), `column "a": type int32 has no fields`)
	f(declared(Column{Name: "a", Type: List}), `column "a": a list needs an element`)
	f(declared(Column{Name: "a", Type: Int32, Element: &Column{Type: Int32}}), `column "a": type int32 has no element`)
	f(declared(Column{Name: "a", Type: List, Element: &Column{Name: "e", Type: Int32}}), `column "a": the element of a list has no name, path or source`)
	f(declared(Column{Name: "a", Type: List, Element: &Column{Type: Struct}}), `column "a.list.element": a struct needs fields`)
	f(declared(Column{Name: "a", Type: Int32, Unit: Seconds}), `column "a": type int32 has no unit`)
	f(declared(Column{Name: "a", Type: Timestamp, Unit: "min"}), `column "a": unit "min" is not known: use s, ms, us or ns`)
	f(declared(Column{Name: "a", Type: Int32, Scale: 1}), `column "a": type int32 has no precision or scale`)
	f(declared(Column{Name: "a", Type: Decimal}), `column "a": decimal precision 0 is not from 1 to 38`)
	f(declared(Column{Name: "a", Type: Decimal, Precision: 39}), `column "a": decimal precision 39 is not from 1 to 38`)
	f(declared(Column{Name: "a", Type: Decimal, Precision: 5, Scale: 6}), `column "a": decimal scale 6 is not from 0 to the precision, 5`)
	f(declared(Column{Name: "a", Type: String, Encoding: "rle"}), `column "a": encoding "rle" is not known: use dictionary, delta or none`)
	f(declared(Column{Name: "a", Type: Bool, Encoding: Dictionary}), `column "a": type bool takes no dictionary`)
	f(declared(Column{Name: "a", Type: String, Encoding: Delta}), `column "a": encoding delta is for int32, int64, timestamp and date, not for string`)
	// A field deep inside is named in full.
	f(declared(Column{Name: "a", Type: Struct, Fields: []Column{{Name: "b", Type: Struct, Fields: []Column{{Name: "c", Type: "x"}}}}}),
		`column "a.b.c": type "x" is not known`)
	// Layouts.
	f(Declared{Layout: Layout{Compression: "gzip"}}, `layout: compression "gzip" is not known: use zstd, snappy, lz4 or none`)
	f(Declared{Layout: Layout{Compression: Zstd, Level: 23}}, `layout: zstd level 23 is not from 1 to 22`)
	f(Declared{Layout: Layout{Compression: Snappy, Level: 3}}, `layout: compression snappy has no level, yet it is 3`)
	f(Declared{Layout: Layout{GroupRows: -1}}, `layout: row groups of -1 rows or 134217728 bytes: both must be positive`)
}

// What only a damaged or foreign object can hold.
func TestSchemaValidate(t *testing.T) {
	f := func(change func(*Schema), want string) {
		t.Helper()
		s, err := NewSchema(declared(Column{Name: "a", Type: Int32}))
		if err != nil {
			t.Fatal(err)
		}
		change(&s)
		if err := s.Validate(); err == nil || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
	}
	f(func(s *Schema) { s.Version = 0 }, "schema version 0: versions begin at 1")
	f(func(s *Schema) { s.Value = "avro" }, `schema: value kind "avro" is not known`)
	f(func(s *Schema) { s.Columns = nil }, "schema has no columns")
	f(func(s *Schema) { s.Columns[0].ID = 0 }, `column "a": field id 0: ids begin at 1`)
	f(func(s *Schema) { s.Columns[1].ID = 1 }, `column "extra": field id 1 is that of column "a"`)
	f(func(s *Schema) { s.Columns[1].Source = "moon" }, `column "extra": source "moon" is not known`)
	f(func(s *Schema) { s.Columns[1].Type = String }, `column "extra": source extra has type json, not string`)
	f(func(s *Schema) { s.Columns[1].Path = []string{"x"} }, `column "extra": has a source and a path`)
	f(func(s *Schema) { s.Columns[0].Path = nil }, `column "a": has no path`)
	f(func(s *Schema) { s.Value = RawValue }, `column "a": raw values have no members`)
	f(func(s *Schema) {
		s.Columns[0] = Column{ID: 1, Name: "a", Path: []string{"a"}, Type: Struct, Fields: []Column{{ID: 99, Name: "b", Source: FromOffset, Type: Int64}}}
	}, `column "a.b": a field of a struct cannot have a source`)
}

func TestDeadLetters(t *testing.T) {
	s, err := NewSchema(declared(Column{Name: "a", Type: Int32}))
	if err != nil {
		t.Fatal(err)
	}
	d := s.DeadLetters()
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	want := "kafka_topic kafka_partition kafka_offset kafka_timestamp kafka_timestamp_type kafka_key kafka_headers value reason detail"
	if got := names(d); got != want {
		t.Errorf("columns %s", got)
	}
	if d.Version != s.Version || d.Layout != s.Layout {
		t.Error("version or layout differ")
	}
}

func idsOf(s Schema) map[string]int {
	ids := map[string]int{}
	s = s.clone()
	number(s.Columns, func(c Column, place string) int { ids[place] = c.ID; return c.ID }, "")
	return ids
}

func TestInherit(t *testing.T) {
	build := func(cols ...Column) Schema {
		t.Helper()
		s, err := NewSchema(Declared{Value: JSONValue, Columns: cols, NoExtra: true})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := Column{Name: "a", Type: Int32}, Column{Name: "b", Type: String}
	st := func(fields ...Column) Column { return Column{Name: "s", Type: Struct, Fields: fields} }
	one := build(a, st(b))                           // a 1, s 2, s.b 3, five of Kafka 4 to 8
	two := build(st(a, b), b).Inherit([]Schema{one}) // a is gone; s.a and b are new
	ids := idsOf(two)
	f := func(place string, want int) {
		t.Helper()
		if ids[place] != want {
			t.Errorf("%s has id %d, want %d", place, ids[place], want)
		}
	}
	// The same place and type keep their id, new ones are beyond all others.
	f(`/"s"`, 2)
	f(`/"s"/"b"`, 3)
	f(`/"kafka_offset"`, 5)
	f(`/"s"/"a"`, 9)
	f(`/"b"`, 10)
	// A column that comes back has its id again, one of another type does not,
	// and an id that was given up is not given to another.
	wide := a
	wide.Type = Int64
	c := Column{Name: "c", Type: Bool}
	ids = idsOf(build(a, c).Inherit([]Schema{one, two}))
	f(`/"a"`, 1)
	f(`/"c"`, 11)
	ids = idsOf(build(wide).Inherit([]Schema{one, two}))
	f(`/"a"`, 11)
	// A decimal of other digits is another type.
	dec := func(p int) Column { return Column{Name: "d", Type: Decimal, Precision: p, Scale: 2} }
	ids = idsOf(build(dec(9)).Inherit([]Schema{build(dec(8))}))
	f(`/"d"`, 7)
	// An element has a place too.
	l := Column{Name: "l", Type: List, Element: &Column{Type: Int32}}
	ids = idsOf(build(b, l).Inherit([]Schema{build(l)}))
	f(`/"l"`, 1)
	f(`/"l"/[]`, 2)
	f(`/"b"`, 8)
	if err := two.Validate(); err != nil {
		t.Error(err)
	}
}

func TestSameContent(t *testing.T) {
	base := func() Schema {
		s, err := NewSchema(declared(Column{Name: "a", Type: Int32}, Column{Name: "l", Type: List, Element: &Column{Type: Int32}}))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	f := func(change func(*Schema), want bool) {
		t.Helper()
		s := base()
		change(&s)
		if SameContent(base(), s) != want || SameContent(s, base()) != want {
			t.Errorf("same content is not %v", want)
		}
	}
	// Version and ids do not count, those of elements included.
	f(func(*Schema) {}, true)
	f(func(s *Schema) { s.Version = 7; s.Columns[0].ID = 70; s.Columns[1].Element.ID = 71 }, true)
	// All else does.
	f(func(s *Schema) { s.Columns[0].Name = "b" }, false)
	f(func(s *Schema) { s.Columns[0].Required = true }, false)
	f(func(s *Schema) { s.Columns[1].Element.Type = Int64 }, false)
	f(func(s *Schema) { s.Columns = s.Columns[1:] }, false)
	f(func(s *Schema) { s.Layout.Level = 3 }, false)
	f(func(s *Schema) { s.Format = "1.1" }, false)
}

func TestSchemaCodec(t *testing.T) {
	s, err := NewSchema(declared(
		Column{Name: "d", Type: Decimal, Precision: 12, Scale: 3, Required: true},
		Column{Name: "l", Type: List, Element: &Column{Type: Struct, Fields: []Column{{Name: "t", Type: Timestamp, Unit: Milliseconds}}}},
		Column{Name: "x", Type: String, Encoding: Dictionary},
	))
	if err != nil {
		t.Fatal(err)
	}
	body, err := EncodeSchema(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeSchema(body)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, s) {
		t.Errorf("came back as %+v\nwant %+v", got, s)
	}
	// A member that a newer minor version added is passed over.
	more := strings.Replace(string(body), `"format":"1.0"`, `"format":"1.9","novel":{"x":1}`, 1)
	if got, err = DecodeSchema([]byte(more)); err != nil || got.Format != "1.9" || len(got.Columns) != len(s.Columns) {
		t.Errorf("newer minor: %+v %v", got, err)
	}
	// Another major is refused, so is what is not valid.
	f := func(from, to string, want error) {
		t.Helper()
		if _, err := DecodeSchema([]byte(strings.Replace(string(body), from, to, 1))); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", to, err, want)
		}
	}
	f(`"format":"1.0"`, `"format":"2.0"`, ErrFormat)
	f(`"type":"decimal"`, `"type":"complex"`, ErrDamage)
	f(`"version":1`, `"version":"one"`, ErrDamage)
	if _, err := EncodeSchema(Schema{}); err == nil {
		t.Error("an invalid schema was encoded")
	}
}

// Nesting that Parquet cannot count is refused here, not at the first file.
func TestSchemaDepth(t *testing.T) {
	f := func(levels int, ok bool) {
		t.Helper()
		c := Column{Type: Int32}
		for range levels - 1 {
			e := c
			c = Column{Type: List, Element: &e}
		}
		c.Name = "a"
		if _, err := NewSchema(declared(c)); (err == nil) != ok {
			t.Errorf("%d levels: %v", levels, err)
		} else if !ok && !strings.HasSuffix(err.Error(), "nest deeper than 100 levels") {
			t.Error(err)
		}
	}
	f(maxDepth, true)
	f(maxDepth+1, false)
}
