package writer

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// laidOut bounds the memory of laying out: what encoders work in, and the
// objects that they made until those are published.
//
// It is apart from the memory for records, and whoever has of it needs nothing
// more to publish, neither records nor more of it, and is behind no batch of its
// partition that waits for it; so waiting for it always ends.
type laidOut struct {
	limit int64
	free  *semaphore.Weighted // nil is no bound
	used  atomic.Int64
}

func newLaidOut(limit int64) *laidOut {
	l := &laidOut{limit: limit}
	if limit > 0 {
		l.free = semaphore.NewWeighted(limit)
	}
	return l
}

// acquire waits for n bytes, in turn, and returns what was taken: at most all
// there is, since one range may be larger.
func (l *laidOut) acquire(ctx context.Context, n int64) (int64, error) {
	if l.free != nil {
		n = min(n, l.limit)
		if err := l.free.Acquire(ctx, n); err != nil {
			return 0, err
		}
	}
	l.used.Add(n)
	return n, nil
}

// try takes n bytes if they are free now and nobody waits.
func (l *laidOut) try(n int64) (int64, bool) {
	if l.free != nil {
		n = min(n, l.limit)
		if !l.free.TryAcquire(n) {
			return 0, false
		}
	}
	l.used.Add(n)
	return n, true
}

// release gives back n bytes.
func (l *laidOut) release(n int64) {
	l.used.Add(-n)
	if l.free != nil {
		l.free.Release(n)
	}
}

// workBytes is what an encoder needs beside what it makes: open pages and
// dictionaries of some dozens of columns.
const workBytes = 16 << 20

// estimate returns what laying out u takes at its peak, when a row group is put
// together: its pages and the object, which are of one size. That is a share of
// the records, taken to be the one of the range before.
func (s *session) estimate(u *unit) int64 {
	size := u.size()
	return 1 + min(size, workBytes) + 2*size*s.share.Load()/1000
}

// provide gives a batch that was just cut its memory, if there is some. One that
// is behind a batch without does not get any: it would keep what that one waits
// for, and is published after it.
func (s *session) provide(u *unit) {
	given := false
	if s.short.Load() == 0 {
		u.laidOut, given = s.budget.laidOut.try(s.estimate(u))
	}
	if given {
		s.behind.Add(1)
	} else {
		s.short.Add(1)
	}
}

// reserve waits for the memory to lay out u, unless it has been given.
func (s *session) reserve(ctx context.Context, u *unit) (err error) {
	if u.laidOut == 0 {
		u.laidOut, err = s.budget.laidOut.acquire(ctx, s.estimate(u))
	}
	return err
}

// settle keeps of the memory of u what its objects take.
func (s *session) settle(u *unit) {
	n := int64(1)
	for _, body := range u.encoded.Bodies {
		n += int64(cap(body))
	}
	if size := u.size(); size > 0 {
		s.share.Store(min(1+1000*n/size, 1000))
	}
	if over := u.laidOut - n; over > 0 {
		s.budget.laidOut.release(over)
		u.laidOut = n
	}
}

// let releases the memory of the objects of u, which are not needed any more.
func (s *session) let(u *unit) {
	u.encoded.Bodies = nil
	s.budget.laidOut.release(u.laidOut)
	u.laidOut = 0
}
