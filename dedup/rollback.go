package dedup

import "fmt"

// changeSize is the size of a change in memory.
const changeSize = 32

// Mark is a point in the stream of kept rows that can be gone back to.
type Mark struct {
	changes int64
	now     horizon
}

// Mark returns the point that the window has come to.
func (w *Window) Mark() Mark {
	return Mark{changes: w.undone + int64(len(w.undo)), now: w.now}
}

// Rollback takes back every row kept since m, and the marks since then. It
// returns ErrOrder if rows before m were taken back, or rows after m committed.
func (w *Window) Rollback(m Mark) error {
	if err := w.check(m); err != nil {
		return err
	}
	keep := int(m.changes - w.undone)
	for i := len(w.undo) - 1; i >= keep; i-- {
		c := w.undo[i]
		if c.old.used() {
			w.table.set(c.id, c.old)
		} else if slot, ok := w.table.find(c.id); ok {
			w.table.remove(slot)
		}
	}
	w.undo, w.now = w.undo[:keep], m.now
	if w.maxIDs > 0 {
		w.count(w.now) // the window may reach further back than before
	}
	return nil
}

// Commit says that the rows kept before m are published: they are never taken
// back, and what they put out of the window is forgotten.
func (w *Window) Commit(m Mark) error {
	if err := w.check(m); err != nil {
		return err
	}
	n := int(m.changes - w.undone)
	w.undo = w.undo[:copy(w.undo, w.undo[n:])]
	w.undone, w.committed = m.changes, m.now
	return nil
}

func (w *Window) check(m Mark) error {
	if m.changes < w.undone || m.changes > w.undone+int64(len(w.undo)) || m.now.next < w.committed.next || m.now.next > w.now.next {
		return fmt.Errorf("%w: the mark at offset %d is not between what is committed and what is kept", ErrOrder, m.now.next)
	}
	return nil
}

// Begin says, before the first Restore, how far the published rows reach: next
// is one more than the largest offset of a row, time the largest time of one.
// It lets rows be restored in any order within Options.MaxIDs, and Covers say
// which are needed.
func (w *Window) Begin(next, time int64) error {
	if w.now != start || next < 0 {
		return fmt.Errorf("%w: begin at offset %d of a window that has begun at %d", ErrOrder, next, w.now.next)
	}
	w.now = horizon{next: next, time: time}
	w.committed = w.now
	return nil
}

// Restore remembers a row that is published. Rows come in any order, before the
// first Keep. It returns ErrFull as Keep does.
func (w *Window) Restore(id ID, offset, time int64) error {
	if w.undone > 0 || len(w.undo) > 0 {
		return fmt.Errorf("%w: row at offset %d is restored after others were kept", ErrOrder, offset)
	}
	_, _, err := w.put(id, offset, time)
	w.committed = w.now
	return err
}
