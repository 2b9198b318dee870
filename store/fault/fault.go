// Package fault is a store.Store around another that fails, stops or loses an
// answer at a chosen call.
//
// The Store stands for what one process sees. A [Script] is asked at every call
// how to meet it and answers with an [Action]. Crash tests number the calls and
// let the process die at one of them; a simulation pauses one process while
// another goes on; a child process of the demo kills itself at a named step.
package fault

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/lakeweir/lakeweir/store"
)

var (
	// ErrDead is the answer to every call of a process that is dead.
	ErrDead = errors.New("process is dead")

	// ErrLost is the answer to a call that reached the store when the answer
	// of the store was lost on the way back.
	ErrLost = errors.New("connection reset: the answer is lost")
)

// Op is a method of store.Store.
type Op string

// The methods of store.Store.
const (
	Get    Op = "get"
	Stat   Op = "stat"
	Put    Op = "put"
	List   Op = "list"
	Delete Op = "delete"
)

// Call is one call of the process to its store. A list counts as one, when its
// first object is asked for.
type Call struct {
	N    int64      // 1 for the first call
	Op   Op         // which method
	Key  string     // the key; for List the prefix
	Size int        // of the body of a Put, in bytes
	Cond store.Cond // of a Put
}

// Script says how a call is met. The calls come one by one, in the order of
// their numbers, so it may keep counts without a lock. It must not block: what
// takes time belongs into the Action.
type Script func(ctx context.Context, c Call) Action

// Store is a store.Store that asks a Script about every call.
type Store struct {
	inner   store.Store
	script  Script
	onDeath func()

	mu   sync.Mutex // guards all below, and makes the calls to script one by one
	n    int64
	dead bool
}

// Wrap returns s as a process sees it whose calls are met as script says. A nil
// script lets every call pass.
func Wrap(s store.Store, script Script) *Store {
	if script == nil {
		script = func(context.Context, Call) Action { return Action{} }
	}
	return &Store{inner: s, script: script}
}

// OnDeath lets f run once when the process dies, for example to cancel the
// context of its work. It is set before the first call.
func (s *Store) OnDeath(f func()) { s.onDeath = f }

// Calls returns how many calls were made by the living process.
func (s *Store) Calls() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// Kill makes the process dead now. A call that waits in an Action never reaches
// the store.
func (s *Store) Kill() {
	s.mu.Lock()
	died := !s.dead
	s.dead = true
	s.mu.Unlock()
	if died && s.onDeath != nil {
		s.onDeath()
	}
}

// Dead reports whether the process is dead.
func (s *Store) Dead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// next numbers the call and asks the script.
func (s *Store) next(ctx context.Context, c Call) (Action, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return Action{}, ErrDead
	}
	s.n++
	c.N = s.n
	return s.script(ctx, c), nil
}

// do makes one call: reach is what it does to the store, late the same after
// the caller has gone on (nil for a call that changes nothing).
func (s *Store) do(ctx context.Context, c Call, reach, late func() error) error {
	a, err := s.next(ctx, c)
	if err == nil {
		err = s.meet(ctx, a, reach, late)
	}
	if s.Dead() {
		err = ErrDead
	}
	if errors.Is(err, ErrDead) || errors.Is(err, ErrLost) {
		return fmt.Errorf("%s %s: %w", c.Op, c.Key, err)
	}
	return err
}

func (s *Store) meet(ctx context.Context, a Action, reach, late func() error) error {
	if a.Dies {
		defer s.Kill()
	}
	if a.Before != nil {
		if err := a.Before(ctx); err != nil {
			return err
		}
	}
	if s.Dead() {
		return ErrDead
	}
	if a.Late != nil {
		if late != nil {
			a.Late(late)
		}
		return ErrLost
	}
	err := reach()
	if a.After != nil {
		err = a.After(err)
	}
	return err
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string, span store.Span) (o store.Object, err error) {
	err = s.do(ctx, Call{Op: Get, Key: key}, func() (err error) {
		o, err = s.inner.Get(ctx, key, span)
		return err
	}, nil)
	if err != nil {
		return store.Object{}, err
	}
	return o, nil
}

// Stat implements store.Store.
func (s *Store) Stat(ctx context.Context, key string) (i store.Info, err error) {
	err = s.do(ctx, Call{Op: Stat, Key: key}, func() (err error) {
		i, err = s.inner.Stat(ctx, key)
		return err
	}, nil)
	if err != nil {
		return store.Info{}, err
	}
	return i, nil
}

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, key string, body []byte, cond store.Cond) (i store.Info, err error) {
	err = s.do(ctx, Call{Op: Put, Key: key, Size: len(body), Cond: cond}, func() (err error) {
		i, err = s.inner.Put(ctx, key, body, cond)
		return err
	}, func() error {
		_, err := s.inner.Put(context.WithoutCancel(ctx), key, body, cond)
		return err
	})
	if err != nil {
		return store.Info{}, err
	}
	return i, nil
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	return s.do(ctx, Call{Op: Delete, Key: key},
		func() error { return s.inner.Delete(ctx, key) },
		func() error { return s.inner.Delete(context.WithoutCancel(ctx), key) })
}

// List implements store.Store. When its answer is lost, or the process dies
// after it, the error takes the place of its end.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		stopped := false
		err := s.do(ctx, Call{Op: List, Key: prefix}, func() error {
			for i, err := range s.inner.List(ctx, prefix, after) {
				if err != nil {
					return err
				}
				if s.Dead() {
					return ErrDead
				}
				if stopped = !yield(i, nil); stopped {
					return nil
				}
			}
			return nil
		}, nil)
		if err != nil && !stopped {
			yield(store.Info{}, err)
		}
	}
}
