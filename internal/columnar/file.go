package columnar

import (
	"bytes"
	"fmt"

	"github.com/lakeweir/lakeweir/internal/decode"
	"github.com/parquet-go/parquet-go"
)

// step is how many rows go to the library at a time. Where a page ends depends
// on it, so it is always the same, counted from the first row of a file.
const step = 256

// file is one Parquet file that is being written to memory. The writer is made
// with the first step, and never used for a second file.
type file struct {
	layout *layout
	shred  *shredder
	body   bytes.Buffer
	writer *parquet.GenericWriter[any]
	leaves []*parquet.ColumnWriter
	rows   int64 // written

	group struct{ rows, raw int64 } // since the last row group ended
}

func newFile(f *layout) *file { return &file{layout: f, shred: newShredder(f.schema)} }

// open makes the writer.
func (f *file) open() {
	if f.writer == nil {
		f.writer = parquet.NewGenericWriter[any](&f.body, append(f.layout.options[:len(f.layout.options):len(f.layout.options)], f.layout.parquet)...)
		f.leaves = f.writer.ColumnWriters()
	}
}

// add adds a row. A reject leaves the file as it was.
func (f *file) add(r *row) (*decode.Reject, error) {
	if rej := f.shred.push(r); rej != nil {
		return rej, nil
	}
	f.group.raw += r.Raw()
	if f.shred.rows < step {
		return nil, nil
	}
	return nil, f.flush()
}

// flush writes the rows of a step, and ends the row group if it is large enough.
func (f *file) flush() error {
	rows := int64(f.shred.rows)
	if rows == 0 {
		return nil
	}
	if err := f.shred.aligned(); err != nil {
		return err
	}
	f.open()
	if len(f.leaves) != len(f.shred.leaves) {
		return fmt.Errorf("the file has %d leaf columns, the schema %d: a defect of this program", len(f.leaves), len(f.shred.leaves))
	}
	for i, w := range f.leaves {
		if _, err := w.WriteRowValues(f.shred.leaves[i].values); err != nil {
			return fmt.Errorf("leaf column %d: %w", i, err)
		}
	}
	f.shred.reset()
	f.rows += rows
	f.group.rows += rows
	if l := f.layout.schema.Layout; f.group.rows < l.GroupRows && f.group.raw < l.GroupBytes {
		return nil
	}
	f.group.rows, f.group.raw = 0, 0
	return f.writer.Flush()
}

// close writes the footer and returns the bytes.
func (f *file) close(meta []entry) ([]byte, error) {
	if err := f.flush(); err != nil {
		return nil, err
	}
	f.open()
	for _, m := range meta {
		f.writer.SetKeyValueMetadata(m.key, m.value)
	}
	if err := f.writer.Close(); err != nil {
		return nil, err
	}
	return f.body.Bytes(), nil
}
