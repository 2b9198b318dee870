package verify

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/manifest"
)

// offsets is the set of offsets of the rows of a range, over all its files: a
// bit for each, in pages.
type offsets struct{ pages map[int64]*[pageWords]uint64 }

// A page holds the bits of pageWords*64 offsets, in 8 KiB.
const pageWords = 1024

func newOffsets() *offsets { return &offsets{pages: map[int64]*[pageWords]uint64{}} }

// add reports whether an offset is new.
func (o *offsets) add(at int64) bool {
	number, bit := at/(pageWords*64), at%(pageWords*64)
	page := o.pages[number]
	if page == nil {
		page = new([pageWords]uint64)
		o.pages[number] = page
	}
	word, mask := bit/64, uint64(1)<<(bit%64)
	isNew := page[word]&mask == 0
	page[word] |= mask
	return isNew
}

// maxPerFile bounds the findings of one file: one that is wrong is often
// wrong all through.
const maxPerFile = 10

// rows reads the rows of a file.
func (c *check) rows(ctx context.Context, r manifest.RangeRecord, f manifest.File, at io.ReaderAt, seen *offsets) error {
	file, err := columnar.Open(at, f.Bytes)
	if err != nil {
		return c.unreadable(ctx, f.Key, at, err)
	}
	_, dead, err := manifest.Parse(f.Key)
	if err != nil {
		return err
	}
	column := c.ID
	if dead || !has(file, c.ID) {
		column = "" // an older schema may not have it
	}
	if !dead && f.Rows > 0 {
		c.ids.look()
	}
	several := len(r.Data)+len(r.Dead) > 1
	last, count, wrong := int64(-1), int64(0), 0
	tell := func(kind Kind, do, what string, args ...any) {
		if wrong++; wrong <= maxPerFile {
			c.report(ctx, Damage, kind, f.Key, do, what, args...)
		}
	}
	for row, err := range file.Read(column) {
		if err != nil {
			tell(BadRows, doReport, "row %d cannot be read: %v", count, err)
			break
		}
		count++
		switch {
		case row.Offset < r.Start || row.Offset >= r.Next:
			tell(BadRows, doReport, "offset %d is not in the range %s", row.Offset, r.Range)
		case row.Offset <= last && count > 1:
			tell(BadRows, doReport, "offset %d follows offset %d", row.Offset, last)
		case several && !seen.add(row.Offset):
			tell(BadRows, doReport, "offset %d is in another file of the range too", row.Offset)
		}
		last = row.Offset
		if row.Value == nil {
			continue
		}
		if other, ok := c.ids.add(row.Value, f.Key); !ok {
			tell(DuplicateID, doDuplicate, "%s %q at offset %d is in %s too", c.ID, row.Value, row.Offset, other)
		}
	}
	if wrong > maxPerFile {
		c.report(ctx, Damage, BadRows, f.Key, doReport, "and %d more rows", wrong-maxPerFile)
	}
	return nil
}

func has(f *columnar.File, column string) bool {
	for _, c := range f.Columns() {
		if c.Name == column && !c.Repeated {
			return true
		}
	}
	return false
}

// ids remembers ids and which file they are in.
type ids struct {
	column string

	mu     sync.Mutex
	looked bool // at a file with rows
	files  []string
	seen   map[xxh3.Uint128]int32 // index into files
}

func newIDs(column string) *ids {
	return &ids{column: column, seen: map[xxh3.Uint128]int32{}}
}

// add remembers an id. If it is not new, it returns the file that has it.
func (d *ids) add(id []byte, key string) (other string, isNew bool) {
	sum := xxh3.Hash128(id)
	d.mu.Lock()
	defer d.mu.Unlock()
	if i, ok := d.seen[sum]; ok {
		return d.files[i], false
	}
	if n := len(d.files); n == 0 || d.files[n-1] != key {
		d.files = append(d.files, key)
	}
	d.seen[sum] = int32(len(d.files) - 1)
	return "", true
}

// look notes that there are rows to take ids from.
func (d *ids) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looked = true
}

// missing returns an error when there are rows and none has an id: a misspelt
// column would find nothing wrong.
func (d *ids) missing() error {
	if d.column == "" || len(d.seen) > 0 || !d.looked {
		return nil
	}
	return fmt.Errorf("no row has a value in column %q: check its name", d.column)
}
