package writer

import (
	"context"
	"errors"
	"time"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// kept is what a session leaves when its assignment ends: the claim, and the
// records that were read and not published. If the partition comes back and
// nobody has claimed it meanwhile, the next session goes on with both.
type kept struct {
	log     *manifest.Log
	batches []*record.Batch
	expiry  *time.Timer
}

// keep holds on to what s leaves.
func (w *Writers) keep(s *session) {
	k := &kept{log: s.log, batches: s.unpublished()}
	at := place{s.Table, s.Partition}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.drained {
		w.drop(k)
		return
	}
	w.kept[at] = k
	k.expiry = time.AfterFunc(keepFor, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.kept[at] == k {
			delete(w.kept, at)
			w.drop(k)
		}
	})
}

// takeKept returns what an earlier session of the partition left, or nil.
func (w *Writers) takeKept(c Config) *kept {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := place{c.Table, c.Partition}
	k := w.kept[at]
	if k != nil {
		k.expiry.Stop()
		delete(w.kept, at)
	}
	return k
}

// drop releases the memory of what was kept.
func (w *Writers) drop(k *kept) {
	for _, b := range k.batches {
		w.budget.Release(b.Size())
	}
}

// resume goes on with a claim that was kept, if it still holds. It returns
// false when a fresh claim is needed.
func (s *session) resume(ctx context.Context, k *kept) (bool, error) {
	err := k.log.Resume(ctx)
	switch {
	case errors.Is(err, manifest.ErrFenced):
		s.writers.drop(k)
		return false, nil
	case err != nil:
		s.writers.drop(k)
		return false, err
	}
	next := k.log.Head().Next
	for len(k.batches) > 0 && k.batches[0].Start < next { // a publish whose answer had not come
		s.budget.Release(k.batches[0].Size())
		k.batches = k.batches[1:]
	}
	s.log, s.reader.back = k.log, k.batches
	return true, nil
}
