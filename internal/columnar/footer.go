package columnar

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/parquet-go/parquet-go"
)

// ErrFooter is returned for bytes that are no Parquet file of this software.
var ErrFooter = errors.New("not a file of lakeweir")

// footerFormat is the format of the metadata in a footer. Another major is refused.
const footerFormat = "1.0"

// entry is one key with its value in the metadata of a footer.
type entry struct{ key, value string }

// prefix is in front of all our keys.
const prefix = "lakeweir."

// metadata returns what the footer says, in a fixed order.
func metadata(d manifest.Description) []entry {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	return []entry{
		{prefix + "format", footerFormat},
		{prefix + "table", d.Table},
		{prefix + "partition", n(int64(d.Partition.ID))},
		{prefix + "generation", n(int64(d.Partition.Generation))},
		{prefix + "start", n(d.Start)},
		{prefix + "next", n(d.Next)},
		{prefix + "attempt", n(int64(d.Attempt))},
		{prefix + "schema", n(int64(d.Schema))},
		{prefix + "leader_epoch", n(int64(d.LeaderEpoch))},
		{prefix + "rows", n(d.Counts.Rows)},
		{prefix + "duplicates", n(d.Counts.Duplicates)},
		{prefix + "dead", n(d.Counts.Dead)},
		{prefix + "filtered", n(d.Counts.Filtered)},
		{prefix + "absent", n(d.Counts.Absent)},
		{prefix + "lost", n(d.Counts.Lost)},
		{prefix + "digest", d.Digest},
	}
}

// fields reads numbers from metadata and keeps the first error.
type fields struct {
	file *parquet.File
	err  error
}

func (f *fields) text(name string) string {
	v, ok := f.file.Lookup(prefix + name)
	if !ok && f.err == nil {
		f.err = fmt.Errorf("%w: the footer has no %s", ErrFooter, prefix+name)
	}
	return v
}

func (f *fields) number(name string, least, limit int64) int64 {
	v := f.text(name)
	n, err := strconv.ParseInt(v, 10, 64)
	if f.err == nil && (err != nil || n < least || n > limit) {
		f.err = fmt.Errorf("%w: %s%s is %q in the footer", ErrFooter, prefix, name, v)
	}
	return n
}

// parseMetadata is the reverse of metadata.
func parseMetadata(file *parquet.File) (manifest.Description, error) {
	f := fields{file: file}
	const none = math.MaxInt64
	if v := f.text("format"); f.err == nil && !strings.HasPrefix(v, "1.") {
		return manifest.Description{}, fmt.Errorf("%w: the footer has format %q", manifest.ErrFormat, v)
	}
	d := manifest.Description{
		Table: f.text("table"),
		Partition: manifest.Partition{
			ID:         int32(f.number("partition", 0, math.MaxInt32)),
			Generation: int(f.number("generation", 0, math.MaxInt32)),
		},
		Range:       manifest.Range{Start: f.number("start", 0, none), Next: f.number("next", 0, none)},
		Attempt:     int(f.number("attempt", 0, math.MaxInt32)),
		Schema:      int(f.number("schema", 0, math.MaxInt32)),
		LeaderEpoch: int32(f.number("leader_epoch", -1, math.MaxInt32)),
		Counts: manifest.Counts{
			Rows: f.number("rows", 0, none), Duplicates: f.number("duplicates", 0, none), Dead: f.number("dead", 0, none),
			Filtered: f.number("filtered", 0, none), Absent: f.number("absent", 0, none), Lost: f.number("lost", 0, none),
		},
		Digest: f.text("digest"),
	}
	if err := d.Range.Validate(); err != nil && f.err == nil {
		f.err = fmt.Errorf("%w: %w", ErrFooter, err)
	}
	return d, f.err
}

// readBytes is what is read at a time. A footer is smaller, so it takes one
// read, which counts when the bytes lie in an object store.
const readBytes = 64 << 10

// tail is a file whose last bytes were read, by one read.
type tail struct {
	io.ReaderAt
	from int64 // where body begins
	body []byte
}

