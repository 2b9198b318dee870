package store_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
)

// A call that fails, whichever it is, does not make a good store an unsafe one,
// is told by its own error, and leaves nothing behind.
func TestProbeFailures(t *testing.T) {
	denied := errors.New("access is denied")
	whole := fault.Wrap(&memory.Store{}, nil)
	if _, err := store.Probe(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	var told int
	for n := range whole.Calls() {
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
		if errors.Is(err, store.ErrUnsafe) || err != nil && !errors.Is(err, denied) {
			t.Errorf("%s %s fails: err %v", at.Op, at.Key, err)
		}
		if err != nil {
			told++
		}
		remarked := strings.Contains(r.Checks[len(r.Checks)-1].Detail, "it could not")
		if at.Op == fault.Delete != remarked {
			t.Errorf("%s %s fails: last check %+v", at.Op, at.Key, r.Checks[len(r.Checks)-1])
		}
		if left := keys(t, mem, "", ""); at.Op != fault.Delete && len(left) > 0 {
			t.Errorf("%s %s fails: the probe left %q", at.Op, at.Key, left)
		}
	}
	if told == 0 {
		t.Error("no failure was told")
	}
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
