package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
)

// rangeFiles checks the files of one range.
func (c *check) rangeFiles(ctx context.Context, h manifest.Head, r manifest.RangeRecord) error {
	var digest string
	seen := newOffsets()
	for _, files := range [][]manifest.File{r.Data, r.Dead} {
		for _, f := range files {
			d, err := c.file(ctx, h, r, f, seen)
			if err != nil {
				return err
			}
			switch {
			case d == nil:
			case digest == "":
				digest = d.Digest
			case digest != d.Digest:
				c.report(ctx, Damage, BadFooter, f.Key, doReport, "its records are not those of the other files of range %s", r.Range)
			}
		}
	}
	return nil
}

// file checks one file and returns what its footer says, nil if that is not
// known.
func (c *check) file(ctx context.Context, h manifest.Head, r manifest.RangeRecord, f manifest.File, seen *offsets) (*manifest.Description, error) {
	defer c.progress()
	c.mark(f.Key)
	info, err := c.s.Stat(ctx, f.Key)
	if errors.Is(err, store.ErrNotExist) {
		if still, err := c.names(ctx, h, f.Key); err != nil || !still {
			return nil, err
		}
		c.report(ctx, Damage, MissingFile, f.Key, doRestore, "is not there, but the head of partition %d names it for range %s (%d rows)", h.ID, r.Range, f.Rows)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", f.Key, err)
	}
	if info.Size != f.Bytes {
		c.report(ctx, Damage, BadSize, f.Key, doRestore, "has %d bytes, %d were published", info.Size, f.Bytes)
		return nil, nil
	}
	return c.content(ctx, h, r, f, info, seen)
}

// content checks the bytes of a file of the right size.
func (c *check) content(ctx context.Context, h manifest.Head, r manifest.RangeRecord, f manifest.File, info store.Info, seen *offsets) (*manifest.Description, error) {
	var at io.ReaderAt = &remote{ctx: ctx, s: c.s, key: f.Key, size: f.Bytes}
	sum := info.SHA256
	if c.Deep || sum == nil {
		held := min(f.Bytes, bodyBytes)
		if err := c.memory.Acquire(ctx, held); err != nil {
			return nil, err
		}
		defer c.memory.Release(held)
		o, err := c.s.Get(ctx, f.Key, store.Span{})
		if errors.Is(err, store.ErrDamaged) {
			c.report(ctx, Damage, BadHash, f.Key, doRestore, "%v", err)
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Key, err)
		}
		of := sha256.Sum256(o.Body)
		at, sum = bytes.NewReader(o.Body), &of
	}
	if *sum != f.SHA256 {
		c.report(ctx, Damage, BadHash, f.Key, doRestore, "its SHA-256 is %x, %s was published", *sum, f.SHA256)
		return nil, nil
	}
	d, err := columnar.ReadFooter(at, f.Bytes)
	if err != nil {
		return nil, c.unreadable(ctx, f.Key, at, err)
	}
	if what := c.differs(h, r, f, d); what != "" {
		c.report(ctx, Damage, BadFooter, f.Key, doReport, "%s", what)
		return nil, nil
	}
	if c.Deep {
		err = c.rows(ctx, r, f, at, seen)
	}
	return &d, err
}

// unreadable tells a file that is no file of ours from a store that fails.
func (c *check) unreadable(ctx context.Context, key string, at io.ReaderAt, err error) error {
	if r, ok := at.(*remote); ok && r.failed != nil {
		return fmt.Errorf("read %s: %w", key, r.failed)
	}
	c.report(ctx, Damage, BadFooter, key, doReport, "%v", err)
	return nil
}

// differs returns what the footer of a file says otherwise than its range
// record, or "".
func (c *check) differs(h manifest.Head, r manifest.RangeRecord, f manifest.File, d manifest.Description) string {
	want := manifest.Partition{ID: h.ID, Generation: r.Generation}
	switch {
	case d.Table != h.Table:
		return fmt.Sprintf("its footer says table %q, the head %q", d.Table, h.Table)
	case d.Partition != want:
		return fmt.Sprintf("its footer says partition %d of generation %d, the head %d of %d", d.Partition.ID, d.Partition.Generation, want.ID, want.Generation)
	case d.Range != r.Range || d.Attempt != r.Attempt:
		return fmt.Sprintf("its footer says range %s attempt %d, the head %s attempt %d", d.Range, d.Attempt, r.Range, r.Attempt)
	case d.Schema != r.Schema:
		return fmt.Sprintf("its footer says schema %d, the head %d", d.Schema, r.Schema)
	case d.Counts != r.Counts:
		return fmt.Sprintf("its footer accounts for %s, the head for %s", countsText(d.Counts), countsText(r.Counts))
	case d.File.Rows != f.Rows:
		return fmt.Sprintf("has %d rows, %d were published", d.File.Rows, f.Rows)
	case !same(d.File.MinTime, f.MinTime) || !same(d.File.MaxTime, f.MaxTime):
		return "the timestamps of its rows have other bounds than were published"
	}
	return ""
}

func same(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

func countsText(c manifest.Counts) string {
	return fmt.Sprintf("%d rows, %d duplicates, %d dead, %d filtered, %d absent, %d lost", c.Rows, c.Duplicates, c.Dead, c.Filtered, c.Absent, c.Lost)
}

// mark notes that a head names a file.
func (c *check) mark(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.files[key]; ok {
		c.files[key] = true
	}
}

func (c *check) progress() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	if c.Progress != nil {
		c.Progress(c.done, max(c.done, int64(len(c.files))))
	}
}

// tailBytes is how much of the end of a file is read at once: nearly every
// footer fits.
const tailBytes = 64 << 10

// remote reads an object in parts. It is used by one goroutine.
type remote struct {
	ctx    context.Context
	s      store.Store
	key    string
	size   int64
	tail   []byte
	failed error // of the store
}

// ReadAt is io.ReaderAt.
func (r *remote) ReadAt(p []byte, off int64) (int, error) {
	if r.tail == nil {
		body, err := r.get(store.Span{Offset: max(r.size-tailBytes, 0)})
		if err != nil {
			return 0, err
		}
		r.tail = body
	}
	from := r.size - int64(len(r.tail))
	body := r.tail
	switch {
	case off < 0 || off > r.size:
		return 0, fmt.Errorf("read at %d of %d bytes", off, r.size)
	case off >= from:
		body = body[off-from:]
	case len(p) > 0:
		var err error
		if body, err = r.get(store.Span{Offset: off, Length: int64(len(p))}); err != nil {
			return 0, err
		}
	}
	n := copy(p, body)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (r *remote) get(span store.Span) ([]byte, error) {
	o, err := r.s.Get(r.ctx, r.key, span)
	if err != nil {
		r.failed = err
	}
	return o.Body, err
}
