package dedup

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Errors that callers branch on.
var (
	// ErrFull: a window in time would pass Options.MaxIDs. It is never made
	// shorter to fit; the window is as it was before.
	ErrFull = errors.New("the dedup window would pass max_ids")

	// ErrOrder: a call that does not follow from the ones before it. It points
	// at a defect of the caller; the window is as it was before.
	ErrOrder = errors.New("dedup calls out of order")
)

// Options say how long an id is remembered. Exactly one of Offsets and Time is
// set.
type Options struct {
	Offsets int64         // positions of the log; memory grows with it
	Time    time.Duration // of record timestamps, in whole milliseconds
	MaxIDs  int           // with Time: how many ids the window may hold; required
}

// maxIDs is the most that a window holds: some 40 GB of them.
const maxIDs = 1 << 30

func (o Options) validate() error {
	switch {
	case (o.Offsets != 0) == (o.Time != 0):
		return errors.New("dedup window: set either offsets or time")
	case o.Offsets < 0 || o.Time < 0:
		return errors.New("dedup window: offsets and time are not negative")
	case o.Offsets > maxIDs || o.MaxIDs > maxIDs:
		return fmt.Errorf("dedup window: more than %d ids do not fit", maxIDs)
	case o.Time != 0 && o.MaxIDs <= 0:
		return errors.New("dedup window: a window in time needs max_ids, which bounds its memory")
	case o.Time == 0 && o.MaxIDs != 0:
		return errors.New("dedup window: max_ids belongs to a window in time; one in offsets holds as many ids as offsets at the most")
	case o.Time%time.Millisecond != 0:
		return errors.New("dedup window: record times are whole milliseconds, so the window is too")
	}
	return nil
}

// ids is how many ids the window holds at the most.
func (o Options) ids() int { return max(int(o.Offsets), o.MaxIDs) }

// Memory returns the bytes that a window with these options takes from its
// start. Rows kept since the last Commit come on top, see [Window.Memory].
func (o Options) Memory() (int64, error) {
	if err := o.validate(); err != nil {
		return 0, err
	}
	return int64(slotsFor(limitFor(o.ids()))) * slotSize(o.Time > 0), nil
}

// horizon is how far a stream has come: what decides which rows are in the window.
type horizon struct {
	next int64 // one more than the largest offset of a kept row
	time int64 // the largest time of a kept row, in milliseconds
}

// start is the horizon of a stream of which no row was kept.
var start = horizon{time: math.MinInt64}

// with returns the horizon once a row was kept.
func (h horizon) with(offset, time int64) horizon {
	return horizon{next: max(h.next, offset+1), time: max(h.time, time)}
}

// Window remembers the ids of kept rows. It is used by one goroutine at a time.
type Window struct {
	offsets, millis int64 // one of them is zero
	maxIDs          int   // of a window in time
	table           table
	now             horizon // of all rows kept
	committed       horizon // of the rows that are never taken back: what is out of the window of these is forgotten
	alive           int     // no fewer ids than are in the window now; exact after count
	undo            []change
	undone          int64 // changes that were committed and so are not in undo
}

// change is what a Keep put into the table, and what it replaced there.
type change struct {
	id  ID
	old entry // the zero entry if there was none
}

// New returns an empty window.
func New(o Options) (*Window, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Window{
		offsets: o.Offsets, millis: o.Time.Milliseconds(), maxIDs: o.MaxIDs,
		table: newTable(limitFor(o.ids()), o.Time > 0), now: start, committed: start,
	}, nil
}

// Seen reports whether the record at offset with this id is a duplicate, and at
// which offset the row lies that was kept.
func (w *Window) Seen(id ID, offset int64) (at int64, dup bool) {
	slot, ok := w.table.find(id)
	if !ok {
		return 0, false
	}
	e := w.table.entry(slot)
	h := w.now
	h.next = max(h.next, offset)
	if !w.inside(e, h) {
		return 0, false
	}
	return e.offset(), true
}

