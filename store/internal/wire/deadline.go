package wire

import (
	"context"
	"fmt"
	"time"
)

// DefaultTimeout is how long an answer without a body may take.
const DefaultTimeout = 60 * time.Second

// Tries is how often an SDK sends a request, all within the deadline of the
// call; one under If-Match is sent once. The callers try again with growing
// pauses, so a store that is down is asked Tries times for each of theirs.
const Tries = 3

// slowest is the bytes per second that a body must come to.
const slowest = 1 << 20

// Deadline ends a call that takes too long. It grows with the body, whose size
// a reader learns with the answer.
type Deadline struct {
	base   time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// Start begins a call with a body of size bytes to send. A timeout of 0 is
// DefaultTimeout.
func Start(ctx context.Context, timeout time.Duration, size int64) (context.Context, *Deadline) {
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithCancelCause(ctx)
	d := &Deadline{base: timeout, cancel: cancel}
	after := d.after(size)
	d.timer = time.AfterFunc(after, func() { cancel(fmt.Errorf("no answer within %v", after)) })
	return ctx, d
}

func (d *Deadline) after(size int64) time.Duration {
	return d.base + time.Duration(float64(max(size, 0))/slowest*float64(time.Second))
}

// Extend gives the time for a body of size bytes from now on.
func (d *Deadline) Extend(size int64) { d.timer.Reset(d.after(size)) }

// Hold stops the clock until Extend, while a reader of a list does its own work.
func (d *Deadline) Hold() { d.timer.Stop() }

// Stop ends the call.
func (d *Deadline) Stop() {
	d.timer.Stop()
	d.cancel(nil)
}
