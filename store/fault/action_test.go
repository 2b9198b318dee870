package fault_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
)

// A paused call reaches the store after what others did meanwhile.
func TestPause(t *testing.T) {
	mem := &memory.Store{}
	reached, resume := make(chan struct{}), make(chan struct{})
	s := fault.Wrap(mem, fault.AtCall(1, fault.Pause(reached, resume)))
	answer := make(chan error)
	go func() {
		_, err := s.Put(t.Context(), "k", []byte("paused"), store.IfAbsent())
		answer <- err
	}()
	<-reached
	if got := body(t, mem, "k"); got != "" {
		t.Fatalf("the store holds %q while the call is paused", got)
	}
	if _, err := mem.Put(t.Context(), "k", []byte("other"), store.IfAbsent()); err != nil {
		t.Fatal(err)
	}
	close(resume)
	if err := <-answer; !errors.Is(err, store.ErrConflict) {
		t.Fatalf("err %v, want %v", err, store.ErrConflict)
	}
}

// A process that is killed in a pause never reaches the store.
func TestKilledInPause(t *testing.T) {
	mem := &memory.Store{}
	reached, resume := make(chan struct{}), make(chan struct{})
	s := fault.Wrap(mem, fault.AtCall(1, fault.Pause(reached, resume)))
	answer := make(chan error)
	go func() {
		_, err := s.Put(t.Context(), "k", []byte("v"), store.IfAbsent())
		answer <- err
	}()
	<-reached
	s.Kill()
	close(resume)
	if err := <-answer; !errors.Is(err, fault.ErrDead) {
		t.Fatalf("err %v, want %v", err, fault.ErrDead)
	}
	if got := body(t, mem, "k"); got != "" {
		t.Fatalf("a dead process wrote %q", got)
	}
}

// A call that arrives late: its sender has long been told that it is lost, its
// context is over, and it takes effect all the same.
func TestLate(t *testing.T) {
	mem := &memory.Store{}
	var arrive []func() error
	s := fault.Wrap(mem, func(context.Context, fault.Call) fault.Action {
		return fault.Action{Late: func(f func() error) { arrive = append(arrive, f) }}
	})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Put(ctx, "k", []byte("v"), store.IfAbsent())
	if !errors.Is(err, fault.ErrLost) {
		t.Fatalf("put: err %v, want %v", err, fault.ErrLost)
	}
	if err := s.Delete(ctx, "k"); !errors.Is(err, fault.ErrLost) {
		t.Fatalf("delete: err %v, want %v", err, fault.ErrLost)
	}
	// A read changes nothing, so nothing of it is kept.
	if _, err := s.Get(ctx, "k", store.Span{}); !errors.Is(err, fault.ErrLost) || len(arrive) != 2 {
		t.Fatalf("get: err %v with %d late calls, want %v with 2", err, len(arrive), fault.ErrLost)
	}
	cancel()
	for n, want := range []string{"v", ""} {
		if got := body(t, mem, "k"); got == want {
			t.Fatalf("the store holds %q before late call %d arrived", got, n)
		}
		if err := arrive[n](); err != nil {
			t.Fatal(err)
		}
		if got := body(t, mem, "k"); got != want {
			t.Fatalf("the store holds %q after late call %d, want %q", got, n, want)
		}
	}
}

func putsUnder(prefix string) func(fault.Call) bool {
	return func(c fault.Call) bool { return c.Op == fault.Put && strings.HasPrefix(c.Key, prefix) }
}

// BeforeNth counts calls, also those that fail.
func TestBeforeNth(t *testing.T) {
	mem := &memory.Store{}
	at := "never"
	s := fault.Wrap(mem, fault.BeforeNth(2, putsUnder("data/"), func() { at = body(t, mem, "data/2") }))
	for _, key := range []string{"data/1", "data/1", "other", "data/2"} {
		_, _ = s.Put(t.Context(), key, []byte("written"), store.IfAbsent())
	}
	// The second call is the one that conflicts: data/2 is not there yet.
	if at != "" {
		t.Errorf("at the step the store held %q at data/2, want nothing", at)
	}
}