// Keep remembers a row. Offsets ascend. The row is taken back by a Rollback to
// an earlier Mark. After ErrFull the row must not be published.
func (w *Window) Keep(id ID, offset, time int64) error {
	if offset < w.now.next {
		return fmt.Errorf("%w: row at offset %d is kept after one at %d", ErrOrder, offset, w.now.next-1)
	}
	old, stored, err := w.put(id, offset, time)
	if err != nil {
		return err
	}
	if stored {
		w.undo = append(w.undo, change{id: id, old: old})
	}
	return nil
}

// put takes a row into the table, unless it is out of the window at once.
func (w *Window) put(id ID, offset, time int64) (old entry, stored bool, err error) {
	if offset < 0 || offset == math.MaxInt64 {
		return entry{}, false, fmt.Errorf("%w: no row lies at offset %d", ErrOrder, offset)
	}
	h, e := w.now.with(offset, time), newEntry(offset, time)
	if !w.inside(e, h) {
		w.now = h
		return entry{}, false, nil
	}
	slot, ok := w.table.find(id)
	if ok {
		old = w.table.entry(slot)
		if !w.before(old, e) {
			w.now = h
			return entry{}, false, nil
		}
	}
	if !ok || !w.inside(old, h) {
		if err := w.room(h); err != nil {
			return entry{}, false, err
		}
		w.alive++
	}
	w.now = h
	if !ok && w.table.full() {
		w.sweep()
	}
	w.table.set(id, e)
	return old, true, nil
}

// before reports whether a leaves the window before b does. While rows are
// restored in any order two of one id may seem to be inside; at the end the one
// that leaves last is, or none. So the order does not matter.
func (w *Window) before(a, b entry) bool {
	if w.offsets > 0 {
		return a.at < b.at
	}
	return a.time < b.time
}

// inside reports whether an entry is in the window when the stream has come to h.
func (w *Window) inside(e entry, h horizon) bool {
	if w.offsets > 0 {
		return h.next-e.offset() <= w.offsets
	}
	edge := h.time - w.millis
	return edge > h.time || e.time >= edge // an edge before all time holds everything
}

// room returns ErrFull if one id more does not fit into a window in time.
func (w *Window) room(h horizon) error {
	if w.maxIDs == 0 || w.alive < w.maxIDs {
		return nil
	}
	if w.count(h); w.alive >= w.maxIDs {
		return fmt.Errorf("%w (%d) within %v of record time: raise it, or make the window shorter", ErrFull, w.maxIDs, time.Duration(w.millis)*time.Millisecond)
	}
	return nil
}

// count makes alive exact for h.
func (w *Window) count(h horizon) {
	w.alive = 0
	for slot := range w.table.slots {
		if e := w.table.entry(slot); e.used() && w.inside(e, h) {
			w.alive++
		}
	}
}

// sweep forgets what is out of the window whatever is taken back, and makes the
// table larger if that does not free much: then many rows wait for Commit.
func (w *Window) sweep() {
	for slot := 0; slot < w.table.slots; {
		if e := w.table.entry(slot); e.used() && !w.inside(e, w.committed) {
			w.table.remove(slot) // another may come into its place: look again
			continue
		}
		slot++
	}
	if w.table.limit-w.table.used < w.table.limit/32 || w.table.full() {
		w.table.grow()
	}
}

// Covers reports whether a row that was kept at offset with this time would be
// in the window of the next record. No row of a file is whose largest offset
// and time are not.
func (w *Window) Covers(offset, time int64) bool {
	return w.inside(newEntry(offset, time), w.now)
}

// Len returns how many ids are in the window of the next record. It looks at
// every slot.
func (w *Window) Len() int {
	w.count(w.now)
	return w.alive
}

// Memory returns the bytes that the window holds.
func (w *Window) Memory() int64 {
	return w.table.memory() + int64(cap(w.undo))*changeSize
}
