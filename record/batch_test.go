package record

import (
	"fmt"
	"testing"
)

// sample is a batch with holes: offsets 10, 12, 13, 17 of [10, 20).
func sample(t *testing.T) *Batch {
	t.Helper()
	b := NewBatch(10, nil)
	b.LeaderEpoch, b.TimestampType = 3, LogAppendTime
	for i, offset := range []int64{10, 12, 13, 17} {
		r := Record{Offset: offset, Timestamp: int64(i), Key: []byte("key"), Value: fmt.Appendf(nil, "value %d", offset)}
		if err := b.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	b.Next = 20
	return b
}

func offsets(b *Batch) string {
	var out []int64
	for r := range b.All() {
		out = append(out, r.Offset)
	}
	return fmt.Sprint(out)
}

func TestBatch(t *testing.T) {
	b := sample(t)
	if b.Len() != 4 || b.Start != 10 || b.Next != 20 || offsets(b) != "[10 12 13 17]" {
		t.Errorf("%d records %s in [%d, %d)", b.Len(), offsets(b), b.Start, b.Next)
	}
	r := b.At(1)
	if string(r.Key) != "key" || string(r.Value) != "value 12" || r.Timestamp != 1 || r.TimestampType != LogAppendTime {
		t.Errorf("record %+v", r)
	}
	if want := int64(4 * (len("key") + len("value 10"))); b.Raw() != want {
		t.Errorf("raw %d, want %d", b.Raw(), want)
	}
	if b.Size() < b.Raw()+4*entrySize {
		t.Errorf("size %d for %d raw bytes", b.Size(), b.Raw())
	}
}

// Null and empty stay apart.
func TestBatchNull(t *testing.T) {
	b := NewBatch(0, []byte{})
	if err := b.Append(Record{}); err != nil {
		t.Fatal(err)
	}
	if err := b.Append(Record{Offset: 1, Key: []byte{}, Value: []byte{}}); err != nil {
		t.Fatal(err)
	}
	if r := b.At(0); r.Key != nil || r.Value != nil || r.Headers != nil || r.Raw() != 0 {
		t.Errorf("null: %+v", r)
	}
	if r := b.At(1); r.Key == nil || r.Value == nil || r.Raw() != 0 {
		t.Errorf("empty: %+v", r)
	}
}

// A record's bytes end where the next one's begin, for append too.
func TestBatchOwnsArena(t *testing.T) {
	b := sample(t)
	_ = append(b.At(0).Key, "XXXXXXXX"...)
	if got := string(b.At(0).Value); got != "value 10" {
		t.Errorf("value became %q", got)
	}
}

func TestBatchOrder(t *testing.T) {
	f := func(offset int64, want string) {
		t.Helper()
		err := sample(t).Append(Record{Offset: offset})
		if got := fmt.Sprint(err); got != want {
			t.Errorf("offset %d: %s, want %s", offset, got, want)
		}
	}
	f(19, "record at offset 19 follows position 20") // in a hole that is accounted for
	f(17, "record at offset 17 follows position 20") // twice
	f(20, "<nil>")
	f(25, "<nil>")
}

func TestSearch(t *testing.T) {
	b := sample(t)
	f := func(at int64, want int) {
		t.Helper()
		if got := b.Search(at); got != want {
			t.Errorf("search %d: %d, want %d", at, got, want)
		}
	}
	f(0, 0)
	f(10, 0)
	f(11, 1) // in a hole
	f(17, 3)
	f(18, 4) // after the last
}

// A cut loses no offset, no record and no byte of memory.
func TestSplit(t *testing.T) {
	for at := int64(10); at <= 20; at++ {
		b := sample(t)
		first, second := b.Split(at)
		if first.Start != 10 || first.Next != at || second.Start != at || second.Next != 20 {
			t.Errorf("at %d: [%d, %d) and [%d, %d)", at, first.Start, first.Next, second.Start, second.Next)
		}
		if first.Len()+second.Len() != 4 || first.Raw()+second.Raw() != b.Raw() || first.Size()+second.Size() != b.Size() {
			t.Errorf("at %d: records, bytes or memory do not sum up", at)
		}
		for _, part := range []*Batch{first, second} {
			if part.LeaderEpoch != 3 || part.TimestampType != LogAppendTime {
				t.Errorf("at %d: %+v", at, part)
			}
			for r := range part.All() {
				if r.Offset < part.Start || r.Offset >= part.Next || string(r.Value) != fmt.Sprintf("value %d", r.Offset) {
					t.Errorf("at %d: record %d %q in [%d, %d)", at, r.Offset, r.Value, part.Start, part.Next)
				}
			}
		}
	}
}

// Parts of parts share the memory once.
func TestSplitAgain(t *testing.T) {
	b := sample(t)
	first, rest := b.Split(12)
	second, third := rest.Split(14)
	if sum := first.Size() + second.Size() + third.Size(); sum != b.Size() {
		t.Errorf("parts hold %d bytes, the whole %d", sum, b.Size())
	}
	if offsets(second) != "[12 13]" || offsets(third) != "[17]" {
		t.Errorf("got %s and %s", offsets(second), offsets(third))
	}
}

// A record that is added to a part must not show in the other.
func TestSplitThenAppend(t *testing.T) {
	first, second := sample(t).Split(13)
	first.Next = 13
	if err := first.Add(13, 0, Span{Len: -1}, Span{Len: -1}, Span{Len: -1}); err != nil {
		t.Fatal(err)
	}
	if r := second.At(0); r.Offset != 13 || r.Value == nil {
		t.Errorf("record of the other part became %+v", r)
	}
}

func TestTimestampType(t *testing.T) {
	if CreateTime.String() != "create" || LogAppendTime.String() != "append" {
		t.Error(CreateTime, LogAppendTime)
	}
}

// Room made with Grow is used, so adding allocates nothing.
func TestGrow(t *testing.T) {
	b := NewBatch(0, make([]byte, 10))
	b.Grow(1000)
	offset := int64(0)
	n := testing.AllocsPerRun(500, func() {
		if err := b.Add(offset, 0, Span{Len: 3}, Span{At: 3, Len: 7}, Span{Len: -1}); err != nil {
			t.Fatal(err)
		}
		offset++
	})
	if n != 0 {
		t.Errorf("%v allocations for a record", n)
	}
}
