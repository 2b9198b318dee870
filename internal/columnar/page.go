package columnar

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Sizes of what a writer keeps in memory for each column.
const (
	pageBytes       = 256 << 10
	dictionaryBytes = 1 << 20
)

// scratch is memory that the pages of a file use in turn, and after it those
// of other files.
type scratch struct {
	reps, defs, body, packed []byte
	header                   bytes.Buffer
	used                     []uint64 // bits of the dictionary
}

// chunk is what was written of a column in a row group.
type chunk struct {
	pages     [][]byte // with their headers
	size      int64    // of all pages
	inflated  int64    // the same, not compressed
	locations []format.PageLocation
	index     parquet.ColumnIndexer
	encodings []format.PageEncodingStats
	low, high []byte // bounds of the values; nil when there are none
	values    int64
	nulls     int64
	rows      int64
}

// closePage writes the open page, if there is anything in it.
func (l *leaf) closePage(s *scratch) error {
	o := &l.open
	if o.values == 0 {
		return nil
	}
	header := format.PageHeader{Type: format.DataPageV2}
	v2 := format.DataPageHeaderV2{NumValues: int32(o.values), NumNulls: int32(o.nulls), NumRows: int32(l.rows)}
	var err error
	if l.form.maxDef > 0 && !o.leveled {
		l.makeLevels()
	}
	if s.reps, err = encodeLevels(s.reps, o.reps, l.form.maxRep); err != nil {
		return err
	}
	if s.defs, err = encodeLevels(s.defs, o.defs, l.form.maxDef); err != nil {
		return err
	}
	body, encoding, err := l.encode(s)
	if err != nil {
		return err
	}
	v2.Encoding = encoding
	v2.RepetitionLevelsByteLength, v2.DefinitionLevelsByteLength = int32(len(s.reps)), int32(len(s.defs))
	header.DataPageHeaderV2.Set(v2)
	at := format.PageLocation{Offset: l.chunk.size, FirstRowIndex: l.chunk.rows}
	if err := l.chunk.write(&header, s, body, l.form); err != nil {
		return err
	}
	at.CompressedPageSize = int32(l.chunk.size - at.Offset)
	l.chunk.locations = append(l.chunk.locations, at)
	l.chunk.count(encoding)
	l.chunk.note(l, s)
	if l.overfull() {
		l.dict.full = true
	}
	l.restart()
	return nil
}

// encodeLevels appends levels in the hybrid of run lengths and packed bits.
func encodeLevels(dst, levels []byte, highest uint8) ([]byte, error) {
	if highest == 0 {
		return dst[:0], nil
	}
	e := rle.Encoding{BitWidth: bits.Len8(highest)}
	return e.EncodeLevels(dst[:0], levels)
}

// encode returns the values of the open page in an encoding: what they are
// already, or in the memory of s.
func (l *leaf) encode(s *scratch) (body []byte, as format.Encoding, err error) {
	o := &l.open
	switch {
	case l.inDictionary():
		s.body, err = parquet.RLEDictionary.EncodeInt32(s.body[:0], o.index)
		return s.body, format.RLEDictionary, err
	case l.form.kind.Kind() == parquet.Boolean:
		s.body = packBools(s.body[:0], o.plain)
		return s.body, format.Plain, nil
	case l.form.encoding != format.DeltaBinaryPacked:
		return o.plain, format.Plain, nil
	case l.form.width == 4:
		s.body, err = parquet.DeltaBinaryPacked.EncodeInt32(s.body[:0], numbers[int32](o.plain))
	default:
		s.body, err = parquet.DeltaBinaryPacked.EncodeInt64(s.body[:0], numbers[int64](o.plain))
	}
	return s.body, format.DeltaBinaryPacked, err
}

// numbers returns the numbers of a page.
func numbers[T int32 | int64](plain []byte) []T {
	width := int(unsafe.Sizeof(T(0)))
	all := make([]T, len(plain)/width)
	for i := range all {
		all[i] = numberAt[T](plain[i*width:])
	}
	return all
}

// packBools appends one bit for each byte, the lowest first.
func packBools(dst, bools []byte) []byte {
	for len(bools) > 0 {
		b := byte(0)
		for i, v := range bools[:min(8, len(bools))] {
			b |= v << i
		}
		dst, bools = append(dst, b), bools[min(8, len(bools)):]
	}
	return dst
}

// write compresses a body and appends a page of it, whose levels are in s.
func (c *chunk) write(h *format.PageHeader, s *scratch, body []byte, f *form) error {
	levels, full := len(s.reps)+len(s.defs), len(body)
	packed := f.codec.CompressionCodec() != format.Uncompressed
	if packed {
		var err error
		if s.packed, err = f.codec.Encode(s.packed[:0], body); err != nil {
			return fmt.Errorf("compress a page: %w", err)
		}
		body = s.packed
	}
	if h.DataPageHeaderV2.Valid {
		h.DataPageHeaderV2.V.IsCompressed = thrift.New(packed)
	}
	if full+levels > math.MaxInt32 {
		return fmt.Errorf("a page of %d bytes: the format has 31 bits for that", full+levels)
	}
	h.UncompressedPageSize, h.CompressedPageSize = int32(levels+full), int32(levels+len(body))
	crc := crc32.ChecksumIEEE(s.reps)
	crc = crc32.Update(crc, crc32.IEEETable, s.defs)
	h.CRC = int32(crc32.Update(crc, crc32.IEEETable, body))
	s.header.Reset()
	if err := thrift.NewEncoder(new(thrift.CompactProtocol).NewWriter(&s.header)).Encode(h); err != nil {
		return fmt.Errorf("encode the header of a page: %w", err)
	}
	page := slices.Concat(s.header.Bytes(), s.reps, s.defs, body)
	c.pages, c.size = append(c.pages, page), c.size+int64(len(page))
	c.inflated += int64(s.header.Len() + levels + full)
	return nil
}

