package manifest

import (
	"fmt"
	"strconv"
	"strings"
)

// Declared is what a user says of a topic's values. [NewSchema] makes the
// columns of its files from it.
type Declared struct {
	Value   ValueKind // "" is RawValue
	Columns []Column  // of JSON values; ids are given by NewSchema; an empty Path is the name
	NoExtra bool      // drop members that no column takes, instead of keeping them in ExtraName
	Key     bool      // kafka_key in files of JSON values too; raw ones always have it
	Headers bool      // the same of kafka_headers
	Layout  Layout    // zero fields take the default
}

// Names of columns that are not declared. The prefix is reserved for them.
const (
	ReservedPrefix = "kafka_"
	ExtraName      = "extra"
	ValueName      = "value" // of raw files
)

// The default layout. Row groups of this size are what engines scan best, and
// bound the memory of an encoder.
const (
	defaultLevel      = 1
	defaultGroupRows  = 1 << 20
	defaultGroupBytes = 128 << 20
)

// NewSchema composes the columns of a data file: for raw values those of Kafka
// and the value, for JSON values the declared ones in their order, then the
// extra one, then those of Kafka. Field ids count from 1. The error of a
// declaration that does not hold together names the column.
func NewSchema(d Declared) (Schema, error) {
	s := Schema{Format: Format, Version: 1, Value: d.Value, Layout: d.Layout}
	s.Layout.fill()
	switch d.Value {
	case "", RawValue:
		s.Value = RawValue
		if len(d.Columns) > 0 {
			return Schema{}, fmt.Errorf("column %q is declared but values are raw: set value: json", d.Columns[0].Name)
		}
		s.Columns = append(position(), keyColumn(), headersColumn(),
			Column{Name: ValueName, Source: FromValue, Type: Binary})
	case JSONValue:
		if err := checkReserved(d); err != nil {
			return Schema{}, err
		}
		s.Columns = jsonColumns(d)
	default:
		return Schema{}, fmt.Errorf("value kind %q is not known: use raw or json", d.Value)
	}
	next := 0
	number(s.Columns, func(Column, string) int { next++; return next }, "")
	return s, s.Validate()
}

func (l *Layout) fill() {
	if l.Compression == "" {
		l.Compression = Zstd
	}
	if l.Compression == Zstd && l.Level == 0 {
		l.Level = defaultLevel
	}
	if l.GroupRows == 0 {
		l.GroupRows = defaultGroupRows
	}
	if l.GroupBytes == 0 {
		l.GroupBytes = defaultGroupBytes
	}
}

func jsonColumns(d Declared) []Column {
	cols := withPaths(cloneColumns(d.Columns))
	if !d.NoExtra {
		cols = append(cols, Column{Name: ExtraName, Source: FromExtra, Type: JSON})
	}
	cols = append(cols, position()...)
	cols = append(cols, Column{Name: "kafka_tombstone", Source: FromTombstone, Type: Bool, Required: true})
	if d.Key {
		cols = append(cols, keyColumn())
	}
	if d.Headers {
		cols = append(cols, headersColumn())
	}
	return cols
}

// position returns the columns that say where a row comes from.
func position() []Column {
	return []Column{
		{Name: "kafka_partition", Source: FromPartition, Type: Int32, Required: true},
		{Name: "kafka_offset", Source: FromOffset, Type: Int64, Required: true},
		{Name: "kafka_timestamp", Source: FromTimestamp, Type: Timestamp},
		{Name: "kafka_timestamp_type", Source: FromTimestampType, Type: String, Required: true, Encoding: Dictionary},
	}
}

func keyColumn() Column { return Column{Name: "kafka_key", Source: FromKey, Type: Binary} }

// headersColumn has names of bytes, not of text: nothing makes a producer
// write UTF-8 there, and files are to hold what it wrote.
func headersColumn() Column {
	return Column{Name: "kafka_headers", Source: FromHeaders, Type: List, Required: true, Element: &Column{
		Type: Struct, Required: true, Fields: []Column{
			{Name: "name", Type: Binary, Required: true},
			{Name: "value", Type: Binary},
		},
	}}
}

