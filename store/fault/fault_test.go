package fault_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
)

// body returns what the store holds at key, "" when nothing.
func body(t *testing.T, s store.Store, key string) string {
	t.Helper()
	o, err := s.Get(context.Background(), key, store.Span{})
	if err != nil && !errors.Is(err, store.ErrNotExist) {
		t.Fatal(err)
	}
	return string(o.Body)
}

// Each action at one Put: what the process hears, what the store holds, and
// whether the process lives on.
func TestActions(t *testing.T) {
	refused := errors.New("refused")
	f := func(name string, a fault.Action, wantErr error, want string, dead bool) {
		t.Helper()
		mem := &memory.Store{}
		s := fault.Wrap(mem, fault.AtCall(1, a))
		_, err := s.Put(t.Context(), "k", []byte("v"), store.IfAbsent())
		if !errors.Is(err, wantErr) {
			t.Errorf("%s: err %v, want %v", name, err, wantErr)
		}
		if got := body(t, mem, "k"); got != want {
			t.Errorf("%s: the store holds %q, want %q", name, got, want)
		}
		if s.Dead() != dead {
			t.Errorf("%s: dead %v, want %v", name, s.Dead(), dead)
		}
		if _, err := s.Stat(t.Context(), "other"); errors.Is(err, fault.ErrDead) != dead {
			t.Errorf("%s: the next call gives %v, dead %v", name, err, dead)
		}
	}
	// The zero Action lets the call pass.
	f("pass", fault.Action{}, nil, "v", false)
	// Dead before: nothing reaches the store.
	f("before", fault.Before(), fault.ErrDead, "", true)
	// Dead after: it took effect, nobody heard of it.
	f("after", fault.After(), fault.ErrDead, "v", true)
	// Answer lost: it took effect and the process must find out.
	f("lost", fault.Lost(), fault.ErrLost, "v", false)
	// Refused with an error of the script's choice.
	f("fail", fault.Fail(refused), refused, "", false)
	// The zero Action is only a pass.
	f("pass", fault.Action{}, nil, "v", false)
}

// A lost answer is lost whatever it was: a conflict cannot be told from a success.
func TestLostConflict(t *testing.T) {
	mem := &memory.Store{}
	s := fault.Wrap(mem, fault.AtCall(2, fault.Lost()))
	for n, want := range []error{nil, fault.ErrLost, store.ErrConflict} {
		if _, err := s.Put(t.Context(), "k", nil, store.IfAbsent()); !errors.Is(err, want) {
			t.Fatalf("put %d: err %v, want %v", n+1, err, want)
		}
	}
}

// Every method is met, with its number, name, key and condition.
func TestCalls(t *testing.T) {
	var got []fault.Call
	s := fault.Wrap(&memory.Store{}, func(_ context.Context, c fault.Call) fault.Action {
		got = append(got, c)
		return fault.Action{}
	})
	ctx := t.Context()
	_, _ = s.Put(ctx, "p", []byte("12"), store.IfMatch("e"))
	_, _ = s.Get(ctx, "g", store.Span{})
	_, _ = s.Stat(ctx, "s")
	list := s.List(ctx, "l/", "")
	_ = s.Delete(ctx, "d")
	for range list { // counted here, not where it was made
	}
	want := []fault.Call{
		{N: 1, Op: fault.Put, Key: "p", Size: 2, Cond: store.IfMatch("e")},
		{N: 2, Op: fault.Get, Key: "g"},
		{N: 3, Op: fault.Stat, Key: "s"},
		{N: 4, Op: fault.Delete, Key: "d"},
		{N: 5, Op: fault.List, Key: "l/"},
	}
	if len(got) != len(want) || s.Calls() != int64(len(want)) {
		t.Fatalf("calls %v, %d counted, want %v", got, s.Calls(), want)
	}
	for n := range want {
		if got[n] != want[n] {
			t.Errorf("call %d is %v, want %v", n+1, got[n], want[n])
		}
	}
}

// Every method of a dead process answers ErrDead and is not counted.
func TestDead(t *testing.T) {
	mem := &memory.Store{}
	s := fault.Wrap(mem, nil)
	died := 0
	s.OnDeath(func() { died++ })
	s.Kill()
	s.Kill()
	ctx := t.Context()
	_, put := s.Put(ctx, "k", nil, store.Blind())
	_, get := s.Get(ctx, "k", store.Span{})
	_, stat := s.Stat(ctx, "k")
	errs := []error{put, get, stat, s.Delete(ctx, "k")}
	for _, err := range s.List(ctx, "", "") {
		errs = append(errs, err)
	}
	if len(errs) != 5 {
		t.Fatalf("%d answers, want one of each method", len(errs))
	}
	for n, err := range errs {
		if !errors.Is(err, fault.ErrDead) {
			t.Errorf("answer %d is %v, want %v", n, err, fault.ErrDead)
		}
	}
	if died != 1 || s.Calls() != 0 {
		t.Errorf("died %d times with %d calls, want 1 and 0", died, s.Calls())
	}
}

// A list shows its objects and then, in place of the end, that it was cut.
func TestListCut(t *testing.T) {
	f := func(name string, a fault.Action, keys int, want error) {
		t.Helper()
		mem := &memory.Store{}
		for _, k := range []string{"a", "b"} {
			if _, err := mem.Put(t.Context(), k, nil, store.Blind()); err != nil {
				t.Fatal(err)
			}
		}
		var last error
		seen := 0
		for _, err := range fault.Wrap(mem, fault.AtCall(1, a)).List(t.Context(), "", "") {
			if last = err; err == nil {
				seen++
			}
		}
		if seen != keys || !errors.Is(last, want) {
			t.Errorf("%s: %d keys, then %v; want %d, then %v", name, seen, last, keys, want)
		}
	}
	// Whole.
	f("pass", fault.Action{}, 2, nil)
	// Nothing came.
	f("before", fault.Before(), 0, fault.ErrDead)
	// All came, and the process died.
	f("after", fault.After(), 2, fault.ErrDead)
	// All came but the end.
	f("lost", fault.Lost(), 2, fault.ErrLost)
}

// A list that its reader leaves early ends without a further word.
func TestListLeft(t *testing.T) {
	mem := &memory.Store{}
	for _, k := range []string{"a", "b"} {
		if _, err := mem.Put(t.Context(), k, nil, store.Blind()); err != nil {
			t.Fatal(err)
		}
	}
	s := fault.Wrap(mem, fault.AtCall(1, fault.Lost()))
	for i, err := range s.List(t.Context(), "", "") {
		if err != nil || i.Key != "a" {
			t.Fatalf("key %q, err %v, want a", i.Key, err)
		}
		break
	}
}
