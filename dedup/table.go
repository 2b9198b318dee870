package dedup

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// entry is what is known of a kept row. The zero entry is none.
type entry struct {
	at   uint64 // offset plus one
	time int64  // zero in a window in offsets
}

func newEntry(offset, time int64) entry { return entry{at: uint64(offset) + 1, time: time} }

func (e entry) used() bool { return e.at != 0 }

func (e entry) offset() int64 { return int64(e.at - 1) }

// table maps ids to entries: open addressing with linear probing in one flat
// run of words, which the garbage collector does not look into. A slot is the
// two words of the id, the offset plus one, and the time if times matter.
type table struct {
	words  []uint64
	stride int // words of a slot: 3 or 4
	slots  int
	used   int
	limit  int // ids that may be in it
	seed   [2]uint64
}

const wordSize = 8

// limitFor is how many ids a table holds for a window of n: 1/16 more, so that
// a sweep, which looks at all slots, frees many at a time.
func limitFor(n int) int { return n + n/16 + 16 }

// slotsFor leaves a seventh of the slots empty: probes stay short.
func slotsFor(limit int) int { return limit + limit/6 + 1 }

func slotSize(times bool) int64 {
	if times {
		return 4 * wordSize
	}
	return 3 * wordSize
}

func newTable(limit int, times bool) table {
	t := table{stride: int(slotSize(times)) / wordSize, limit: limit, slots: slotsFor(limit)}
	t.words = make([]uint64, t.slots*t.stride)
	t.seed = [2]uint64{rand.Uint64(), rand.Uint64()}
	return t
}

func (t *table) memory() int64 { return int64(cap(t.words)) * wordSize }

func (t *table) full() bool { return t.used >= t.limit }

func split(id ID) (hi, lo uint64) {
	return binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
}

// home is the slot that an id belongs to if it is free. The seed is secret:
// ids that share a slot cannot be chosen.
func (t *table) home(hi, lo uint64) int {
	a, b := bits.Mul64(hi^t.seed[0], lo^t.seed[1])
	mixed := (a ^ b) * 0x9e3779b97f4a7c15 // 2^64 over the golden ratio: spreads what the product left in low bits
	slot, _ := bits.Mul64(mixed, uint64(t.slots))
	return int(slot)
}

// find returns the slot of an id, or the free one where it would go.
func (t *table) find(id ID) (slot int, ok bool) {
	hi, lo := split(id)
	for slot = t.home(hi, lo); ; slot = t.after(slot) {
		w := t.words[slot*t.stride : slot*t.stride+3]
		if w[2] == 0 {
			return slot, false
		}
		if w[0] == hi && w[1] == lo {
			return slot, true
		}
	}
}

func (t *table) after(slot int) int {
	if slot++; slot == t.slots {
		return 0
	}
	return slot
}

func (t *table) entry(slot int) entry {
	w := t.words[slot*t.stride : (slot+1)*t.stride]
	e := entry{at: w[2]}
	if len(w) == 4 {
		e.time = int64(w[3])
	}
	return e
}

// set stores the entry of an id, in the place of an older one if there is one.
func (t *table) set(id ID, e entry) {
	slot, ok := t.find(id)
	if !ok {
		t.used++
	}
	w := t.words[slot*t.stride : (slot+1)*t.stride]
	w[0], w[1] = split(id)
	w[2] = e.at
	if len(w) == 4 {
		w[3] = uint64(e.time)
	}
}

// remove frees a slot and moves those behind it up that would not be found
// over the gap.
func (t *table) remove(slot int) {
	t.used--
	gap := slot
	for next := t.after(gap); ; next = t.after(next) {
		w := t.words[next*t.stride : (next+1)*t.stride]
		if w[2] == 0 {
			break
		}
		if home := t.home(w[0], w[1]); t.distance(home, next) >= t.distance(gap, next) {
			copy(t.words[gap*t.stride:(gap+1)*t.stride], w)
			gap = next
		}
	}
	clear(t.words[gap*t.stride : (gap+1)*t.stride])
}

// distance is the number of steps from one slot to another.
func (t *table) distance(from, to int) int {
	if to >= from {
		return to - from
	}
	return to - from + t.slots
}

// grow makes a table a quarter larger.
func (t *table) grow() {
	old := *t
	*t = newTable(old.limit+old.limit/4+1, old.stride == 4)
	for slot := range old.slots {
		w := old.words[slot*old.stride : (slot+1)*old.stride]
		if w[2] == 0 {
			continue
		}
		to := t.home(w[0], w[1])
		for t.words[to*t.stride+2] != 0 {
			to = t.after(to)
		}
		copy(t.words[to*t.stride:(to+1)*t.stride], w)
		t.used++
	}
}
