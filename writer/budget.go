package writer

import (
	"context"
	"slices"
	"sync"
)

// Budget bounds what the partitions of a process have in memory: the raw bytes
// of records (fetched, collected and being written), and apart from them what
// laying them out takes, with the objects until they are published. When there
// is no room for records, fetching waits and the largest open batch is cut
// early; when there is none for objects, batches wait to be laid out. NewBudget
// makes one.
//
// It satisfies the Room of a source.
type Budget struct {
	laidOut *laidOut

	mu      sync.Mutex
	limit   int64
	used    int64
	leaving int64   // part of used that is cut and on its way to the store
	held    int64   // part of used that nothing frees before more is read
	line    []*turn // of those who wait in Acquire
	freed   chan struct{}
	holders []*holder // the oldest first
}

// turn is the place of a caller of Acquire in the line.
type turn struct{ n int64 }

// holder is an open batch that can be cut to free memory, or one that is kept
// and can be given up.
type holder struct {
	open int64         // bytes in the open batch; guarded by Budget.mu
	cut  chan struct{} // asks for a cut; room for one
	give func()        // gives up what is kept; nil for an open batch
}

// NewBudget returns a Budget of so many bytes of records, and of objects; 0 is
// no bound.
func NewBudget(records, objects int64) *Budget {
	return &Budget{limit: records, freed: make(chan struct{}), laidOut: newLaidOut(objects)}
}

// Acquire charges n bytes, and waits until they are free. More than the whole
// limit is granted when nothing is charged that could become free: one record
// may be that large, or the pending ranges of a run that had more memory.
// Callers take turns, else small ones would pass over a large one for ever.
func (b *Budget) Acquire(ctx context.Context, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &turn{n}
	b.line = append(b.line, t)
	defer b.leaveLine(t)
	for b.limit > 0 && (b.line[0] != t || b.used > b.held && b.used+n > b.limit) {
		freed := b.freed
		b.relieve()
		b.mu.Unlock()
		var err error
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-freed:
		}
		b.mu.Lock()
		if err != nil {
			return err
		}
	}
	b.used += n
	return nil
}

// leaveLine makes room for the next in line.
func (b *Budget) leaveLine(t *turn) {
	b.line = slices.DeleteFunc(b.line, func(o *turn) bool { return o == t })
	if len(b.line) > 0 {
		b.wake()
	}
}

// Take charges n bytes that are in memory already, whatever the limit says:
// what decompression made of an answer.
func (b *Budget) Take(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += n
	b.relieve()
}

// Release gives n bytes back.
func (b *Budget) Release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.wake()
}

// wake lets those who wait in Acquire look again.
func (b *Budget) wake() {
	close(b.freed)
	b.freed = make(chan struct{})
}

// Objects returns the bytes that are charged for laying out, and for objects.
func (b *Budget) Objects() int64 { return b.laidOut.used.Load() }

// Used returns the bytes that are charged for records.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// relieve asks the largest open batch, of equals the oldest, to be cut, if
// there is too little room even when all that is on its way to the store has
// arrived.
func (b *Budget) relieve() {
	var wanted int64 // by the first in line
	if len(b.line) > 0 {
		wanted = b.line[0].n
	}
	if b.limit == 0 || b.used-b.leaving+wanted <= b.limit {
		return
	}
	var largest *holder
	for _, h := range b.holders {
		if largest == nil || h.open > largest.open {
			largest = h
		}
	}
	if largest == nil || largest.open == 0 {
		return
	}
	if largest.give != nil {
		b.remove(largest)
		go largest.give()
		return
	}
	select {
	case largest.cut <- struct{}{}:
	default:
	}
}

// join adds an open batch that can be cut.
func (b *Budget) join() *holder {
	h := &holder{cut: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holders = append(b.holders, h)
	return h
}

// joinKept adds n bytes that give gives up.
func (b *Budget) joinKept(n int64, give func()) *holder {
	h := &holder{open: n, give: give}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holders = append(b.holders, h)
	b.relieve()
	return h
}

// leave removes it.
func (b *Budget) leave(h *holder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(h)
}

func (b *Budget) remove(h *holder) {
	b.holders = slices.DeleteFunc(b.holders, func(o *holder) bool { return o == h })
}

// grew says that the open batch holds n bytes more. One who waits may have
// found nothing to cut before.
func (b *Budget) grew(h *holder, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h.open += n
	b.relieve()
}

// left says that the open batch was cut, with all of its bytes.
func (b *Budget) left(h *holder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leaving += h.open
	h.open = 0
	select {
	case <-h.cut: // asked for before this cut
	default:
	}
}

// stayed takes back that n bytes left: they were not published.
func (b *Budget) stayed(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leaving -= n
}

// hold says that n bytes wait for more to be read: they belong to a pending
// range that is not whole yet. A negative n ends that.
func (b *Budget) hold(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held += n
	b.wake()
}

// landed releases n bytes that had left.
func (b *Budget) landed(n int64) {
	b.mu.Lock()
	b.leaving -= n
	b.mu.Unlock()
	b.Release(n)
}
