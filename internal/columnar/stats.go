package columnar

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// Bounds of what a range record holds of a file.
const (
	maxStats     = 16 // leaf columns
	maxStatBytes = 32 // of a string
)

// statistics fills Stats and the bounds of the record time from the footer.
func statistics(f *parquet.File, to *manifest.File) error {
	for i, c := range columnsOf(f) {
		s := manifest.Stat{Column: c.ID}
		low, high, err := bounds(f, i, c, &s.Nulls)
		if err != nil {
			return fmt.Errorf("column %q: %w", c.Name, err)
		}
		if c.Name == "kafka_timestamp" && low != nil {
			from, to2 := int64(binary.LittleEndian.Uint64(low))/1000, int64(binary.LittleEndian.Uint64(high))/1000
			to.MinTime, to.MaxTime = &from, &to2
		}
		if i < maxStats {
			if low != nil {
				s.Min, s.Max = c.scalar(low, false), c.scalar(high, true)
			}
			to.Stats = append(to.Stats, s)
		}
	}
	return nil
}

// bounds returns the least and the largest value of a leaf column in all row
// groups, as the footer encodes them; nil when there are none.
func bounds(f *parquet.File, index int, c Column, nulls *int64) (low, high []byte, err error) {
	known := true
	for _, g := range f.Metadata().RowGroups {
		if index >= len(g.Columns) {
			return nil, nil, fmt.Errorf("%w: a row group lacks the column", ErrFooter)
		}
		m := &g.Columns[index].MetaData
		s := &m.Statistics
		*nulls += s.NullCount
		switch {
		case s.NullCount < 0 || s.NullCount > m.NumValues || *nulls < 0:
			return nil, nil, fmt.Errorf("%w: %d nulls among %d values", ErrFooter, s.NullCount, m.NumValues)
		case s.MinValue == nil || s.MaxValue == nil:
			known = known && s.NullCount == m.NumValues
			continue
		case c.width() > 0 && (len(s.MinValue) != c.width() || len(s.MaxValue) != c.width()):
			return nil, nil, fmt.Errorf("%w: bounds of %d and %d bytes", ErrFooter, len(s.MinValue), len(s.MaxValue))
		}
		if low == nil || c.compare(s.MinValue, low) < 0 {
			low = s.MinValue
		}
		if high == nil || c.compare(s.MaxValue, high) > 0 {
			high = s.MaxValue
		}
	}
	if !known {
		return nil, nil, nil
	}
	return low, high, nil
}

// Column describes a leaf column of a file.
type Column struct {
	ID        int    // field id
	Name      string // dotted path
	Type      manifest.Type
	Precision int // of a decimal
	Scale     int
	Repeated  bool // inside a list
	Nullable  bool

	kind parquet.Kind
}

// columnsOf returns the leaf columns in file order.
func columnsOf(f *parquet.File) []Column {
	var out []Column
	var walk func(c *parquet.Column, name string)
	walk = func(c *parquet.Column, name string) {
		if c.Leaf() {
			col := Column{
				ID: c.ID(), Name: name, Repeated: c.MaxRepetitionLevel() > 0,
				Nullable: c.MaxDefinitionLevel() > c.MaxRepetitionLevel(), kind: c.Type().Kind(),
			}
			col.settle(c.Type())
			out = append(out, col)
			return
		}
		for _, kid := range c.Columns() {
			path := kid.Name()
			if name != "" {
				path = name + "." + path
			}
			walk(kid, path)
		}
	}
	walk(f.Root(), "")
	return out
}

// settle finds the type that a column was declared with.
func (c *Column) settle(t parquet.Type) {
	switch c.kind {
	case parquet.Boolean:
		c.Type = manifest.Bool
	case parquet.Int32:
		c.Type = manifest.Int32
	case parquet.Int64:
		c.Type = manifest.Int64
	case parquet.Double:
		c.Type = manifest.Double
	default:
		c.Type = manifest.Binary
	}
	l := t.LogicalType()
	if l == nil {
		return
	}
	switch v := l.Value.(type) {
	case *format.StringType:
		c.Type = manifest.String
	case *format.JsonType:
		c.Type = manifest.JSON
	case *format.UUIDType:
		c.Type = manifest.UUID
	case *format.DateType:
		c.Type = manifest.Date
	case *format.TimestampType:
		c.Type = manifest.Timestamp
	case *format.DecimalType:
		c.Type, c.Precision, c.Scale = manifest.Decimal, int(v.Precision), int(v.Scale)
	}
}

// width is the size of an encoded value, 0 when it varies.
func (c *Column) width() int {
	switch c.kind {
	case parquet.Boolean:
		return 1
	case parquet.Int32:
		return 4
	case parquet.Int64, parquet.Double:
		return 8
	case parquet.FixedLenByteArray:
		return wideBytes
	}
	return 0
}

// compare orders two values as the footer encodes them.
func (c *Column) compare(a, b []byte) int {
	switch c.kind {
	case parquet.Int32:
		return cmp.Compare(int32(binary.LittleEndian.Uint32(a)), int32(binary.LittleEndian.Uint32(b)))
	case parquet.Int64:
		return cmp.Compare(int64(binary.LittleEndian.Uint64(a)), int64(binary.LittleEndian.Uint64(b)))
	case parquet.Double:
		return cmp.Compare(math.Float64frombits(binary.LittleEndian.Uint64(a)), math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return bytes.Compare(a, b)
}

// scalar returns a bound as JSON, or nil when it has no short one.
func (c *Column) scalar(b []byte, upper bool) json.RawMessage {
	switch c.Type {
	case manifest.String:
		return quote(cut(b, upper))
	case manifest.UUID, manifest.Decimal:
		return quote(c.append(nil, c.value(b)))
	case manifest.Binary, manifest.JSON:
		return nil
	case manifest.Double:
		v := math.Float64frombits(binary.LittleEndian.Uint64(b))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		if v == 0 {
			return json.RawMessage("0") // of both zeros
		}
	}
	return c.append(nil, c.value(b))
}

// value returns an encoded value as one of the library.
func (c *Column) value(b []byte) parquet.Value { return c.kind.Value(b) }

func quote(b []byte) json.RawMessage {
	if b == nil || !utf8.Valid(b) {
		return nil
	}
	q, err := json.Marshal(string(b))
	if err != nil {
		return nil
	}
	return q
}

// cut shortens a string that bounds others. An upper bound is rounded up, to
// the next character; nil when there is no such string.
func cut(b []byte, upper bool) []byte {
	if len(b) <= maxStatBytes {
		return b
	}
	n := maxStatBytes
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	b = b[:n]
	for upper && len(b) > 0 {
		r, size := utf8.DecodeLastRune(b)
		b = b[:len(b)-size]
		if r == utf8.MaxRune {
			continue
		}
		if r++; r == 0xD800 { // surrogates are no characters
			r = 0xE000
		}
		return utf8.AppendRune(slices.Clip(b), r)
	}
	if len(b) == 0 {
		return nil
	}
	return b
}
