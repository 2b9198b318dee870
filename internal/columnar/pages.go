package columnar

import (
	"errors"
	"fmt"
	"io"

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
		at = end - rest + packed
	}
	return nil
}
