package source

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// aborted is an aborted transaction as a fetch response names it.
type aborted struct{ producer, first int64 }

// filter knows which transactional batches of one response belong to aborted
// transactions. The broker names every aborted transaction that overlaps the
// response, those begun earlier included, so a filter is made anew for each
// response and partition.
type filter struct {
	pending []aborted          // by first offset, not reached yet
	active  map[int64]struct{} // producers inside an aborted transaction
}

func newFilter(list []aborted) filter {
	if len(list) == 0 {
		return filter{}
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b aborted) int { return cmp.Compare(a.first, b.first) })
	return filter{pending: list, active: make(map[int64]struct{})}
}

// reach moves on to a batch: transactions that begin at or before its last
// offset are active from now on.
func (f *filter) reach(last int64) {
	for len(f.pending) > 0 && f.pending[0].first <= last {
		f.active[f.pending[0].producer] = struct{}{}
		f.pending = f.pending[1:]
	}
}

// drops reports whether a data batch is part of an aborted transaction.
func (f *filter) drops(h header) bool {
	_, in := f.active[h.producer]
	return in && h.transactional()
}

// marker takes note of the control record that ends a producer's transaction.
// Its key is an int16 version and an int16 type, of which 0 is an abort
// (Kafka's ControlRecordType).
func (f *filter) marker(producer int64, key []byte) {
	if len(key) >= 4 && binary.BigEndian.Uint16(key[2:]) == 0 {
		delete(f.active, producer)
	}
}
