package columnar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/parquet-go/parquet-go"
)

// ReadDead yields what a dead-letter file holds, in the order of offsets. What
// it yields is the caller's to keep. The first error ends it.
func (e *Encoder) ReadDead(body []byte) iter.Seq2[manifest.DeadLetter, error] {
	return func(yield func(manifest.DeadLetter, error) bool) {
		d, err := openDead(body)
		for i := 0; err == nil && i < len(d.file.file.RowGroups()); i++ {
			var more bool
			if more, err = d.group(i, yield); !more {
				break
			}
		}
		if err != nil {
			yield(manifest.DeadLetter{}, fmt.Errorf("read dead letters: %w", err))
		}
	}
}

// deadReader makes dead letters of the rows of a file. A column that it does
// not know says nothing to it.
type deadReader struct {
	file *File
	set  []func(l *manifest.DeadLetter, v parquet.Value) // by leaf column
	head []record.Header                                 // of the row
}

// openDead opens a file and finds its columns by their names. The library
// panics on some damaged footers.
func openDead(body []byte) (d *deadReader, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: panic: %v", ErrFooter, p)
		}
	}()
	f, err := Open(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, err
	}
	d = &deadReader{file: f}
	known := d.columns()
	found := map[string]bool{}
	for _, c := range f.columns {
		d.set = append(d.set, known[c.Name])
		found[c.Name] = true
	}
	for name := range known {
		if !found[name] {
			return nil, fmt.Errorf("%w: no dead-letter file: it has no column %s", ErrFooter, name)
		}
	}
	return d, nil
}

func (d *deadReader) columns() map[string]func(*manifest.DeadLetter, parquet.Value) {
	return map[string]func(*manifest.DeadLetter, parquet.Value){
		"kafka_topic":     func(l *manifest.DeadLetter, v parquet.Value) { l.Topic = string(v.ByteArray()) },
		"kafka_partition": func(l *manifest.DeadLetter, v parquet.Value) { l.Partition = v.Int32() },
		"kafka_offset":    func(l *manifest.DeadLetter, v parquet.Value) { l.Offset = v.Int64() },
		"kafka_timestamp": func(l *manifest.DeadLetter, v parquet.Value) {
			l.Timestamp = record.NoTimestamp
			if !v.IsNull() {
				l.Timestamp = v.Int64() / 1000
			}
		},
		"kafka_timestamp_type": func(l *manifest.DeadLetter, v parquet.Value) {
			if string(v.ByteArray()) == record.LogAppendTime.String() {
				l.TimestampType = record.LogAppendTime
			}
		},
		"kafka_key":        func(l *manifest.DeadLetter, v parquet.Value) { l.Key = own(v) },
		manifest.ValueName: func(l *manifest.DeadLetter, v parquet.Value) { l.Value = own(v) },
		"reason":           func(l *manifest.DeadLetter, v parquet.Value) { l.Reason = string(v.ByteArray()) },
		"detail":           func(l *manifest.DeadLetter, v parquet.Value) { l.Detail = string(v.ByteArray()) },
		"kafka_headers.list.element.name": func(_ *manifest.DeadLetter, v parquet.Value) {
			if !v.IsNull() { // else the list has no elements
				d.head = append(d.head, record.Header{Key: own(v)})
			}
		},
		"kafka_headers.list.element.value": d.value(),
	}
}

// value returns what sets the values of headers, after all their names were set.
func (d *deadReader) value() func(*manifest.DeadLetter, parquet.Value) {
	at := 0
	return func(_ *manifest.DeadLetter, v parquet.Value) {
		if v.RepetitionLevel() == 0 {
			at = 0
		}
		if at < len(d.head) {
			d.head[at].Value = own(v)
		}
		at++
	}
}

// own returns the bytes of a value as memory of their own; nil for null.
func own(v parquet.Value) []byte {
	if v.IsNull() {
		return nil
	}
	return append([]byte{}, v.ByteArray()...)
}

// group yields the rows of a row group, and reports whether the caller wants
// more.
func (d *deadReader) group(i int, yield func(manifest.DeadLetter, error) bool) (bool, error) {
	all := make([]int, len(d.set))
	for c := range all {
		all[c] = c
	}
	if err := d.file.pages(i, all...); err != nil {
		return false, err
	}
	rows := d.file.file.RowGroups()[i].Rows()
	defer rows.Close()
	buf := make([]parquet.Row, step)
	for {
		n, err := readRows(rows, buf)
		for _, row := range buf[:n] {
			if !yield(d.letter(row), nil) {
				return false, nil
			}
		}
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// readRows reads some rows. The library panics on some damaged pages.
func readRows(rows parquet.Rows, buf []parquet.Row) (n int, err error) {
	defer func() {
		if p := recover(); p != nil {
			n, err = 0, fmt.Errorf("%w: panic: %v", ErrFooter, p)
		}
	}()
	return rows.ReadRows(buf)
}

// letter makes a dead letter of a row.
func (d *deadReader) letter(row parquet.Row) (l manifest.DeadLetter) {
	d.head = d.head[:0]
	for _, v := range row {
		if i := v.Column(); i >= 0 && i < len(d.set) && d.set[i] != nil {
			d.set[i](&l, v)
		}
	}
	l.Headers = record.NewHeaders(d.head...)
	return l
}