// DeadLetters returns the schema of dead-letter files. It is the same for
// every table and version; the layout is that of s.
func (s Schema) DeadLetters() Schema {
	d := Schema{Format: s.Format, Version: s.Version, Value: RawValue, Layout: s.Layout}
	d.Columns = append(d.Columns, Column{Name: "kafka_topic", Source: FromTopic, Type: String, Required: true, Encoding: Dictionary})
	d.Columns = append(d.Columns, position()...)
	d.Columns = append(d.Columns, keyColumn(), headersColumn(),
		Column{Name: ValueName, Source: FromValue, Type: Binary},
		Column{Name: "reason", Source: FromReason, Type: String, Required: true, Encoding: Dictionary},
		Column{Name: "detail", Source: FromDetail, Type: String, Required: true})
	next := 0
	number(d.Columns, func(Column, string) int { next++; return next }, "")
	return d
}

// withPaths gives columns without a path their name as one.
func withPaths(cols []Column) []Column {
	for i := range cols {
		c := &cols[i]
		if len(c.Path) == 0 {
			c.Path = []string{c.Name}
		}
		withPaths(c.Fields)
		for e := c.Element; e != nil; e = e.Element {
			withPaths(e.Fields)
		}
	}
	return cols
}

// number gives every column and part an id. The place of a part is the names
// that lead to it.
func number(cols []Column, id func(c Column, place string) int, place string) {
	for i := range cols {
		c := &cols[i]
		at := place + "/" + strconv.Quote(c.Name)
		c.ID = id(*c, at)
		number(c.Fields, id, at)
		for e := c.Element; e != nil; e = e.Element {
			at += "/[]"
			e.ID = id(*e, at)
			number(e.Fields, id, at)
		}
	}
}

// Inherit returns s with the field ids of a table's earlier schemas: a column
// with the place and type of an earlier one has its id, the newest counts;
// every other has an id that was never used.
func (s Schema) Inherit(prev []Schema) Schema {
	used, ids := 0, map[string]int{}
	for _, p := range prev {
		p = p.clone()
		number(p.Columns, func(c Column, place string) int {
			ids[place+" "+c.shape()] = c.ID
			used = max(used, c.ID)
			return c.ID
		}, "")
	}
	s = s.clone()
	number(s.Columns, func(c Column, place string) int {
		if id, ok := ids[place+" "+c.shape()]; ok {
			return id
		}
		used++
		return used
	}, "")
	return s
}

// shape is what makes the values of two columns comparable.
func (c Column) shape() string {
	return fmt.Sprintf("%s(%d,%d)", c.Type, c.Precision, c.Scale)
}

// clone copies all that number changes.
func (s Schema) clone() Schema {
	s.Columns = cloneColumns(s.Columns)
	return s
}

func cloneColumns(cols []Column) []Column {
	if cols == nil {
		return nil
	}
	out := make([]Column, len(cols))
	for i, c := range cols {
		c.Fields = cloneColumns(c.Fields)
		c.Element = cloneElement(c.Element)
		out[i] = c
	}
	return out
}

func cloneElement(e *Column) *Column {
	if e == nil {
		return nil
	}
	c := *e
	c.Fields, c.Element = cloneColumns(e.Fields), cloneElement(e.Element)
	return &c
}

// checkReserved returns an error for a declared name that is one of ours.
func checkReserved(d Declared) error {
	for _, c := range d.Columns {
		if c.Source != "" {
			return fmt.Errorf("column %q: a source is not to be declared, only a path", c.Name)
		}
		if strings.HasPrefix(strings.ToLower(c.Name), ReservedPrefix) {
			return fmt.Errorf("column %q: names that begin with %s are reserved: choose another name", c.Name, ReservedPrefix)
		}
		if !d.NoExtra && strings.EqualFold(c.Name, ExtraName) {
			return fmt.Errorf("column %q: the name is that of the column for undeclared members: choose another name or set extra: off", c.Name)
		}
	}
	return nil
}
