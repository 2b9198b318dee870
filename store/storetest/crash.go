// Package storetest proves that a store.Store keeps its contract, and stops
// the users of one at every call so that they can be proved too. Only tests
// import it.
package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
)

// Work is what one process does with its store, from its start to its end.
type Work func(ctx context.Context, s store.Store) error

// Check looks at what processes left in a store.
type Check func(t *testing.T, s store.Store)

// hows are the ways a call can go wrong.
var hows = []struct {
	name   string
	action func() fault.Action
}{
	{"before", fault.Before},
	{"after", fault.After},
	{"lost", fault.Lost},
}

// Whole runs work once, undisturbed, on an empty store in memory, checks what it
// made, and returns the calls that it made.
func Whole(t *testing.T, work Work, check Check) []fault.Call {
	t.Helper()
	var calls []fault.Call
	mem := &memory.Store{}
	s := fault.Wrap(mem, func(_ context.Context, c fault.Call) fault.Action {
		calls = append(calls, c)
		return fault.Action{}
	})
	if err := work(t.Context(), s); err != nil {
		t.Fatal("undisturbed: ", err)
	}
	check(t, mem)
	return calls
}

// EveryCrash runs first once whole to count its calls to the store. Then, for
// every call and three ways (the process dies before the call reaches the
// store, it dies after the call took effect, the answer is lost and it lives),
// first meets that on an empty store. After a death, of which its context tells
// too, again runs on what was left; after a lost answer only if first gave up
// with an error. check looks at the end. first and again may differ in
// software, triggers or owner.
func EveryCrash(t *testing.T, first, again Work, check Check) {
	t.Helper()
	for _, call := range Whole(t, first, check) {
		for _, how := range hows {
			t.Run(name(how.name, call), func(t *testing.T) {
				mem := &memory.Store{}
				s, err := runMet(t, mem, first, fault.AtCall(call.N, how.action()))
				if err != nil || s.Dead() {
					if err := again(t.Context(), mem); err != nil {
						t.Fatal("after the restart: ", err)
					}
				}
				check(t, mem)
			})
		}
	}
}

// EveryLost runs work once whole, then once for every Put and Delete that it
// made, with the answer to that one lost. The process is not started again, so
// work must come to its end by itself, and check must like what it made.
func EveryLost(t *testing.T, work Work, check Check) {
	t.Helper()
	for _, call := range Whole(t, work, check) {
		if call.Op != fault.Put && call.Op != fault.Delete {
			continue
		}
		t.Run(name("lost", call), func(t *testing.T) {
			mem := &memory.Store{}
			if _, err := runMet(t, mem, work, fault.AtCall(call.N, fault.Lost())); err != nil {
				t.Fatal("without a restart: ", err)
			}
			check(t, mem)
		})
	}
}

// EveryPause runs first with a pause before each of its calls in turn. In the
// pause other runs whole; then first goes on, as a process does that was
// stopped for an hour. first may fail, other may not; check looks at what both
// made. With an other that itself crashes once and starts again this is the
// test with three processes.
func EveryPause(t *testing.T, first, other Work, check Check) {
	t.Helper()
	for _, call := range Whole(t, first, check) {
		t.Run(name("pause", call), func(t *testing.T) {
			mem := &memory.Store{}
			pause := fault.Action{Before: func(context.Context) error {
				// The call may come from a goroutine of first, where Fatal is forbidden.
				if err := other(t.Context(), mem); err != nil {
					t.Error("other: ", err)
				}
				return nil
			}}
			_, err := runMet(t, mem, first, fault.AtCall(call.N, pause))
			if err != nil {
				t.Log("first ended with: ", err)
			}
			check(t, mem)
		})
	}
}

// runMet runs work on s with its calls met as script says, and tells it by its
// context when the process dies: the dead do not go on retrying.
func runMet(t *testing.T, s store.Store, work Work, script fault.Script) (*fault.Store, error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	met := fault.Wrap(s, script)
	met.OnDeath(func() { cancel(fault.ErrDead) })
	return met, work(ctx, met)
}

// name is the subtest of a call that goes wrong.
func name(how string, c fault.Call) string { return fmt.Sprintf("%s/%d-%s", how, c.N, c.Op) }

// Crash runs work on s in a process that dies before its n-th call, and returns
// whether it came to that. The context of the work ends with the process. A
// work that ends before, whole or with an error, did not die.
func Crash(t *testing.T, s store.Store, n int64, work Work) bool {
	t.Helper()
	met, _ := runMet(t, s, work, fault.AtCall(n, fault.Before()))
	return met.Dead()
}
