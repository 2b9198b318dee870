package manifest

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Pauses between tries double from minPause to maxPause, less up to a half at
// random so that many writers do not try in step.
const (
	minPause = 50 * time.Millisecond
	maxPause = 10 * time.Second
)

// backoff pauses between tries. The first pause is none: a conflict is settled
// by reading, and that can be done at once.
type backoff struct{ tries int }

// level is the level at which a failed try is logged: one is nothing to hear of.
func (b *backoff) level() slog.Level {
	if b.tries < 2 {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// wait pauses, or returns the error of ctx.
func (b *backoff) wait(ctx context.Context) error {
	if b.tries++; b.tries == 1 {
		return ctx.Err()
	}
	d := min(minPause<<min(b.tries-2, 16), maxPause)
	d -= rand.N(d/2 + 1)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