// ReadAt is a method of io.ReaderAt.
func (t *tail) ReadAt(p []byte, at int64) (int, error) {
	if at < t.from {
		return t.ReaderAt.ReadAt(p, at)
	}
	n := copy(p, t.body[min(at-t.from, int64(len(t.body))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// magic begins and ends a file; before the last one is the length of the footer
// in four bytes (https://parquet.apache.org/docs/file-format).
const magic = "PAR1"

// readTail reads the end of a file and checks the footer so far that the library
// can take it: it believes every length.
func readTail(r io.ReaderAt, size int64) (*tail, error) {
	t := &tail{ReaderAt: r, from: max(0, size-readBytes)}
	if err := t.fill(size); err != nil {
		return nil, err
	}
	end := len(t.body) - 4 - len(magic)
	if end < 0 || string(t.body[end+4:]) != magic {
		return nil, fmt.Errorf("%w: it does not end in %s", ErrFooter, magic)
	}
	length := int64(binary.LittleEndian.Uint32(t.body[end:]))
	if length > size-int64(4+2*len(magic)) {
		return nil, fmt.Errorf("%w: a footer of %d bytes in %d", ErrFooter, length, size)
	}
	if length > int64(end) {
		t.from = size - length - int64(4+len(magic))
		if err := t.fill(size); err != nil {
			return nil, err
		}
		end = int(length)
	}
	s := newSkim(t.body[end-int(length) : end])
	if s.message(); !s.ok {
		return nil, fmt.Errorf("%w: a length in the footer, or the footer itself, goes beyond its end", ErrFooter)
	}
	return t, nil
}

// fill reads from where the tail begins to the end of the file.
func (t *tail) fill(size int64) error {
	t.body = make([]byte, size-t.from)
	if n, err := t.ReaderAt.ReadAt(t.body, t.from); n < len(t.body) {
		return fmt.Errorf("%w: read the last %d bytes: %w", ErrFooter, len(t.body), err)
	}
	return nil
}

// rescue makes an error of a panic: the bytes come from outside, and the library
// does not check all it reads. It is to be deferred.
func rescue(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: panic: %v", ErrFooter, p)
	}
}

// open opens a file by its footer alone.
func open(r io.ReaderAt, size int64) (f *parquet.File, err error) {
	defer rescue(&err)
	t, err := readTail(r, size)
	if err != nil {
		return nil, err
	}
	f, err = parquet.OpenFile(t, size, parquet.SkipMagicBytes(true), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true),
		parquet.ReadBufferSize(readBytes))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFooter, err)
	}
	kinds(f.Root())
	return f, nil
}

// kinds asks each leaf for its kind. A group without children passes for a
// leaf, and panics.
func kinds(c *parquet.Column) {
	if c.Leaf() {
		c.Type().Kind()
	}
	for _, kid := range c.Columns() {
		kinds(kid)
	}
}

// ReadFooter returns what the footer of a file says. It reads the end of r
// only. Key and SHA256 of the File are not known and empty.
func ReadFooter(r io.ReaderAt, size int64) (d manifest.Description, err error) {
	defer rescue(&err)
	f, err := open(r, size)
	if err != nil {
		return manifest.Description{}, fmt.Errorf("read footer: %w", err)
	}
	if d, err = parseMetadata(f); err != nil {
		return manifest.Description{}, fmt.Errorf("read footer: %w", err)
	}
	d.File.Rows, d.File.Bytes = f.NumRows(), size
	if err := statistics(f, &d.File); err != nil {
		return manifest.Description{}, fmt.Errorf("read footer: %w", err)
	}
	return d, nil
}

// describe returns what a whole file says of itself.
func describe(key string, body []byte) (manifest.Description, error) {
	d, err := ReadFooter(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return manifest.Description{}, fmt.Errorf("%s: %w", key, err)
	}
	d.File.Key, d.File.SHA256 = key, sha256.Sum256(body)
	return d, nil
}
