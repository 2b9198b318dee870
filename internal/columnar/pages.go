package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/lakeweir/lakeweir/internal/lz4size"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// maxPageHeader is the size that the header of a page may have. Those that
	// are written here take 30 bytes.
	maxPageHeader = 4 << 10

	// maxRatio is how many bytes one of a page may inflate to, beyond the first
	// maxSmall. A block of zstd stands for 128 KiB in four bytes
	// (RFC 8878, section 3.1.1.2); no other codec packs denser.
	maxRatio = 32 << 10
	maxSmall = 64 << 10
)

// pages checks the pages of columns in a row group so far that the library can
// read them: it makes room for what a header claims before it reads on. A
// column of -1 is none.
func (f *File) pages(group int, columns ...int) error {
	chunks := f.file.Metadata().RowGroups[group].Columns
	for _, i := range columns {
		if i < 0 {
			continue
		}
		if i >= len(chunks) {
			return fmt.Errorf("%w: a row group lacks the column %s", ErrFooter, f.columns[i].Name)
		}
		if err := f.chunk(&chunks[i].MetaData); err != nil {
			return fmt.Errorf("%s: %w", f.columns[i].Name, err)
		}
	}
	return nil
}

// chunk checks the pages of a column in a row group.
func (f *File) chunk(m *format.ColumnMetaData) error {
	at := m.DataPageOffset
	if m.DictionaryPageOffset != 0 {
		at = m.DictionaryPageOffset
	}
	end := at + m.TotalCompressedSize
	if at < 0 || m.TotalCompressedSize < 0 || end < at || end > f.file.Size() {
		return fmt.Errorf("%w: pages of %d bytes at %d in a file of %d", ErrFooter, m.TotalCompressedSize, at, f.file.Size())
	}
	buf := make([]byte, min(maxPageHeader, m.TotalCompressedSize))
	for at < end {
		b := buf[:min(int64(len(buf)), end-at)]
		if _, err := f.from.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the header of a page at %d: %w", at, err)
		}
		s := newSkim(b)
		fields := s.message()
		full, packed := fields[2], fields[3]
		rest := end - at - int64(s.at)
		if !s.ok || packed < 0 || packed > rest || full < 0 || full > maxSmall+maxRatio*packed {
			return fmt.Errorf("%w: the header of the page at %d claims %d bytes of %d, and %d inflated", ErrFooter, at, packed, rest, full)
		}
		if err := f.page(m.Codec, b[:s.at], end-rest); err != nil {
			return fmt.Errorf("the page at %d: %w", at, err)
		}
		at = end - rest + packed
	}
	return nil
}

// frameBytes is the most that the beginning of a compressed page takes that
// tells the size of it (RFC 8878, section 3.1.1.1: 18 bytes of zstd).
const frameBytes = 18

// page checks that the body of a page does not inflate to more than its header
// says, so far that it takes little time. The library believes what the body
// says, and never ends with LZ4 that is damaged.
func (f *File) page(codec format.CompressionCodec, header []byte, at int64) error {
	var h format.PageHeader
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), header, &h); err != nil {
		return fmt.Errorf("%w: its header: %w", ErrFooter, err)
	}
	size := int64(h.CompressedPageSize)
	if v2 := h.DataPageHeaderV2; v2.Valid { // its levels are in front, as they are
		levels := int64(v2.V.RepetitionLevelsByteLength) + int64(v2.V.DefinitionLevelsByteLength)
		if levels < 0 || levels > size || v2.V.RepetitionLevelsByteLength < 0 || v2.V.DefinitionLevelsByteLength < 0 {
			return fmt.Errorf("%w: levels of %d bytes in %d", ErrFooter, levels, size)
		}
		at, size = at+levels, size-levels
		if v2.V.IsCompressed.Valid && !v2.V.IsCompressed.V {
			return nil
		}
	}
	if codec != format.Lz4Raw {
		size = min(size, frameBytes)
	}
	body := make([]byte, size)
	if _, err := f.from.ReadAt(body, at); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read it: %w", err)
	}
	if told, ok := inflated(codec, body); !ok || told > uint64(h.UncompressedPageSize) {
		return fmt.Errorf("%w: its body inflates to %d bytes, or is damaged; its header says %d", ErrFooter, told, h.UncompressedPageSize)
	}
	return nil
}

// inflated returns what the body of a page says that it inflates to, 0 when it
// does not say; ok is false for LZ4 that is damaged.
func inflated(codec format.CompressionCodec, body []byte) (size uint64, ok bool) {
	switch {
	case len(body) == 0:
	case codec == format.Snappy:
		size, _ = binary.Uvarint(body)
	case codec == format.Zstd:
		var h zstd.Header
		if h.Decode(body) == nil && h.HasFCS {
			size = h.FrameContentSize
		}
	case codec == format.Lz4Raw:
		return lz4size.Of(body)
	}
	return size, true
}
