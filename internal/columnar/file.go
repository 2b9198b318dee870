package columnar

import (
	"fmt"
	"sync"

	"github.com/lakeweir/lakeweir/internal/decode"
)

// step is how many rows are looked at together: only behind a step does a page
// or a row group end, counted from the first row of a file, so that the bytes do
// not depend on how the log groups records.
const step = 256

// file is one Parquet file that is being written to memory.
type file struct {
	layout  *layout
	shred   *shredder
	scratch *scratch
	body    []byte
	rows    int64 // written
	groups  []group

	group struct{ rows, raw int64 } // since the last row group ended
}

func newFile(l *layout) *file {
	f := &file{layout: l, shred: newShredder(l), scratch: scratches.Get().(*scratch)}
	for i := range f.shred.leaves {
		l := &f.shred.leaves[i]
		l.open = *contents.Get().(*content)
		l.restart()
	}
	return f
}

// Memory of open pages and for the making of pages goes from file to file: it
// costs as much to clear and to collect as to fill.
var (
	scratches = sync.Pool{New: func() any { return new(scratch) }}
	contents  = sync.Pool{New: func() any { return new(content) }}
)

// keptBytes is the most of a page's memory that is kept: one with a huge value
// goes back to the system.
const keptBytes = 2 * pageBytes

// release gives the memory of pages to other files.
func (f *file) release() {
	for i := range f.shred.leaves {
		l := &f.shred.leaves[i]
		l.restart()
		if cap(l.open.plain) <= keptBytes {
			open := l.open
			contents.Put(&open)
		}
		l.open = content{}
	}
	if cap(f.scratch.packed) <= keptBytes && cap(f.scratch.body) <= keptBytes {
		scratches.Put(f.scratch)
	}
	f.scratch = nil
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

// flush ends a step, and the row group if it is large enough.
func (f *file) flush() error {
	rows := f.shred.rows
	if rows == 0 {
		return nil
	}
	if err := f.shred.aligned(); err != nil {
		return err
	}
	for i := range f.shred.leaves {
		if err := f.shred.leaves[i].step(rows, f.scratch); err != nil {
			return fmt.Errorf("leaf column %d: %w", i, err)
		}
	}
	f.shred.reset()
	f.rows += int64(rows)
	f.group.rows += int64(rows)
	if l := f.layout.schema.Layout; f.group.rows < l.GroupRows && f.group.raw < l.GroupBytes {
		return nil
	}
	return f.closeGroup()
}

// close writes the footer and returns the bytes.
func (f *file) close(meta []entry) ([]byte, error) {
	if err := f.flush(); err != nil {
		return nil, err
	}
	if err := f.closeGroup(); err != nil {
		return nil, err
	}
	if err := f.footer(meta); err != nil {
		return nil, err
	}
	f.release()
	return f.body, nil
}
