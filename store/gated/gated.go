// Package gated is a store.Store around another that is asked by many at once,
// and that keeps them from asking all at once while the store does not answer.
//
// Each partition of a process tries its own calls again, with pauses of its
// own. While a store is down, thousands of partitions make hundreds of calls a
// second that way, which it has to turn away when it wants to get up. So after
// some calls in a row that all ended without an answer, a few go on trying and
// all others wait. The first answer lets more of them go, then more and more.
package gated

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/metered"
)

const (
	// trust is how many calls in a row may end without an answer before the
	// others wait. A store that fails one call in two rarely fails so many.
	trust = 8
	// scouts is how many calls are under way then.
	scouts = 4
	// rest is how long the place of a scout that got no answer stays taken: a
	// store that refuses at once is asked scouts times in a rest.
	rest = time.Second
)

// Store is a store.Store that holds calls back while its store does not answer.
// Wrap makes one.
//
// None waits for ever. A call waits only while scouts are out, each of which is
// a single call of the inner store or its rest; that a call of a driver ends is
// its deadline. At its end the next one goes. A scout runs no code of a caller:
// a list has its place only until its first answer.
type Store struct {
	inner store.Store

	mu    sync.Mutex
	fails int             // calls in a row that ended without an answer
	out   int             // scouts that are under way or rest
	queue []chan struct{} // of calls that wait, the oldest first; closed to let one go
}

// Wrap returns s with a gate before it.
func Wrap(s store.Store) *Store { return &Store{inner: s} }

// enter waits until a call may go. The call says how it ended by done, unless
// the error is that of ctx.
func (s *Store) enter(ctx context.Context) (scout bool, err error) {
	s.mu.Lock()
	if s.fails < trust {
		s.mu.Unlock()
		return false, nil
	}
	if s.out < scouts {
		s.out++
		s.mu.Unlock()
		return true, nil
	}
	turn := make(chan struct{})
	s.queue = append(s.queue, turn)
	s.mu.Unlock()
	select {
	case <-turn:
		return true, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.queue, turn); i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
	} else {
		s.back(0) // its turn came at the same moment
	}
	return false, ctx.Err()
}

// done notes how a call ended.
func (s *Store) done(ctx context.Context, scout bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch metered.OutcomeOf(ctx, err) {
	case metered.OK, metered.Conflict, metered.Absent:
		s.fails = 0
		if scout {
			s.back(2)
		}
		return
	case metered.Throttled, metered.Unavailable, metered.Timeout, metered.Denied:
		s.fails++
		if scout {
			time.AfterFunc(rest, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.back(0)
			})
		}
		return
	}
	if scout { // it tells nothing: given up, or an error of its own kind
		s.back(0)
	}
}

// back takes a scout back and lets the next ones go: as many as there are
// places, and at least so many more. It is called under s.mu.
func (s *Store) back(more int) {
	s.out--
	for len(s.queue) > 0 && (more > 0 || s.out < scouts) {
		close(s.queue[0])
		s.queue = s.queue[1:]
		s.out++
		more--
	}
}

// through runs a call behind the gate.
func through[T any](ctx context.Context, s *Store, call func() (T, error)) (T, error) {
	scout, err := s.enter(ctx)
	if err != nil {
		var none T
		return none, err
	}
	got, err := call()
	s.done(ctx, scout, err)
	return got, err
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	return through(ctx, s, func() (store.Object, error) { return s.inner.Get(ctx, key, span) })
}

// Stat implements store.Store.
func (s *Store) Stat(ctx context.Context, key string) (store.Info, error) {
	return through(ctx, s, func() (store.Info, error) { return s.inner.Stat(ctx, key) })
}

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	return through(ctx, s, func() (store.Info, error) { return s.inner.Put(ctx, key, body, cond) })
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	_, err := through(ctx, s, func() (struct{}, error) { return struct{}{}, s.inner.Delete(ctx, key) })
	return err
}

// List implements store.Store. Only its first answer is waited for behind the
// gate: what its reader does between two objects may be calls too.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		scout, err := s.enter(ctx)
		if err != nil {
			yield(store.Info{}, err)
			return
		}
		answered := false
		for i, err := range s.inner.List(ctx, prefix, after) {
			if !answered {
				answered = true
				s.done(ctx, scout, err)
			}
			if !yield(i, err) {
				return
			}
		}
		if !answered {
			s.done(ctx, scout, nil)
		}
	}
}