// count counts a page by its encoding.
func (c *chunk) count(e format.Encoding) {
	if n := len(c.encodings); n > 0 && c.encodings[n-1].Encoding == e {
		c.encodings[n-1].Count++
		return
	}
	c.encodings = append(c.encodings, format.PageEncodingStats{PageType: format.DataPageV2, Encoding: e, Count: 1})
}

// note takes the open page, which was written, into the index and the
// statistics of the chunk.
func (c *chunk) note(l *leaf, s *scratch) {
	low, high := l.bounds(s)
	var from, to parquet.Value
	if low != nil {
		from, to = l.form.kind.Kind().Value(low), l.form.kind.Kind().Value(high)
		if c.low == nil || l.form.kind.Compare(from, l.form.kind.Kind().Value(c.low)) < 0 {
			c.low = append(make([]byte, 0, len(low)), low...)
		}
		if c.high == nil || l.form.kind.Compare(to, l.form.kind.Kind().Value(c.high)) > 0 {
			c.high = append(make([]byte, 0, len(high)), high...)
		}
	}
	c.index.IndexPage(int64(l.open.values), int64(l.open.nulls), from, to)
	c.values += int64(l.open.values)
	c.nulls += int64(l.open.nulls)
	c.rows += int64(l.rows)
}

// bounds returns the least and the largest value of the open page as PLAIN has
// them, without lengths; nil when there are none. They hold until the page is
// emptied.
func (l *leaf) bounds(s *scratch) (low, high []byte) {
	o := &l.open
	switch {
	case !l.form.bounded || o.values == o.nulls:
		return nil, nil
	case l.inDictionary():
		return l.dict.bounds(o.index, s, l.form.kind)
	case l.form.width == 0:
		return textBounds(o.plain)
	}
	switch l.form.kind.Kind() {
	case parquet.Int32:
		return numberBounds[int32](o.plain)
	case parquet.Int64:
		return numberBounds[int64](o.plain)
	case parquet.Double:
		return zeroes(numberBounds[float64](o.plain))
	}
	low, high = o.plain[:l.form.width], o.plain[:l.form.width]
	for at := l.form.width; at < len(o.plain); at += l.form.width {
		v := o.plain[at : at+l.form.width]
		if bytes.Compare(v, low) < 0 {
			low = v
		} else if bytes.Compare(v, high) > 0 {
			high = v
		}
	}
	return low, high
}

// textBounds returns the bounds of values with their lengths in front.
func textBounds(plain []byte) (low, high []byte) {
	for at := 0; at < len(plain); {
		end := at + 4 + int(binary.LittleEndian.Uint32(plain[at:]))
		v := plain[at+4 : end : end]
		switch {
		case low == nil:
			low, high = v, v
		case bytes.Compare(v, low) < 0:
			low = v
		case bytes.Compare(v, high) > 0:
			high = v
		}
		at = end
	}
	return low, high
}

// numberBounds returns the bounds of numbers in little-endian order.
func numberBounds[T int32 | int64 | float64](plain []byte) (low, high []byte) {
	width := int(unsafe.Sizeof(T(0)))
	at := func(i int) T { return numberAt[T](plain[i:]) }
	least, most := 0, 0
	from, to := at(0), at(0)
	for i := width; i < len(plain); i += width {
		v := at(i)
		if v < from {
			from, least = v, i
		}
		if v > to {
			to, most = v, i
		}
	}
	return plain[least : least+width : least+width], plain[most : most+width : most+width]
}

func numberAt[T int32 | int64 | float64](b []byte) T {
	var v T
	switch p := any(&v).(type) {
	case *int32:
		*p = int32(binary.LittleEndian.Uint32(b))
	case *int64:
		*p = int64(binary.LittleEndian.Uint64(b))
	case *float64:
		*p = math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return v
}

// zeroes widens bounds of doubles that are zero to both zeroes, as the format
// asks: -0.0 and 0.0 are equal, but not to every reader.
func zeroes(low, high []byte) ([]byte, []byte) {
	if numberAt[float64](low) == 0 {
		low = []byte{0, 0, 0, 0, 0, 0, 0, 0x80}
	}
	if numberAt[float64](high) == 0 {
		high = make([]byte, 8)
	}
	return low, high
}

// bounds returns the bounds of the values that an index uses.
func (d *dictionary) bounds(index []int32, s *scratch, kind parquet.Type) (low, high []byte) {
	s.used = append(s.used[:0], make([]uint64, (d.len()+63)/64)...)
	for _, i := range index {
		s.used[i/64] |= 1 << (i % 64)
	}
	var from, to parquet.Value
	for word, set := range s.used {
		for ; set != 0; set &= set - 1 {
			b := d.value(int32(64*word + bits.TrailingZeros64(set)))
			v := kind.Kind().Value(b)
			if low == nil || kind.Compare(v, from) < 0 {
				low, from = b, v
			}
			if high == nil || kind.Compare(v, to) > 0 {
				high, to = b, v
			}
		}
	}
	if kind.Kind() == parquet.Double {
		return zeroes(low, high)
	}
	return low, high
}
