package metered_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/store/metered"
	"github.com/lakeweir/lakeweir/store/storetest"
)

// A meter changes nothing of what its store does.
func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return metered.Wrap(&memory.Store{}) })
}

// status is an error as drivers give it.
type status int

func (s status) Error() string   { return fmt.Sprint("HTTP ", int(s)) }
func (s status) HTTPStatus() int { return int(s) }

// counted returns the only call that was counted, and checks that it is the
// only one.
func counted(t *testing.T, m *metered.Meter) string {
	t.Helper()
	var seen []string
	var timed uint64
	for op, c := range m.Calls() {
		for out, n := range c.Outcomes {
			for range n {
				seen = append(seen, fmt.Sprint(metered.Operation(op), " ", metered.Outcome(out)))
			}
		}
		timed += c.Latency.Count()
	}
	if len(seen) != 1 || timed != 1 {
		t.Fatalf("counted %q and %d latencies, want one call", seen, timed)
	}
	return seen[0]
}

func TestOperations(t *testing.T) {
	f := func(want string, call func(ctx context.Context, s store.Store) error) {
		t.Helper()
		mem := &memory.Store{}
		if _, err := mem.Put(t.Context(), "there", []byte("body"), store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
		m := metered.Wrap(mem)
		_ = call(t.Context(), m)
		if got := counted(t, m); got != want {
			t.Errorf("counted %q, want %q", got, want)
		}
	}
	get := func(key string) func(context.Context, store.Store) error {
		return func(ctx context.Context, s store.Store) error { _, err := s.Get(ctx, key, store.Span{}); return err }
	}
	put := func(cond store.Cond) func(context.Context, store.Store) error {
		return func(ctx context.Context, s store.Store) error { _, err := s.Put(ctx, "there", nil, cond); return err }
	}
	f("get ok", get("there"))
	f("get absent", get("nowhere"))
	f("stat ok", func(ctx context.Context, s store.Store) error { _, err := s.Stat(ctx, "there"); return err })
	f("put ok", put(store.Blind()))
	f("put conflict", put(store.IfAbsent()))
	f("put other", put(store.Cond{}))
	f("delete ok", func(ctx context.Context, s store.Store) error { return s.Delete(ctx, "there") })
	// A list is one call, whether it is read to its end, left, or empty.
	f("list ok", func(ctx context.Context, s store.Store) error {
		for range s.List(ctx, "", "") {
		}
		return nil
	})
	f("list ok", func(ctx context.Context, s store.Store) error {
		for range s.List(ctx, "", "") {
			break
		}
		return nil
	})
	f("list ok", func(ctx context.Context, s store.Store) error {
		for range s.List(ctx, "none", "") {
			t.Error("an object")
		}
		return nil
	})
}

// The outcome comes from the error, however deep it is wrapped, and every
// operation has it.
func TestOutcomes(t *testing.T) {
	f := func(err error, want string) {
		t.Helper()
		m := metered.Wrap(fault.Wrap(&memory.Store{}, fault.AtCall(1, fault.Fail(fmt.Errorf("deep: %w", err)))))
		if _, got := m.Put(t.Context(), "k", nil, store.Blind()); !errors.Is(got, err) {
			t.Fatalf("the error became %v", got)
		}
		if got := counted(t, m); got != "put "+want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
		m = metered.Wrap(fault.Wrap(&memory.Store{}, fault.AtCall(1, fault.Fail(err))))
		for _, got := range m.List(t.Context(), "", "") {
			if !errors.Is(got, err) {
				t.Fatalf("the error became %v", got)
			}
		}
		if got := counted(t, m); got != "list "+want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	f(store.ErrConflict, "conflict")
	f(store.ErrNotExist, "absent")
	f(status(429), "throttled")
	f(status(503), "throttled")
	f(status(401), "denied")
	f(status(403), "denied")
	f(status(500), "unavailable")
	// No whole answer came.
	f(status(0), "unavailable")
	f(status(301), "other")
	f(os.ErrDeadlineExceeded, "timeout")
	f(errors.New("what is that"), "other")
	f(store.ErrDamaged, "other")
}

// Who gives up is not what the store is blamed for.
func TestCanceled(t *testing.T) {
	m := metered.Wrap(&memory.Store{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Get(ctx, "k", store.Span{})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if got := counted(t, m); got != "get canceled" {
		t.Errorf("counted %q", got)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	m = metered.Wrap(&memory.Store{})
	_, _ = m.Get(late, "k", store.Span{})
	if got := counted(t, m); got != "get canceled" {
		t.Errorf("the deadline of the caller: counted %q", got)
	}
}
