package settings

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
)

// schemaOf loads a topic with one column and returns the column of its schema,
// without what is numbered.
func schemaOf(t *testing.T, column string) (manifest.Column, error) {
	t.Helper()
	s, err := load(t, "topics: {t: {value: json, columns: ["+column+"]}}\n", nil)
	if err != nil {
		return manifest.Column{}, err
	}
	schema, err := s.Schema(s.Topics[0])
	if err != nil {
		return manifest.Column{}, err
	}
	return unnumbered(schema.Columns[0]), nil
}

func unnumbered(c manifest.Column) manifest.Column {
	c.ID, c.Encoding = 0, ""
	for i := range c.Fields {
		c.Fields[i] = unnumbered(c.Fields[i])
	}
	if c.Element != nil {
		e := unnumbered(*c.Element)
		c.Element = &e
	}
	return c
}

// Every type that a column may have comes from the file to the schema.
func TestEveryType(t *testing.T) {
	seen := map[manifest.Type]bool{}
	f := func(column string, want manifest.Column) {
		t.Helper()
		seen[want.Type] = true
		want.Name = "a"
		if want.Path == nil {
			want.Path = []string{"a"}
		}
		got, err := schemaOf(t, "{name: a, "+column+"}")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v", column, got, err, want)
		}
	}
	f("type: bool", manifest.Column{Type: manifest.Bool})
	f("type: int32", manifest.Column{Type: manifest.Int32})
	f("type: int64, required: true", manifest.Column{Type: manifest.Int64, Required: true})
	f("type: double, path: properties.mag", manifest.Column{Type: manifest.Double, Path: []string{"properties", "mag"}})
	f("type: string, path: [a.b, 'c d']", manifest.Column{Type: manifest.String, Path: []string{"a.b", "c d"}})
	f("type: binary", manifest.Column{Type: manifest.Binary})
	f("type: date", manifest.Column{Type: manifest.Date})
	f("type: uuid", manifest.Column{Type: manifest.UUID})
	f("type: json", manifest.Column{Type: manifest.JSON})
	// Text of a point in time needs no unit; a number has one of four.
	f("type: timestamp", manifest.Column{Type: manifest.Timestamp})
	f("type: timestamp, unit: s", manifest.Column{Type: manifest.Timestamp, Unit: manifest.Seconds})
	f("type: timestamp, unit: ms", manifest.Column{Type: manifest.Timestamp, Unit: manifest.Milliseconds})
	f("type: timestamp, unit: us", manifest.Column{Type: manifest.Timestamp, Unit: manifest.Microseconds})
	f("type: timestamp, unit: ns", manifest.Column{Type: manifest.Timestamp, Unit: manifest.Nanoseconds})
	// The edges of a decimal.
	f("type: decimal, precision: 1", manifest.Column{Type: manifest.Decimal, Precision: 1})
	f("type: decimal, precision: 38, scale: 38", manifest.Column{Type: manifest.Decimal, Precision: 38, Scale: 38})
	// Lists and structs of all that, and of each other.
	f("type: list, element: {type: decimal, precision: 9, scale: 2}",
		manifest.Column{Type: manifest.List, Element: &manifest.Column{Type: manifest.Decimal, Precision: 9, Scale: 2}})
	f("type: list, element: {type: struct, fields: [{name: b, type: timestamp, unit: ms, path: x.y}]}",
		manifest.Column{Type: manifest.List, Element: &manifest.Column{Type: manifest.Struct, Fields: []manifest.Column{
			{Name: "b", Type: manifest.Timestamp, Unit: manifest.Milliseconds, Path: []string{"x", "y"}},
		}}})
	f("type: struct, fields: [{name: b, type: list, element: uuid, required: on}, {name: c, type: json}]",
		manifest.Column{Type: manifest.Struct, Fields: []manifest.Column{
			{Name: "b", Type: manifest.List, Path: []string{"b"}, Required: true, Element: &manifest.Column{Type: manifest.UUID}},
			{Name: "c", Type: manifest.JSON, Path: []string{"c"}},
		}})
	for _, name := range types {
		if !seen[manifest.Type(name)] {
			t.Errorf("type %s has no case", name)
		}
	}
}

