package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/store/storetest"
)

// conditional reports whether a condition would be sent along.
func conditional(c store.Cond) bool { return c.Absent() || isMatch(c) }

// refusing is a store that has no conditional writes and says so.
func refusing(err error) *breaks {
	return &breaks{put: func(s store.Store, key string, body []byte, cond store.Cond) (store.Info, error) {
		if conditional(cond) {
			return store.Info{}, err
		}
		return s.Put(context.Background(), key, body, cond)
	}}
}

// One writer at a time meets the whole contract, whatever the store behind does
// with conditions.
func TestSingleWriterContract(t *testing.T) {
	f := func(name string, behind func() store.Store) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			storetest.RunAlone(t, func(*testing.T) store.Store { return store.SingleWriter(behind()) })
		})
	}
	// It keeps them.
	f("keeps", func() store.Store { return &memory.Store{} })
	// It drops them without a word.
	f("ignores", func() store.Store { return blindIf(conditional) })
	// It has an error for them.
	f("refuses", func() store.Store { return refusing(errors.New("501 not implemented")) })
}

// What Put asks the store, in order, and how it ends.
func TestSingleWriterCalls(t *testing.T) {
	broken := errors.New("broken")
	f := func(key string, cond store.Cond, script fault.Script, want string, is error) {
		t.Helper()
		mem, calls := &memory.Store{}, []string(nil)
		if _, err := mem.Put(t.Context(), "old", []byte("x"), store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
		s := store.SingleWriter(fault.Wrap(mem, func(ctx context.Context, c fault.Call) fault.Action {
			calls = append(calls, string(c.Op))
			if c.Op == fault.Put && conditional(c.Cond) {
				t.Errorf("%s: a condition is sent", key)
			}
			if script == nil {
				return fault.Action{}
			}
			return script(ctx, c)
		}))
		_, err := s.Put(t.Context(), key, []byte("y"), cond)
		if got := strings.Join(calls, " "); got != want || !errors.Is(err, is) || is == nil && err != nil {
			t.Errorf("%s: calls %q, err %v, want %q, %v", key, got, err, want, is)
		}
	}
	// The condition holds: looked at, then written.
	f("new", store.IfAbsent(), nil, "stat put", nil)
	f("old", store.Blind(), nil, "stat put", nil)
	// It does not: nothing is written.
	f("old", store.IfAbsent(), nil, "stat", store.ErrConflict)
	f("old", store.IfMatch("stale"), nil, "stat", store.ErrConflict)
	f("new", store.IfMatch("any"), nil, "stat", store.ErrConflict)
	// Forgotten: the store is not asked.
	f("new", store.Cond{}, nil, "", store.ErrCond)
	// It cannot be looked at: that is no conflict, and nothing is written.
	f("new", store.IfAbsent(), fault.AtCall(1, fault.Fail(broken)), "stat", broken)
	// The answer to the write is lost: the outcome is unknown, as without it.
	f("new", store.IfAbsent(), fault.AtCall(2, fault.Lost()), "stat put", fault.ErrLost)
}

// A store that cannot be looked at is told of with the key, and is not taken
// for one without the object.
func TestSingleWriterLooks(t *testing.T) {
	denied := errors.New("access is denied")
	s := store.SingleWriter(fault.Wrap(&memory.Store{}, fault.AtCall(1, fault.Fail(denied))))
	_, err := s.Put(t.Context(), "manifest/00000.json", nil, store.IfAbsent())
	if !errors.Is(err, denied) || errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "manifest/00000.json") {
		t.Errorf("err %v, want %v with the key", err, denied)
	}
	if got := keys(t, s, "", ""); len(got) > 0 {
		t.Errorf("%q were written", got)
	}
}
