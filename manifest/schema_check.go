package manifest

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDepth is how deep structs and lists may nest. Parquet counts levels in a
// byte, and a list takes two of them.
const maxDepth = 100

// maxName is the length of a column name in bytes that every known engine takes.
const maxName = 255

// Validate returns an error that names the column unless s can be laid out as
// a file: known types with what they need, names that are unique for engines
// that fold their case too, and unique field ids.
func (s Schema) Validate() error {
	if s.Version < 1 {
		return fmt.Errorf("schema version %d: versions begin at 1", s.Version)
	}
	if s.Value != RawValue && s.Value != JSONValue {
		return fmt.Errorf("schema: value kind %q is not known", s.Value)
	}
	if err := s.Layout.validate(); err != nil {
		return fmt.Errorf("layout: %w", err)
	}
	if len(s.Columns) == 0 {
		return errors.New("schema has no columns")
	}
	v := validator{kind: s.Value, ids: map[int]string{}, paths: map[string]string{}}
	return v.columns(s.Columns, "")
}

func (l Layout) validate() error {
	switch l.Compression {
	case Zstd:
		if l.Level < 1 || l.Level > 22 {
			return fmt.Errorf("zstd level %d is not from 1 to 22", l.Level)
		}
	case Snappy, LZ4, Uncompressed:
		if l.Level != 0 {
			return fmt.Errorf("compression %s has no level, yet it is %d", l.Compression, l.Level)
		}
	default:
		return fmt.Errorf("compression %q is not known: use zstd, snappy, lz4 or none", l.Compression)
	}
	if l.GroupRows < 1 || l.GroupBytes < 1 {
		return fmt.Errorf("row groups of %d rows or %d bytes: both must be positive", l.GroupRows, l.GroupBytes)
	}
	return nil
}

// validator walks a schema and remembers what it has seen.
type validator struct {
	kind  ValueKind
	ids   map[int]string    // field id to column
	paths map[string]string // dotted path in lower case to column
	depth int
}

func (v *validator) columns(cols []Column, parent string) error {
	for _, c := range cols {
		name := c.Name
		if parent != "" {
			name = parent + "." + c.Name
		}
		if err := checkName(c.Name); err != nil {
			return fmt.Errorf("column %q: %w", name, err)
		}
		if err := v.unique(name); err != nil {
			return err
		}
		if err := v.source(c, parent); err != nil {
			return fmt.Errorf("column %q: %w", name, err)
		}
		if err := v.column(c, name); err != nil {
			return err
		}
	}
	return nil
}

// unique checks a dotted path, by which readers know a column: "a.b" beside a
// struct a with a field b would be the same column twice.
func (v *validator) unique(name string) error {
	low := strings.ToLower(name)
	if other, ok := v.paths[low]; ok {
		return fmt.Errorf("column %q: its name is that of column %q to engines that ignore case or join names by dots", name, other)
	}
	v.paths[low] = name
	return nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("has no name")
	case len(name) > maxName:
		return fmt.Errorf("the name has more than %d bytes", maxName)
	case !utf8.ValidString(name):
		return errors.New("the name is not UTF-8")
	case strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("the name has control characters")
	}
	return nil
}

// source checks where the values of a named column come from.
func (v *validator) source(c Column, parent string) error {
	if c.Source != "" {
		want, ok := sourceTypes[c.Source]
		switch {
		case !ok:
			return fmt.Errorf("source %q is not known", c.Source)
		case parent != "":
			return errors.New("a field of a struct cannot have a source")
		case c.Type != want:
			return fmt.Errorf("source %s has type %s, not %s", c.Source, want, c.Type)
		case len(c.Path) > 0:
			return errors.New("has a source and a path")
		}
		return nil
	}
	if v.kind == JSONValue && len(c.Path) == 0 && !v.inHeaders(parent) {
		return errors.New("has no path")
	}
	if v.kind == RawValue && !v.inHeaders(parent) {
		return errors.New("raw values have no members")
	}
	return nil
}