// Declarations that no schema can have are errors that name the column.
func TestColumnsThatDoNotFit(t *testing.T) {
	f := func(column, want string) {
		t.Helper()
		_, err := schemaOf(t, column)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "lakeweir.yaml:1: ") {
			t.Errorf("%s\ngot %v, want %q", column, err, want)
		}
	}
	f("{name: a}", `column "a": has no type`)
	f("{name: a, type: decimal, precision: 39}", "precision 39 is not from 1 to 38")
	f("{name: a, type: decimal, precision: -1}", "precision -1")
	f("{name: a, type: decimal, precision: 5, scale: 6}", "scale 6 is not from 0 to the precision, 5")
	f("{name: a, type: string, unit: ms}", "type string has no unit")
	f("{name: a, type: timestamp, unit: m}", `unit "m" is not known`)
	f("{name: a, type: int32, precision: 3}", "type int32 has no precision")
	f("{name: a, type: string, fields: [{name: b, type: date}]}", "type string has no fields")
	f("{name: a, type: struct}", "a struct needs fields")
	f("{name: a, type: list}", `column "a"`)
	f("{name: a, type: bool, element: int32}", "type bool has no element")
	f("{name: a, type: list, element: {name: b, type: int32}}", "the element of a list has no name")
	f("{name: a, type: struct, fields: [{name: b, type: int32}, {name: B, type: int32}]}", `"a.B"`)
	f("{name: kafka_offset, type: int64}", "reserved")
}

// The layout of the files is that of the settings, for every topic.
func TestLayout(t *testing.T) {
	s, err := load(t, "topics: [a, b]\nfiles: {compression: zstd, level: 9, row_group_rows: 5, row_group_bytes: 1MiB}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := manifest.Layout{Compression: manifest.Zstd, Level: 9, GroupRows: 5, GroupBytes: 1 << 20}
	for _, topic := range s.Topics {
		if schema, err := s.Schema(topic); err != nil || schema.Layout != want {
			t.Errorf("%s: %+v, err %v, want %+v", topic.Name, schema.Layout, err, want)
		}
	}
	// One that does not hold together names the topic.
	s.Files.Compression = "lz4"
	if _, err := s.Schema(s.Topics[1]); err == nil || !strings.Contains(err.Error(), `topic "b": `) {
		t.Errorf("got %v", err)
	}
}

// What the listing says of columns gives the same schema again.
func TestListedColumns(t *testing.T) {
	f := func(columns string) {
		t.Helper()
		first, err := load(t, "topics: {t: {value: json, columns: ["+columns+"]}}\n", nil)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := first.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		second, err := load(t, out.String(), nil)
		if err != nil {
			t.Errorf("%s: %v", columns, err)
			return
		}
		a, errA := first.Schema(first.Topics[0])
		b, errB := second.Schema(second.Topics[0])
		if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v, %v", columns, b, errB, a, errA)
		}
	}
	f("{name: a, type: bool}, {name: b, type: int32, encoding: delta}, {name: c, type: int64, required: yes}")
	f("{name: a, type: double}, {name: b, type: string, encoding: dictionary}, {name: c, type: binary, encoding: plain}")
	f("{name: a, type: timestamp}, {name: b, type: timestamp, unit: ns}, {name: c, type: date}")
	f("{name: a, type: decimal, precision: 38}, {name: b, type: uuid}, {name: c, type: json}")
	f("{name: a, type: list, element: {type: list, element: {type: struct, fields: [{name: b, type: date, path: [x, y.z]}]}}}")
	// Names that YAML would take for something else, and paths with odd letters.
	f(`{name: "null", type: string}, {name: "true", type: string}, {name: "1e3", type: string}, {name: "~", type: string}`)
	f(`{name: "a: b", type: string, path: ["#", "{", "\t", "\"", "é", "${X}"]}, {name: "- x", type: string}, {name: "#", type: string}`)
}

// Aliases of aliases are refused before they have made more than memory holds.
func TestColumnsOfAliases(t *testing.T) {
	text := "    value: json\n    columns:\n    - &c0 {name: c0, type: int32}\n"
	for i := range 40 {
		text += fmt.Sprintf("    - &c%d {name: c%d, type: struct, fields: [*c%d, *c%d]}\n", i+1, i+1, i, i)
	}
	if _, err := declared(t, text); err == nil || !strings.Contains(err.Error(), "more than 10000 columns") {
		t.Errorf("got %v", err)
	}
}
