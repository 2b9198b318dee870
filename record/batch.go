package record

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// Batch is a run of records of one partition in offset order, held in one
// arena. It accounts for the positions [Start, Next): what lies there and is
// not a record is absent from the log (markers, aborted, compacted away).
//
// A Batch is filled by one goroutine and is read-only afterwards.
type Batch struct {
	Start, Next   int64
	LeaderEpoch   int32 // of the leader that wrote it; -1 when unknown
	TimestampType TimestampType

	arena []byte
	index []entry
	raw   int64

	shared bool  // the arena belongs to several batches after a Split
	held   int64 // then this one's share of it
}

// entry places one record in the arena.
type entry struct {
	offset, timestamp     int64
	key, value, headers   int32
	keyLen, valLen, hdLen int32 // -1 is null
}

// Span is a place in an arena. A negative Len is null.
type Span struct{ At, Len int }

// NewBatch returns a batch of no records that begins at start and whose arena
// is the given bytes, which it owns from now on. Positions given to Add lie in it.
func NewBatch(start int64, arena []byte) *Batch {
	return &Batch{Start: start, Next: start, LeaderEpoch: -1, arena: arena}
}

// Grow makes room for n more records.
func (b *Batch) Grow(n int) {
	if free := cap(b.index) - len(b.index); free < n {
		b.index = append(make([]entry, 0, len(b.index)+n), b.index...)
	}
}

// Add appends a record whose bytes are in the arena. Offsets ascend; Next
// becomes offset+1.
func (b *Batch) Add(offset, timestamp int64, key, value, headers Span) error {
	if offset < b.Next {
		return fmt.Errorf("record at offset %d follows position %d", offset, b.Next)
	}
	b.index = append(b.index, entry{
		offset: offset, timestamp: timestamp,
		key: int32(key.At), value: int32(value.At), headers: int32(headers.At),
		keyLen: int32(key.Len), valLen: int32(value.Len), hdLen: int32(headers.Len),
	})
	b.raw += int64(max(key.Len, 0) + max(value.Len, 0) + max(headers.Len, 0))
	b.Next = offset + 1
	return nil
}

// Append copies a record into the arena. Sources that already hold the bytes
// use Add; this serves tests and sources of other kinds. The type of the
// timestamp is the batch's, not the record's.
func (b *Batch) Append(r Record) error {
	place := func(p []byte) Span {
		if p == nil {
			return Span{Len: -1}
		}
		s := Span{At: len(b.arena), Len: len(p)}
		b.arena = append(b.arena, p...)
		return s
	}
	return b.Add(r.Offset, r.Timestamp, place(r.Key), place(r.Value), place(r.Headers))
}

// Len returns the number of records.
func (b *Batch) Len() int { return len(b.index) }

// Raw returns the bytes of keys, values and headers of all records.
func (b *Batch) Raw() int64 { return b.raw }

// entrySize is the size of an entry in memory.
const entrySize = 40

// Size returns the bytes of memory that the batch holds on to.
func (b *Batch) Size() int64 {
	if b.shared {
		return b.held
	}
	return int64(cap(b.arena)) + int64(cap(b.index))*entrySize
}

// At returns the i-th record.
func (b *Batch) At(i int) Record {
	e := &b.index[i]
	return Record{
		Offset: e.offset, Timestamp: e.timestamp, TimestampType: b.TimestampType,
		Key: b.slice(e.key, e.keyLen), Value: b.slice(e.value, e.valLen),
		Headers: Headers(b.slice(e.headers, e.hdLen)),
	}
}

func (b *Batch) slice(at, n int32) []byte {
	switch {
	case n < 0:
		return nil
	case n == 0:
		return []byte{} // not a slice of the arena, which may be nil
	}
	return b.arena[at : at+n : at+n]
}

// All yields the records in offset order.
func (b *Batch) All() iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for i := range b.index {
			if !yield(b.At(i)) {
				return
			}
		}
	}
}

// Search returns the index of the first record at or after the position.
func (b *Batch) Search(at int64) int {
	i, _ := slices.BinarySearchFunc(b.index, at, func(e entry, at int64) int { return cmp.Compare(e.offset, at) })
	return i
}

// Split cuts b at a position from Start to Next: the first batch accounts for
// [Start, at), the second for [at, Next). Both hold on to the arena, so their
// Sizes share what b held, by the number of records, and sum to it.
func (b *Batch) Split(at int64) (before, after *Batch) {
	i, size := b.Search(at), b.Size()
	first, second := *b, *b
	first.Next, second.Start = at, at
	first.index, second.index = b.index[:i:i], b.index[i:]
	first.raw = 0
	for r := range first.All() {
		first.raw += r.Raw()
	}
	second.raw = b.raw - first.raw
	first.shared, second.shared = true, true
	if n := len(b.index); n > 0 {
		first.held = size / int64(n) * int64(i)
	}
	second.held = size - first.held
	return &first, &second
}