// inHeaders reports whether parent is the list of headers, whose fields are ours.
func (v *validator) inHeaders(parent string) bool {
	return strings.HasPrefix(parent, ReservedPrefix)
}

var sourceTypes = map[Source]Type{
	FromPartition: Int32, FromOffset: Int64, FromTimestamp: Timestamp, FromTimestampType: String,
	FromKey: Binary, FromHeaders: List, FromTombstone: Bool, FromValue: Binary, FromExtra: JSON,
	FromTopic: String, FromReason: String, FromDetail: String,
}

// column checks a column or an element, which has no name of its own.
func (v *validator) column(c Column, name string) error {
	if c.ID < 1 {
		return fmt.Errorf("column %q: field id %d: ids begin at 1", name, c.ID)
	}
	if other, ok := v.ids[c.ID]; ok {
		return fmt.Errorf("column %q: field id %d is that of column %q", name, c.ID, other)
	}
	v.ids[c.ID] = name
	if err := c.checkType(); err != nil {
		return fmt.Errorf("column %q: %w", name, err)
	}
	if v.depth++; v.depth > maxDepth {
		return fmt.Errorf("column %.100q...: structs and lists nest deeper than %d levels", name, maxDepth)
	}
	defer func() { v.depth-- }()
	switch c.Type {
	case Struct:
		return v.columns(c.Fields, name)
	case List:
		e := *c.Element
		if e.Name != "" || len(e.Path) > 0 || e.Source != "" {
			return fmt.Errorf("column %q: the element of a list has no name, path or source", name)
		}
		name += ".list.element" // as files spell it
		if err := v.unique(name); err != nil {
			return err
		}
		return v.column(e, name)
	}
	return nil
}

// checkType checks that a column says what its type needs and nothing else.
func (c Column) checkType() error {
	switch c.Type {
	case Bool, Int32, Int64, Double, String, Binary, Timestamp, Date, Decimal, UUID, JSON, List, Struct:
	case "":
		return errors.New("has no type")
	default:
		return fmt.Errorf("type %q is not known", c.Type)
	}
	switch {
	case c.Type == Struct && len(c.Fields) == 0:
		return errors.New("a struct needs fields")
	case c.Type != Struct && len(c.Fields) > 0:
		return fmt.Errorf("type %s has no fields", c.Type)
	case c.Type == List && c.Element == nil:
		return errors.New("a list needs an element")
	case c.Type != List && c.Element != nil:
		return fmt.Errorf("type %s has no element", c.Type)
	case c.Type != Timestamp && c.Unit != "":
		return fmt.Errorf("type %s has no unit", c.Type)
	case c.Type != Decimal && (c.Precision != 0 || c.Scale != 0):
		return fmt.Errorf("type %s has no precision or scale", c.Type)
	case c.Type == Decimal && (c.Precision < 1 || c.Precision > 38):
		return fmt.Errorf("decimal precision %d is not from 1 to 38", c.Precision)
	case c.Type == Decimal && (c.Scale < 0 || c.Scale > c.Precision):
		return fmt.Errorf("decimal scale %d is not from 0 to the precision, %d", c.Scale, c.Precision)
	}
	switch c.Unit {
	case "", Seconds, Milliseconds, Microseconds, Nanoseconds:
	default:
		return fmt.Errorf("unit %q is not known: use s, ms, us or ns", c.Unit)
	}
	return c.checkEncoding()
}

func (c Column) checkEncoding() error {
	switch c.Encoding {
	case Plain:
		return nil
	case Dictionary:
		if c.Type == Bool || c.Type == List || c.Type == Struct {
			return fmt.Errorf("type %s takes no dictionary", c.Type)
		}
		return nil
	case Delta:
		switch c.Type {
		case Int32, Int64, Timestamp, Date:
			return nil
		}
		return fmt.Errorf("encoding delta is for int32, int64, timestamp and date, not for %s", c.Type)
	}
	return fmt.Errorf("encoding %q is not known: use dictionary, delta or none", c.Encoding)
}
