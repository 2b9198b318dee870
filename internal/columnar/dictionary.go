package columnar

import (
	"encoding/binary"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// dictionary numbers the values of a column in the order in which they come.
// It is a hash table with linear probing, at most half full.
type dictionary struct {
	width  int               // bytes of a value; 0 for those with a length of their own
	plain  []byte            // the values as PLAIN has them
	ends   []uint32          // of each value in plain
	table  []int32           // by hash: one more than the number of the value, 0 for none
	full   bool              // it is too large: later values are not in it
	lately [latelySize]int32 // as table, of values that were asked for lately, by a hash of their ends
}

// The cache of a dictionary is small: it is in front of the table since most
// columns have few values that come often.
const (
	latelyBits = 6
	latelySize = 1 << latelyBits
)

// leastTable is the first size of the table, a power of two.
const leastTable = 64

func newDictionary(width int) *dictionary {
	return &dictionary{width: width, table: make([]int32, leastTable)}
}

func (d *dictionary) len() int { return len(d.ends) }

// size returns the bytes of the values.
func (d *dictionary) size() int { return len(d.plain) }

// value returns the value of a number.
func (d *dictionary) value(i int32) []byte {
	start := 0
	if i > 0 {
		start = int(d.ends[i-1])
	}
	if d.width == 0 {
		start += 4
	}
	return d.plain[start:d.ends[i]]
}

// of returns the number of a value, a new one for a value that is new.
func (d *dictionary) of(v []byte) int32 {
	last := &d.lately[ends(v)]
	if n := *last - 1; n >= 0 && string(d.value(n)) == string(v) {
		return n
	}
	n := d.find(v)
	*last = n + 1
	return n
}

// ends returns a hash of the first and the last bytes of a value, which often
// tell it from others.
func ends(v []byte) uint64 {
	var h uint64
	switch n := len(v); {
	case n >= 8:
		h = binary.LittleEndian.Uint64(v) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(v[n-8:]), 21)
	case n >= 4:
		h = uint64(binary.LittleEndian.Uint32(v)) | uint64(binary.LittleEndian.Uint32(v[n-4:]))<<32
	case n > 0:
		h = uint64(v[0]) | uint64(v[n/2])<<8 | uint64(v[n-1])<<16
	}
	return (h + uint64(len(v))) * 0x9E3779B97F4A7C15 >> (64 - latelyBits)
}

// find returns the number of a value, a new one for a value that is new.
func (d *dictionary) find(v []byte) int32 {
	mask := uint64(len(d.table) - 1)
	for at := xxh3.Hash(v) & mask; ; at = (at + 1) & mask {
		n := d.table[at] - 1
		if n < 0 {
			return d.add(v, at)
		}
		if string(d.value(n)) == string(v) {
			return n
		}
	}
}

// add gives the next number to a value, whose place in the table is free.
func (d *dictionary) add(v []byte, at uint64) int32 {
	if d.width == 0 {
		d.plain = binary.LittleEndian.AppendUint32(d.plain, uint32(len(v)))
	}
	d.plain = append(d.plain, v...)
	d.ends = append(d.ends, uint32(len(d.plain)))
	n := len(d.ends)
	d.table[at] = int32(n)
	if 2*n > len(d.table) {
		d.grow()
	}
	return int32(n - 1)
}

func (d *dictionary) grow() {
	d.table = make([]int32, 2*len(d.table))
	mask := uint64(len(d.table) - 1)
	for i := range int32(len(d.ends)) {
		at := xxh3.Hash(d.value(i)) & mask
		for d.table[at] != 0 {
			at = (at + 1) & mask
		}
		d.table[at] = i + 1
	}
}

// cut forgets the values from number n on, the last first: nothing that came
// later was put behind them.
func (d *dictionary) cut(n int) {
	mask := uint64(len(d.table) - 1)
	for i := len(d.ends) - 1; i >= n; i-- {
		at := xxh3.Hash(d.value(int32(i))) & mask
		for d.table[at] != int32(i+1) {
			at = (at + 1) & mask
		}
		d.table[at] = 0
		end := uint32(0)
		if i > 0 {
			end = d.ends[i-1]
		}
		d.plain, d.ends = d.plain[:end], d.ends[:i]
		clear(d.lately[:])
	}
}

// reset empties the dictionary, for the next row group.
func (d *dictionary) reset() {
	clear(d.table)
	clear(d.lately[:])
	d.plain, d.ends, d.full = d.plain[:0], d.ends[:0], false
}
