// Package backoff spaces the tries of a call whose outcome is unknown.
package backoff

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"time"
)

// Pauses double from minPause to maxPause, less up to a half at random so that
// many writers do not try in step.
const (
	minPause = 50 * time.Millisecond
	maxPause = 10 * time.Second
)

// Pause spaces the tries of one call. The zero value is ready.
type Pause struct{ tries int }

// Level is the level at which a failed try is logged: one is nothing to hear of.
func (p *Pause) Level() slog.Level {
	if p.tries < 2 {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// Wait pauses, or returns the error of ctx. The first pause is none: a
// conflict is settled by reading, and that can be done at once.
func (p *Pause) Wait(ctx context.Context) error {
	if p.tries++; p.tries == 1 {
		return ctx.Err()
	}
	d := min(minPause<<min(p.tries-2, 16), maxPause)
	d -= atRandom(d/2 + 1)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// atRandom returns a duration from 0 to below n. It is drawn from crypto/rand,
// which a simulation can make a function of its seed; pauses are rare.
func atRandom(n time.Duration) time.Duration {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return time.Duration(binary.LittleEndian.Uint64(b[:]) % uint64(n))
}
