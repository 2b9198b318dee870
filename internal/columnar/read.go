package columnar

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/big"
	"slices"
	"strconv"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/parquet-go/parquet-go"
)

// File is a Parquet file that is open for reading.
type File struct {
	file    *parquet.File
	from    io.ReaderAt
	columns []Column
}

// Open opens a file. It reads the footer only.
func Open(r io.ReaderAt, size int64) (file *File, err error) {
	defer rescue(&err)
	f, err := open(r, size)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	return &File{file: f, from: r, columns: columnsOf(f)}, nil
}

// Columns returns the leaf columns in file order.
func (f *File) Columns() []Column { return f.columns }

// Rows returns the number of rows.
func (f *File) Rows() int64 { return f.file.NumRows() }

// Row is the place of a row and the value of one of its columns.
type Row struct {
	Offset int64
	Value  []byte // in text, see Read; nil is null. It is good until the next row
}

// Read yields the offset of every row and the value of a column, which is a
// leaf and not inside a list; "" yields offsets only. No other column is read.
//
// Values are in one form: bytes and strings as they are, numbers in decimal,
// timestamps in microseconds, dates in days, UUIDs and decimals as text. The
// first error ends it.
func (f *File) Read(column string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		offset, err := f.find("kafka_offset")
		value := -1
		if err == nil && column != "" {
			value, err = f.find(column)
		}
		more := err == nil
		for i, g := range f.file.RowGroups() {
			if !more {
				break
			}
			if err = f.pages(i, offset, value); err != nil {
				break
			}
			err = f.group(g, offset, value, func(r Row) bool {
				more = yield(r, nil)
				return more
			})
			more = more && err == nil
		}
		if err != nil {
			yield(Row{}, fmt.Errorf("read rows: %w", err))
		}
	}
}

// find returns the index of a leaf column by its dotted path.
func (f *File) find(name string) (int, error) {
	for i, c := range f.columns {
		if c.Name != name {
			continue
		}
		if c.Repeated {
			return 0, fmt.Errorf("column %q is inside a list", name)
		}
		return i, nil
	}
	return 0, fmt.Errorf("the file has no leaf column %q", name)
}

// group yields the rows of a row group until yield returns false.
func (f *File) group(g parquet.RowGroup, offset, value int, yield func(Row) bool) error {
	offsets, err := newReader(g, offset)
	if err != nil {
		return err
	}
	defer offsets.close()
	var values *reader
	if value >= 0 {
		if values, err = newReader(g, value); err != nil {
			return err
		}
		defer values.close()
	}
	var buf []byte
	for range g.NumRows() {
		at, err := offsets.next()
		if err != nil {
			return fmt.Errorf("kafka_offset: %w", err)
		}
		r := Row{Offset: at.Int64()}
		if value >= 0 {
			v, err := values.next()
			if err != nil {
				return fmt.Errorf("%s: %w", f.columns[value].Name, err)
			}
			if !v.IsNull() {
				buf = f.columns[value].append(slices.Grow(buf[:0], 1), v) // not nil
				r.Value = buf[:len(buf):len(buf)]
			}
		}
		if !yield(r) {
			return nil
		}
	}
	return nil
}

// readValues is how many values are taken from the library at a time.
const readValues = 256

// reader goes through the values of a column chunk. A value is good until the next.
type reader struct {
	values parquet.ColumnChunkValueReader
	buf    [readValues]parquet.Value
	i, n   int
}

func newReader(g parquet.RowGroup, column int) (r *reader, err error) {
	defer rescue(&err)
	return &reader{values: parquet.NewColumnChunkValueReader(g.ColumnChunks()[column])}, nil
}

func (r *reader) close() { _ = r.values.Close() } // it was only read

func (r *reader) next() (parquet.Value, error) {
	if r.i == r.n {
		if err := r.fill(); err != nil {
			return parquet.Value{}, err
		}
	}
	r.i++
	return r.buf[r.i-1], nil
}

// fill takes at least one value. The library panics on some damaged pages.
func (r *reader) fill() (err error) {
	defer rescue(&err)
	r.i, r.n = 0, 0
	for r.n == 0 && err == nil {
		r.n, err = r.values.ReadValues(r.buf[:])
	}
	switch {
	case r.n > 0:
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: fewer values than rows", ErrFooter)
	}
	return err
}

// append appends the one text of a value.
func (c *Column) append(dst []byte, v parquet.Value) []byte {
	switch c.Type {
	case manifest.Bool:
		return strconv.AppendBool(dst, v.Boolean())
	case manifest.Int32, manifest.Date:
		return strconv.AppendInt(dst, int64(v.Int32()), 10)
	case manifest.Int64, manifest.Timestamp:
		return strconv.AppendInt(dst, v.Int64(), 10)
	case manifest.Double:
		return strconv.AppendFloat(dst, v.Double(), 'g', -1, 64)
	case manifest.UUID:
		return appendUUID(dst, v.ByteArray())
	case manifest.Decimal:
		return c.appendDecimal(dst, v)
	}
	return append(dst, v.ByteArray()...)
}

func appendUUID(dst, b []byte) []byte {
	if len(b) != wideBytes {
		return hex.AppendEncode(dst, b)
	}
	for i, n := range [...]int{4, 6, 8, 10, 16} {
		from := [...]int{0, 4, 6, 8, 10}[i]
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, b[from:n])
	}
	return dst
}

// appendDecimal appends a decimal with all digits of its scale.
func (c *Column) appendDecimal(dst []byte, v parquet.Value) []byte {
	var x big.Int
	switch c.kind {
	case parquet.Int32:
		x.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		x.SetInt64(v.Int64())
	default:
		b := v.ByteArray()
		x.SetBytes(b)
		if len(b) > 0 && b[0]&0x80 != 0 {
			x.Sub(&x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	if x.Sign() < 0 {
		dst = append(dst, '-')
		x.Neg(&x)
	}
	digits := x.Append(nil, 10)
	for len(digits) <= c.Scale {
		digits = append([]byte{'0'}, digits...)
	}
	whole := len(digits) - c.Scale
	dst = append(dst, digits[:whole]...)
	if c.Scale > 0 {
		dst = append(append(dst, '.'), digits[whole:]...)
	}
	return dst
}
