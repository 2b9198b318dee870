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
	since   time.Time // when the first of them came
	holder  *holder
	expiry  *time.Timer
}

// keep holds on to what s leaves.
func (w *Writers) keep(s *session) {
	k := &kept{log: s.log, since: s.oldest(), batches: s.unpublished()}
	at := place{s.Table, s.Partition}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.drained {
		w.drop(k)
		return
	}
	w.kept[at] = k
	give := func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.kept[at] == k {
			delete(w.kept, at)
			w.budget.leave(k.holder)
			w.drop(k)
		}
	}
	k.expiry = time.AfterFunc(keepFor, give)
	k.holder = w.budget.joinKept(k.size(), give)
}

// size returns the memory that k takes.
func (k *kept) size() (n int64) {
	for _, b := range k.batches {
		n += b.Size()
	}
	return n
}

// takeKept returns what an earlier session of the partition left, or nil.
func (w *Writers) takeKept(c Config) *kept {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := place{c.Table, c.Partition}
	k := w.kept[at]
	if k != nil {
		k.expiry.Stop()
		w.budget.leave(k.holder)
		delete(w.kept, at)
	}
	return k
}

// drop releases the memory of what was kept.
func (w *Writers) drop(k *kept) {
	w.budget.Release(k.size())
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
	s.log = k.log
	err = s.sameLog(ctx)
	if n := len(k.batches); n > 0 && err == nil {
		err = s.reached(ctx, k.batches[n-1].LeaderEpoch, k.batches[n-1].Next)
	}
	if err != nil { // a fresh claim tells why
		s.writers.drop(k)
		return false, nil
	}
	next := k.log.Head().Next
	for len(k.batches) > 0 && k.batches[0].Start < next { // a publish whose answer had not come
		s.budget.Release(k.batches[0].Size())
		k.batches = k.batches[1:]
	}
	if len(k.batches) > 0 && k.batches[0].Start != next { // what the log lost before it is to be counted
		s.writers.drop(k)
		k.batches = nil
	}
	if len(k.batches) > 0 {
		s.since = k.since
	}
	s.reader.back = k.batches
	return true, nil
}
