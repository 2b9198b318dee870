package gated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/internal/backoff"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/store/storetest"
)

// down is the error of a store that is busy or failing.
type down struct{}

func (down) Error() string   { return "HTTP 503" }
func (down) HTTPStatus() int { return 503 }

// patient is a store whose calls take a time, fail with an error while there is
// one, and are counted.
type patient struct {
	store.Store
	takes time.Duration
	err   atomic.Pointer[error]
	mu    sync.Mutex
	calls int
	now   int // under way
	most  int // that ever were
}

func (p *patient) fail(err error) { p.err.Store(&err) }

// reset returns what was counted, and begins to count anew.
func (p *patient) reset() (calls, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls, most = p.calls, p.most
	p.calls, p.most = 0, p.now
	return calls, most
}

func (p *patient) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	p.mu.Lock()
	p.calls++
	p.now++
	p.most = max(p.most, p.now)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.now--
	}()
	select {
	case <-time.After(p.takes):
	case <-ctx.Done():
		return store.Info{}, ctx.Err()
	}
	if err := p.err.Load(); err != nil && *err != nil {
		return store.Info{}, *err
	}
	return p.Store.Put(ctx, key, body, cond)
}

// try puts a key again and again, as a partition does.
func try(ctx context.Context, s store.Store, key string) error {
	var pause backoff.Pause
	for {
		if _, err := s.Put(ctx, key, nil, store.IfAbsent()); err == nil {
			return nil
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// A gate that nothing is held back by is the store behind it.
func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return Wrap(&memory.Store{}) })
}

// Two thousand partitions whose store is down for ten minutes ask it a few
// times a second, all of them together; when it is back all of them get through,
// and not all at once (B42).
func TestOutage(t *testing.T) {
	const partitions = 2000
	f := func(takes time.Duration, err error, perMinute, atOnce int, back time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			p := &patient{Store: &memory.Store{}, takes: takes}
			p.fail(err)
			s := Wrap(p)
			var all sync.WaitGroup
			for n := range partitions {
				all.Go(func() {
					if err := try(t.Context(), s, fmt.Sprint("k", n)); err != nil {
						t.Error(err)
					}
				})
			}
			time.Sleep(150 * time.Second) // those that were under way before it was noticed end
			p.reset()
			for minute := range 10 {
				time.Sleep(time.Minute)
				if calls, most := p.reset(); calls == 0 || calls > perMinute || most > atOnce {
					t.Errorf("minute %d: %d calls, %d at once, want up to %d and %d", minute, calls, most, perMinute, atOnce)
				}
			}
			p.fail(nil)
			begin := time.Now()
			all.Wait()
			took := time.Since(begin)
			_, most := p.reset()
			t.Logf("back after %v, up to %d calls at once", took, most)
			if took > back || most == partitions {
				t.Errorf("back after %v, %d at once, want %v", took, most, back)
			}
		})
	}
	perMinute := scouts * int(time.Minute/rest+1)
	// It refuses at once, and answers at once when it is back.
	f(0, down{}, perMinute, scouts, 2*time.Second)
	f(20*time.Millisecond, down{}, perMinute, scouts, 2*time.Second)
	// It hangs until the deadline of a call, and is slow when it is back.
	f(time.Minute, deadline{}, scouts, scouts, 15*time.Minute)
}

// deadline is the error of a call that took too long.
type deadline struct{}

func (deadline) Error() string { return "no answer within 1m0s" }
func (deadline) Timeout() bool { return true }

// closed returns a gate that holds calls back, and its store.
func closed(t *testing.T) (*Store, *patient) {
	t.Helper()
	p := &patient{Store: &memory.Store{}}
	p.fail(down{})
	s := Wrap(p)
	for range trust {
		if _, err := s.Put(t.Context(), "k", nil, store.Blind()); err == nil {
			t.Fatal("no error")
		}
	}
	return s, p
}

// empty fails unless nobody is under way and nobody waits.
func empty(t *testing.T, s *Store) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out != 0 || len(s.queue) != 0 {
		t.Errorf("%d out, %d wait", s.out, len(s.queue))
	}
}

// Who gives up while he waits leaves, and takes no place with him: the last in
// the queue still gets through.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := closed(t)
		p.takes = time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		ends := make(chan error, 100)
		for range cap(ends) {
			go func() {
				_, err := s.Put(ctx, "k", nil, store.Blind())
				ends <- err
			}()
		}
		synctest.Wait()
		if _, most := p.reset(); most != scouts {
			t.Errorf("%d calls are under way, want %d", most, scouts)
		}
		cancel()
		for range cap(ends) {
			if err := <-ends; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		p.fail(nil)
		p.takes = 0
		if _, err := s.Put(t.Context(), "k", nil, store.Blind()); err != nil {
			t.Error(err)
		}
		empty(t, s)
	})
}

// A caller that is given up at the moment in which its turn comes hands it on.
// Every order of the two is met by trying often.
func TestGivenUpAtItsTurn(t *testing.T) {
	for n := range 500 {
		synctest.Test(t, func(t *testing.T) {
			s, p := closed(t)
			p.takes = time.Millisecond
			var all sync.WaitGroup
			for range 3 * scouts {
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), rest+time.Duration(n%3)*time.Millisecond)
					defer cancel()
					_, _ = s.Put(ctx, "k", nil, store.Blind()) // it fails, one way or the other
				})
			}
			all.Wait()
			time.Sleep(2 * rest)
			empty(t, s)
		})
	}
}

// Lists whose readers make calls of their own, more than there are places for,
// do not wait for each other.
func TestListsWithCallsInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := closed(t)
		for i := range 3 {
			if _, err := p.Store.Put(t.Context(), fmt.Sprint("l", i), nil, store.IfAbsent()); err != nil {
				t.Fatal(err)
			}
		}
		p.fail(nil)
		var all sync.WaitGroup
		for range 10 * scouts {
			all.Go(func() {
				var keys []string
				for i, err := range s.List(t.Context(), "l", "") {
					if _, gerr := s.Get(t.Context(), i.Key, store.Span{}); err != nil || gerr != nil {
						t.Error(err, gerr)
					}
					keys = append(keys, i.Key)
				}
				if !slices.Equal(keys, []string{"l0", "l1", "l2"}) {
					t.Errorf("listed %q", keys)
				}
			})
		}
		all.Wait()
	})
}

// Only calls without an answer count, and only in a row: what a working store
// says of a condition, a key that is not there, and what a caller gives up, hold
// nobody back.
func TestWhatCounts(t *testing.T) {
	f := func(err error, counts bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := Wrap(fault.Wrap(&memory.Store{}, func(context.Context, fault.Call) fault.Action { return fault.Fail(err) }))
			for range trust {
				_, _ = s.Stat(t.Context(), "k") // it is err
			}
			if is := s.fails >= trust; is != counts {
				t.Errorf("%v: holds back %v, want %v", err, is, counts)
			}
		})
	}
	f(down{}, true)
	f(deadline{}, true)
	f(store.ErrConflict, false)
	f(store.ErrNotExist, false)
	f(errors.New("an error of its own kind"), false)
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := Wrap(fault.Wrap(&memory.Store{}, func(context.Context, fault.Call) fault.Action {
			if n++; n%trust == 0 {
				return fault.Action{}
			}
			return fault.Fail(down{})
		}))
		for range 10 * trust {
			if _, _ = s.Stat(t.Context(), "k"); s.fails >= trust {
				t.Fatal("a store that answers now and then is waited for")
			}
		}
	})
}
