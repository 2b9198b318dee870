package backoff

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// wait returns how long the next pause of p took.
func wait(t *testing.T, p *Pause) time.Duration {
	t.Helper()
	begin := time.Now()
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return time.Since(begin)
}

func TestPausesDoubleUpToTheLargest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pause
		// The first pause is none.
		if got := wait(t, &p); got != 0 {
			t.Errorf("first pause: %v, want none", got)
		}
		// Then they double, less up to a half.
		for full := minPause; full < maxPause; full *= 2 {
			if got := wait(t, &p); got < full/2 || got > full {
				t.Errorf("pause of %v, want between %v and %v", got, full/2, full)
			}
		}
		// They stay at the largest however long a store is away.
		for range 100 {
			if got := wait(t, &p); got < maxPause/2 || got > maxPause {
				t.Fatalf("pause of %v, want between %v and %v", got, maxPause/2, maxPause)
			}
		}
	})
}

// Many writers that lost one store at one time do not come back in step.
func TestPausesDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := map[time.Duration]bool{}
		for range 50 {
			p := Pause{tries: 10}
			took[wait(t, &p)] = true
		}
		if len(took) < 25 {
			t.Errorf("50 writers paused for %d distinct times only", len(took))
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A pause is cut short.
		p := Pause{tries: 30}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if err := p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the error of the context", err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("ended after %v, want 1s", took)
		}
		// The first one, which does not pause, looks at it too: a loop of tries
		// must not go round once more after a shutdown.
		if err := new(Pause).Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("first pause: got %v, want the error of the context", err)
		}
	})
}

func TestLevelRisesWithTheThirdTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pause
		for i, want := range []slog.Level{slog.LevelDebug, slog.LevelDebug, slog.LevelWarn, slog.LevelWarn} {
			if got := p.Level(); got != want {
				t.Errorf("level after %d pauses is %v, want %v", i, got, want)
			}
			wait(t, &p)
		}
	})
}
