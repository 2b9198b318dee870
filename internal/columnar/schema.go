package columnar

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/lz4"
	"github.com/parquet-go/parquet-go/compress/snappy"
	pqzstd "github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"

	"github.com/klauspost/compress/zstd"
)

// layout is a schema as the library wants it. It is read-only and shared.
type layout struct {
	schema  manifest.Schema
	parquet *parquet.Schema
	forms   []*form             // of the leaf columns
	empty   format.FileMetaData // of a file without rows

	unbounded map[string]bool // paths of columns without bounds, dotted
}

// newLayout translates a schema that is valid.
func newLayout(s manifest.Schema) (*layout, error) {
	codec, err := codecOf(s.Layout)
	if err != nil {
		return nil, err
	}
	l := &layout{schema: s, unbounded: map[string]bool{}}
	l.parquet = parquet.NewSchema("lakeweir", l.group(s.Columns, nil, false))
	if l.empty, err = emptyFile(l.parquet); err != nil {
		return nil, err
	}
	for _, path := range l.parquet.Columns() {
		column, _ := l.parquet.Lookup(path...)
		l.forms = append(l.forms, l.form(column, codec))
	}
	return l, nil
}

// emptyFile returns the footer of a file without rows, as the library writes it.
func emptyFile(s *parquet.Schema) (meta format.FileMetaData, err error) {
	var body bytes.Buffer
	// The author is a constant: the version of a library in it would make equal
	// rows other bytes, and the next attempt, after every upgrade.
	w := parquet.NewGenericWriter[any](&body, s, parquet.CreatedBy("lakeweir", "1", "parquet"))
	if err := w.Close(); err != nil {
		return meta, fmt.Errorf("write a file without rows: %w", err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(body.Bytes()), int64(body.Len()))
	if err != nil {
		return meta, fmt.Errorf("read a file without rows: %w", err)
	}
	return *f.Metadata(), nil
}

// form returns what is fixed of a leaf column.
func (l *layout) form(c parquet.LeafColumn, codec compress.Codec) *form {
	f := &form{
		path: c.Path, kind: c.Node.Type(), encoding: format.Plain, codec: codec,
		maxRep: uint8(c.MaxRepetitionLevel), maxDef: uint8(c.MaxDefinitionLevel),
		bounded:   !l.unbounded[strings.Join(c.Path, ".")],
		pageBytes: pageBytes, dictionaryBytes: dictionaryBytes,
	}
	switch f.kind.Kind() {
	case parquet.Boolean:
		f.width = 1
	case parquet.Int32:
		f.width = 4
	case parquet.Int64, parquet.Double:
		f.width = 8
	case parquet.FixedLenByteArray:
		f.width = f.kind.Length()
	}
	if e := c.Node.Encoding(); e != nil {
		f.encoding = e.Encoding()
	}
	if own := c.Node.Compression(); own != nil {
		f.codec = own
	}
	return f
}

func codecOf(l manifest.Layout) (compress.Codec, error) {
	switch l.Compression {
	case manifest.Zstd:
		return &pqzstd.Codec{Level: zstd.EncoderLevelFromZstd(l.Level)}, nil
	case manifest.Snappy:
		return &snappy.Codec{}, nil
	case manifest.LZ4:
		return &lz4.Codec{Level: lz4.Fastest}, nil
	case manifest.Uncompressed:
		return &parquet.Uncompressed, nil
	}
	return nil, fmt.Errorf("compression %q is not known", l.Compression)
}

// orderedGroup keeps the order of the columns: a parquet.Group sorts them.
type orderedGroup struct {
	parquet.Group
	fields []parquet.Field
}

// Fields is a method of parquet.Node.
func (g *orderedGroup) Fields() []parquet.Field { return g.fields }

// group returns the node of columns; exact says that a column is required in
// the file where the schema says so.
func (l *layout) group(cols []manifest.Column, path []string, exact bool) parquet.Node {
	g := &orderedGroup{Group: parquet.Group{}}
	for _, c := range cols {
		g.Group[c.Name] = l.node(c, append(path[:len(path):len(path)], c.Name), exact)
	}
	byName := map[string]parquet.Field{}
	for _, field := range g.Group.Fields() {
		byName[field.Name()] = field
	}
	for _, c := range cols {
		g.fields = append(g.fields, byName[c.Name])
	}
	return g
}

// node returns the node of one column or element.
func (l *layout) node(c manifest.Column, path []string, exact bool) parquet.Node {
	exact = exact || c.Source != ""
	var n parquet.Node
	switch c.Type {
	case manifest.Struct:
		n = l.group(c.Fields, path, exact)
	case manifest.List:
		n = parquet.List(l.node(*c.Element, append(path, "list", "element"), exact))
	default:
		n = l.leaf(c, path)
	}
	if optional(c, exact) {
		n = parquet.Optional(n)
	}
	return parquet.FieldID(n, c.ID)
}

// optional reports whether a column can be null in a file. One that is
// declared always can: a tombstone has no values, whatever is required.
func optional(c manifest.Column, exact bool) bool { return !exact || !c.Required }

func (l *layout) leaf(c manifest.Column, path []string) parquet.Node {
	n := leafOf(c)
	switch c.Encoding {
	case manifest.Dictionary:
		n = parquet.Encoded(n, &parquet.RLEDictionary)
	case manifest.Delta:
		n = parquet.Encoded(n, encoding.Encoding(&parquet.DeltaBinaryPacked))
	}
	if c.Type == manifest.UUID {
		n = parquet.Compressed(n, &parquet.Uncompressed) // random bytes
	}
	if !bounded(c) {
		l.unbounded[strings.Join(path, ".")] = true
	}
	return n
}

// bounded reports whether a column has minimum and maximum in its file. Bytes
// and JSON are whole values in a footer and of no use to a reader, and the
// library compares wide decimals as if they had no sign.
func bounded(c manifest.Column) bool {
	switch c.Type {
	case manifest.Binary, manifest.JSON:
		return false
	case manifest.Decimal:
		return c.Precision <= maxNarrow
	}
	return true
}

// maxNarrow is the number of decimal digits that any int64 has room for, and
// maxTiny the same of int32.
const (
	maxNarrow = 18
	maxTiny   = 9
)

// wideBytes is the size of a decimal above maxNarrow, and of a UUID.
const wideBytes = 16

func leafOf(c manifest.Column) parquet.Node {
	switch c.Type {
	case manifest.Bool:
		return parquet.Leaf(parquet.BooleanType)
	case manifest.Int32:
		return parquet.Int(32)
	case manifest.Int64:
		return parquet.Int(64)
	case manifest.Double:
		return parquet.Leaf(parquet.DoubleType)
	case manifest.String:
		return parquet.String()
	case manifest.Timestamp:
		return parquet.Timestamp(parquet.Microsecond)
	case manifest.Date:
		return parquet.Date()
	case manifest.UUID:
		return parquet.UUID()
	case manifest.JSON:
		return parquet.JSON()
	case manifest.Decimal:
		switch {
		case c.Precision <= maxTiny:
			return parquet.Decimal(c.Scale, c.Precision, parquet.Int32Type)
		case c.Precision <= maxNarrow:
			return parquet.Decimal(c.Scale, c.Precision, parquet.Int64Type)
		}
		return parquet.Decimal(c.Scale, c.Precision, parquet.FixedLenByteArrayType(wideBytes))
	}
	return parquet.Leaf(parquet.ByteArrayType)
}
