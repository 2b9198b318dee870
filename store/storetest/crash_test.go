package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/store/storetest"
)

// count is a work with a known good end: it adds up to 3 at "n", one Put per
// step, and settles conflicts and lost answers by reading.
func count(ctx context.Context, s store.Store) error {
	for {
		o, err := s.Get(ctx, "n", store.Span{})
		cond := store.IfMatch(o.ETag)
		switch {
		case errors.Is(err, store.ErrNotExist):
			cond = store.IfAbsent()
		case errors.Is(err, fault.ErrLost):
			continue
		case err != nil:
			return err
		case len(o.Body) == 3:
			return nil
		}
		_, err = s.Put(ctx, "n", append(o.Body, '1'), cond)
		if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, fault.ErrLost) {
			return err
		}
	}
}

func isThree(t *testing.T, s store.Store) {
	t.Helper()
	o, err := s.Get(t.Context(), "n", store.Span{})
	if err != nil || string(o.Body) != "111" {
		t.Errorf("n holds %q, err %v, want 111", o.Body, err)
	}
}

// The good work stands every fault, and the harness tries as many as it says.
func TestGoodWork(t *testing.T) {
	calls := len(storetest.Whole(t, count, isThree))
	if calls != 7 {
		t.Fatalf("%d calls, want 4 gets and 3 puts", calls)
	}
	checks := 0
	check := func(t *testing.T, s store.Store) { checks++; isThree(t, s) }
	f := func(name string, want int, every func(t *testing.T)) {
		t.Helper()
		checks = 0
		t.Run(name, every)
		if checks != want {
			t.Errorf("%s: %d checks, want %d", name, checks, want)
		}
	}
	// Once whole, then three ways at each call.
	f("crash", 1+3*calls, func(t *testing.T) { storetest.EveryCrash(t, count, count, check) })
	// Once whole, then each Put.
	f("lost", 1+3, func(t *testing.T) { storetest.EveryLost(t, count, check) })
	// Once whole, then before each call.
	f("pause", 1+calls, func(t *testing.T) { storetest.EveryPause(t, count, count, check) })
}

// A crashed process knows by its context, so it may retry for ever.
func TestDeadContext(t *testing.T) {
	stubborn := func(ctx context.Context, s store.Store) error {
		for {
			err := count(ctx, s)
			if err == nil || ctx.Err() != nil {
				return err
			}
		}
	}
	storetest.EveryCrash(t, stubborn, count, isThree)
	if !storetest.Crash(t, &memory.Store{}, 3, stubborn) {
		t.Error("7 calls came to no 3rd")
	}
	if storetest.Crash(t, &memory.Store{}, 8, stubborn) {
		t.Error("7 calls came to an 8th")
	}
}

// Three processes: one is paused, one dies in the pause, one goes on from there.
func TestThreeProcesses(t *testing.T) {
	for n := int64(1); n <= 7; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			others := func(ctx context.Context, s store.Store) error {
				storetest.Crash(t, s, n, count)
				return count(ctx, s)
			}
			storetest.EveryPause(t, count, others, isThree)
		})
	}
}
