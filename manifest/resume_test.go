package manifest

import (
	"context"
	"errors"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
)

// Resume takes what is there for the truth while the claim holds.
func TestResume(t *testing.T) {
	s := empty()
	l := claim(t, s)
	h := read(t, s)
	h.Version++
	putHead(t, s, h)
	if err := l.Resume(t.Context()); err != nil || l.Head().Version != h.Version+1 {
		t.Errorf("got %v, version %d, want %d", err, l.Head().Version, h.Version+1)
	}
	commit(t, l, filled(100, 110))
	// A head that is gone is damage, not a reason to write one.
	if err := s.Delete(t.Context(), h.HeadKey()); err != nil {
		t.Fatal(err)
	}
	if err := l.Resume(t.Context()); !errors.Is(err, ErrDamage) {
		t.Errorf("got %v, want ErrDamage", err)
	}
	if err := l.Plan(t.Context(), *planOf(filled(110, 120))); !errors.Is(err, ErrDamage) {
		t.Errorf("plan: got %v, want ErrDamage", err)
	}
	// So is one that cannot be read, or a newer one.
	for body, want := range map[string]error{"{": ErrDamage, `{"format":"2.0"}`: ErrFormat} {
		put(t, s, h.HeadKey(), []byte(body))
		if err := l.Plan(t.Context(), *planOf(filled(110, 120))); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", body, err, want)
		}
	}
}

// A change that was given up before a break arrives after it: nothing changes.
func TestLateHeadWriteAfterResume(t *testing.T) {
	for n := 2; n <= 7; n++ {
		s := empty()
		var arrive func() error
		ctx, cancel := context.WithCancel(t.Context())
		count := 0
		l := claim(t, fault.Wrap(s, func(_ context.Context, c fault.Call) fault.Action {
			if c.Op == fault.Put {
				count++
			}
			if count != n {
				return fault.Action{}
			}
			return fault.Action{Late: func(a func() error) { arrive = a; cancel() }}
		}))
		if err := work(ctx, l); !errors.Is(err, errAgain) && !errors.Is(err, context.Canceled) {
			t.Fatalf("head write %d: %v", n, err)
		}
		count = 100
		if err := l.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := arrive(); !errors.Is(err, store.ErrConflict) {
			t.Errorf("head write %d: %v, want a conflict", n, err)
		}
	}
}
