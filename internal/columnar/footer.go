package columnar

import (
	"bytes"
	"crypto/sha256"
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

func (f *fields) number(name string, limit int64) int64 {
	v := f.text(name)
	n, err := strconv.ParseInt(v, 10, 64)
	if f.err == nil && (err != nil || n > limit) {
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
			ID:         int32(f.number("partition", math.MaxInt32)),
			Generation: int(f.number("generation", math.MaxInt32)),
		},
		Range:       manifest.Range{Start: f.number("start", none), Next: f.number("next", none)},
		Attempt:     int(f.number("attempt", math.MaxInt32)),
		Schema:      int(f.number("schema", math.MaxInt32)),
		LeaderEpoch: int32(f.number("leader_epoch", math.MaxInt32)),
		Counts: manifest.Counts{
			Rows: f.number("rows", none), Duplicates: f.number("duplicates", none), Dead: f.number("dead", none),
			Filtered: f.number("filtered", none), Absent: f.number("absent", none), Lost: f.number("lost", none),
		},
		Digest: f.text("digest"),
	}
	if f.err == nil {
		f.err = d.Range.Validate()
	}
	return d, f.err
}

// readBytes is what is read at a time. A footer is smaller, so it takes one
// read, which counts when the bytes lie in an object store.
const readBytes = 64 << 10

// open opens a file by its footer alone.
func open(r io.ReaderAt, size int64) (f *parquet.File, err error) {
	// The bytes come from outside, and the library does not check all it reads.
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("%w: panic: %v", ErrFooter, p)
		}
	}()
	f, err = parquet.OpenFile(r, size, parquet.SkipMagicBytes(true), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true),
		parquet.OptimisticRead(true), parquet.ReadBufferSize(readBytes))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFooter, err)
	}
	return f, nil
}

// ReadFooter returns what the footer of a file says. It reads the end of r
// only. Key and SHA256 of the File are not known and empty.
func ReadFooter(r io.ReaderAt, size int64) (manifest.Description, error) {
	f, err := open(r, size)
	if err != nil {
		return manifest.Description{}, fmt.Errorf("read footer: %w", err)
	}
	d, err := parseMetadata(f)
	if err != nil {
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
