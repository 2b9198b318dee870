package writer

import (
	"time"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// open is a batch that is being collected.
type open struct {
	start   int64
	since   time.Time // when the first of it came
	batches []*record.Batch
	rows    int64
	bytes   int64 // of keys, values and headers
	size    int64 // in memory
}

// next returns the position behind what was collected.
func (o *open) next() int64 {
	if len(o.batches) == 0 {
		return o.start
	}
	return o.batches[len(o.batches)-1].Next
}

// add takes b, or the part of it that fills the batch up. A batch that is full
// ends behind the record that filled it, however the log grouped its records,
// so that two runs with the same limits cut at the same offsets. The rest is
// what the following batch begins with.
func (o *open) add(b *record.Batch, l Limits) (rest *record.Batch, full bool) {
	i := o.fills(b, l)
	if i < 0 {
		o.append(b)
		return nil, false
	}
	if at := b.At(i).Offset + 1; at < b.Next {
		b, rest = b.Split(at)
	}
	o.append(b)
	return rest, true
}

func (o *open) append(b *record.Batch) {
	o.batches = append(o.batches, b)
	o.rows += int64(b.Len())
	o.bytes += b.Raw()
	o.size += b.Size()
}

// fills returns the index of the record of b that fills the batch, or -1.
func (o *open) fills(b *record.Batch, l Limits) int {
	byRows := int(min(l.MaxRows-o.rows, int64(b.Len()+1))) - 1
	if o.bytes+b.Raw() >= l.MaxBytes {
		bytes := o.bytes
		for i := range b.Len() {
			if bytes += b.At(i).Raw(); bytes >= l.MaxBytes {
				return min(byRows, i)
			}
		}
	}
	if byRows < b.Len() {
		return byRows
	}
	return -1
}

// take returns what was collected and leaves an empty batch behind it.
func (o *open) take() (manifest.Range, []*record.Batch) {
	r := manifest.Range{Start: o.start, Next: o.next()}
	batches := o.batches
	*o = open{start: r.Next}
	return r, batches
}
