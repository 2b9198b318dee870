package columnar

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// group is a row group that was written.
type group struct {
	meta    format.RowGroup
	columns []format.ColumnIndex
	offsets []format.OffsetIndex
}

// closeGroup writes the row group of what the leaves hold, if they hold rows.
func (f *file) closeGroup() error {
	if f.group.rows == 0 {
		return nil
	}
	size := int64(0)
	for i := range f.shred.leaves {
		l := &f.shred.leaves[i]
		if err := l.closePage(f.scratch); err != nil {
			return fmt.Errorf("leaf column %d: %w", i, err)
		}
		size += l.chunk.size
		if l.dict != nil {
			size += int64(l.dict.size())
		}
	}
	f.begin()
	f.body = slices.Grow(f.body, int(size)+footerBytes)
	g := group{meta: format.RowGroup{NumRows: f.group.rows, FileOffset: int64(len(f.body)), Ordinal: int16(len(f.groups))}}
	for i := range f.shred.leaves {
		l := &f.shred.leaves[i]
		meta, offsets, err := f.closeChunk(l)
		if err != nil {
			return fmt.Errorf("leaf column %d: %w", i, err)
		}
		g.meta.Columns = append(g.meta.Columns, format.ColumnChunk{MetaData: meta})
		g.meta.TotalByteSize += meta.TotalUncompressedSize
		g.meta.TotalCompressedSize += meta.TotalCompressedSize
		g.columns = append(g.columns, indexOf(l.chunk.index))
		g.offsets = append(g.offsets, offsets)
		l.nextChunk()
	}
	f.groups = append(f.groups, g)
	f.group.rows, f.group.raw = 0, 0
	return nil
}

// footerBytes is room for a footer of a file of usual size, so that the body
// is not copied to make room.
const footerBytes = 32 << 10

// indexOf returns the index of pages, which the indexer uses again.
func indexOf(i parquet.ColumnIndexer) format.ColumnIndex {
	x := i.ColumnIndex()
	x.NullPages, x.NullCounts = slices.Clone(x.NullPages), slices.Clone(x.NullCounts)
	x.MinValues, x.MaxValues = cloneAll(x.MinValues), cloneAll(x.MaxValues)
	return x
}

func cloneAll(values [][]byte) [][]byte {
	values = slices.Clone(values)
	for i, v := range values {
		values[i] = append([]byte{}, v...)
	}
	return values
}

// closeChunk appends the pages of a column to the file.
func (f *file) closeChunk(l *leaf) (m format.ColumnMetaData, offsets format.OffsetIndex, err error) {
	c := &l.chunk
	m = format.ColumnMetaData{
		Type: format.Type(l.form.kind.Kind()), PathInSchema: l.form.path, Codec: l.form.codec.CompressionCodec(),
		NumValues: c.values, TotalUncompressedSize: c.inflated,
		Statistics: format.Statistics{NullCount: c.nulls, MinValue: c.low, MaxValue: c.high},
	}
	start := len(f.body)
	if l.dict != nil {
		m.DictionaryPageOffset = int64(start)
		if err := f.dictionaryPage(l, &m); err != nil {
			return m, offsets, err
		}
	}
	m.DataPageOffset = int64(len(f.body))
	for _, page := range c.pages {
		f.body = append(f.body, page...)
	}
	m.TotalCompressedSize = int64(len(f.body) - start)
	m.EncodingStats = append(m.EncodingStats, c.encodings...)
	m.Encoding = append(m.Encoding, format.RLE) // of levels
	for _, s := range m.EncodingStats {
		if !slices.Contains(m.Encoding, s.Encoding) {
			m.Encoding = append(m.Encoding, s.Encoding)
		}
	}
	for _, p := range c.locations {
		p.Offset += m.DataPageOffset
		offsets.PageLocations = append(offsets.PageLocations, p)
	}
	return m, offsets, nil
}

// dictionaryPage appends the page that the others of a column need.
func (f *file) dictionaryPage(l *leaf, m *format.ColumnMetaData) error {
	h := format.PageHeader{Type: format.DictionaryPage}
	h.DictionaryPageHeader.Set(format.DictionaryPageHeader{NumValues: int32(l.dict.len()), Encoding: format.Plain})
	s := f.scratch
	s.reps, s.defs = s.reps[:0], s.defs[:0]
	var c chunk
	if err := c.write(&h, s, l.dict.plain, l.form); err != nil {
		return err
	}
	f.body = append(f.body, c.pages[0]...)
	m.TotalUncompressedSize += c.inflated
	m.EncodingStats = append(m.EncodingStats, format.PageEncodingStats{PageType: format.DictionaryPage, Encoding: format.Plain, Count: 1})
	return nil
}

// nextChunk empties the column for the next row group.
func (l *leaf) nextChunk() {
	if l.dict != nil {
		l.dict.reset()
	}
	l.chunk.index.Reset()
	clear(l.chunk.pages)
	l.chunk = chunk{pages: l.chunk.pages[:0], locations: l.chunk.locations[:0], encodings: l.chunk.encodings[:0], index: l.chunk.index}
}

// begin writes what a file begins with.
func (f *file) begin() {
	if len(f.body) == 0 {
		f.body = append(f.body, magic...)
	}
}

// footer appends the index of pages and what the file says of itself.
func (f *file) footer(meta []entry) error {
	f.begin()
	for i := range f.groups {
		g := &f.groups[i]
		for k := range g.columns {
			n, err := f.message(&g.columns[k])
			if err != nil {
				return err
			}
			g.meta.Columns[k].ColumnIndexOffset, g.meta.Columns[k].ColumnIndexLength = int64(len(f.body)-n), int32(n)
		}
	}
	all := f.layout.empty // schema, order of the columns, who wrote it
	for i := range f.groups {
		g := &f.groups[i]
		for k := range g.offsets {
			n, err := f.message(&g.offsets[k])
			if err != nil {
				return err
			}
			g.meta.Columns[k].OffsetIndexOffset, g.meta.Columns[k].OffsetIndexLength = int64(len(f.body)-n), int32(n)
		}
		all.RowGroups = append(all.RowGroups, g.meta)
		all.NumRows += g.meta.NumRows
	}
	for _, m := range meta {
		all.KeyValueMetadata = append(all.KeyValueMetadata, format.KeyValue{Key: m.key, Value: m.value})
	}
	n, err := f.message(&all)
	if err != nil {
		return err
	}
	f.body = binary.LittleEndian.AppendUint32(f.body, uint32(n))
	f.body = append(f.body, magic...)
	return nil
}

// message appends a part of the footer, and returns its size.
func (f *file) message(m any) (int, error) {
	var b bytes.Buffer
	if err := thrift.NewEncoder(new(thrift.CompactProtocol).NewWriter(&b)).Encode(m); err != nil {
		return 0, fmt.Errorf("encode the footer: %w", err)
	}
	f.body = append(f.body, b.Bytes()...)
	return b.Len(), nil
}
