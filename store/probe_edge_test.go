package store_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
)

// A call that fails, whichever it is, does not end the probe of a good store: a
// check is made again. Nothing is left behind.
func TestProbeFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		denied := errors.New("access is denied")
		for n := range probeCalls(t) {
			mem := &memory.Store{}
			var at fault.Call
			s := fault.Wrap(mem, func(_ context.Context, c fault.Call) fault.Action {
				if c.N != n+1 {
					return fault.Action{}
				}
				at = c
				return fault.Fail(denied)
			})
			r, err := store.Probe(t.Context(), s)
			if err != nil {
				t.Errorf("%s %s fails: err %v", at.Op, at.Key, err)
			}
			remarked := strings.Contains(r.Checks[len(r.Checks)-1].Detail, "it could not")
			if at.Op == fault.Delete != remarked {
				t.Errorf("%s %s fails: last check %+v", at.Op, at.Key, r.Checks[len(r.Checks)-1])
			}
			if left := keys(t, mem, "", ""); at.Op != fault.Delete && len(left) > 0 {
				t.Errorf("%s %s fails: the probe left %q", at.Op, at.Key, left)
			}
		}
	})
}

// probeCalls returns how many calls a probe of a good store makes.
func probeCalls(t *testing.T) int64 {
	t.Helper()
	whole := fault.Wrap(&memory.Store{}, nil)
	if _, err := store.Probe(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	return whole.Calls()
}

// A store that fails for good, from whichever call on, is told by its own
// error and is not called unsafe.
func TestProbeOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		denied := errors.New("access is denied")
		var told int
		for n := range probeCalls(t) {
			s := fault.Wrap(&memory.Store{}, func(_ context.Context, c fault.Call) fault.Action {
				if c.N <= n {
					return fault.Action{}
				}
				return fault.Fail(denied)
			})
			_, err := store.Probe(t.Context(), s)
			if errors.Is(err, store.ErrUnsafe) || err != nil && !errors.Is(err, denied) {
				t.Errorf("outage after %d calls: err %v", n, err)
			}
			if err != nil {
				told++
			}
		}
		if told == 0 {
			t.Error("no failure was told")
		}
	})
}

// One write in ten fails, in one of three ways, at random: a good store passes,
// and a conflict for nothing is no verdict. Which ones fail is a matter of the
// seed, the key and how often that was written, whatever comes first. (The seed
// is printed by a failure.)
func TestProbeOfAFailingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(50) {
			var mu sync.Mutex
			writes := map[string]int{}
			s := fault.Wrap(&memory.Store{}, func(_ context.Context, c fault.Call) fault.Action {
				if c.Op != fault.Put {
					return fault.Action{}
				}
				_, key, _ := strings.Cut(c.Key, "/") // the folder has another name each time
				mu.Lock()
				defer mu.Unlock()
				writes[key]++
				h := fnv.New64a()
				fmt.Fprint(h, key, writes[key])
				random := rand.New(rand.NewPCG(seed, h.Sum64()))
				if random.IntN(10) > 0 {
					return fault.Action{}
				}
				return []fault.Action{
					fault.Fail(errors.New("slow down")), fault.Fail(store.ErrConflict), fault.Lost(),
				}[random.IntN(3)]
			})
			if _, err := store.Probe(t.Context(), s); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
	})
}

// The probe writes into a folder of its own that is named at random, asks about
// as often as it says, and removes what it wrote.
func TestProbeFolder(t *testing.T) {
	var folders []string
	for range 2 {
		var mu sync.Mutex
		seen := map[string]bool{}
		s := fault.Wrap(&memory.Store{}, func(_ context.Context, c fault.Call) fault.Action {
			mu.Lock()
			defer mu.Unlock()
			folder, _, _ := strings.Cut(c.Key, "/")
			seen[folder] = true
			return fault.Action{}
		})
		if _, err := store.Probe(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if n := s.Calls(); n < 150 || n > 300 {
			t.Errorf("%d requests, the comment says about 200", n)
		}
		if len(seen) != 1 {
			t.Errorf("it wrote into %v", seen)
		}
		for folder := range seen {
			folders = append(folders, folder)
			if !strings.HasPrefix(folder, ".lakeweir-probe-") {
				t.Errorf("it wrote into %s", folder)
			}
		}
	}
	if folders[0] == folders[1] {
		t.Errorf("two probes share %s", folders[0])
	}
}

// Processes that start at once probe at once.
func TestProbesAtOnce(t *testing.T) {
	s := &memory.Store{}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if r, err := store.Probe(t.Context(), s); err != nil || len(r.Checks) != 8 {
				t.Errorf("%d checks, err %v", len(r.Checks), err)
			}
		})
	}
	all.Wait()
	if left := keys(t, s, "", ""); len(left) > 0 {
		t.Errorf("the probes left %q", left)
	}
}

// A probe that is stopped is not a verdict, and removes what it wrote.
func TestProbeStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	mem := &memory.Store{}
	s := fault.Wrap(mem, func(_ context.Context, c fault.Call) fault.Action {
		if c.N == 40 { // in the middle of the races
			cancel()
		}
		return fault.Action{}
	})
	if _, err := store.Probe(ctx, s); !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrUnsafe) {
		t.Errorf("err %v, want %v", err, context.Canceled)
	}
	if left := keys(t, mem, "", ""); len(left) > 0 {
		t.Errorf("the probe left %q", left)
	}
}

// far is a store whose every call takes a while, as over a long line.
type far struct{ memory.Store }

const farAway = 200 * time.Millisecond

func (f *far) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	time.Sleep(farAway)
	return f.Store.Put(ctx, key, body, cond)
}

func (f *far) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	time.Sleep(farAway)
	return f.Store.Get(ctx, key, span)
}

func (f *far) Stat(ctx context.Context, key string) (store.Info, error) {
	time.Sleep(farAway)
	return f.Store.Stat(ctx, key)
}

func (f *far) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	time.Sleep(farAway)
	return f.Store.List(ctx, prefix, after)
}

func (f *far) Delete(ctx context.Context, key string) error {
	time.Sleep(farAway)
	return f.Store.Delete(ctx, key)
}

// A probe holds up a start by no more than 15 calls, though it makes 200.
func TestProbeOfAFarStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if _, err := store.Probe(t.Context(), &far{}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > 15*farAway {
			t.Errorf("%v, as long as %d calls", took, took/farAway)
		}
	})
}
