package wire

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// wait returns how long the call lasts until its deadline, and why it ended.
func wait(ctx context.Context, begin time.Time) (time.Duration, string) {
	<-ctx.Done()
	return time.Since(begin), context.Cause(ctx).Error()
}

func TestDeadline(t *testing.T) {
	f := func(name string, timeout time.Duration, size int64, during func(*Deadline), want time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			ctx, d := Start(t.Context(), timeout, size)
			defer d.Stop()
			if during != nil {
				during(d)
			}
			if got, why := wait(ctx, begin); got != want || !strings.Contains(why, "no answer within") {
				t.Errorf("%s: ended after %v with %q, want %v", name, got, why, want)
			}
		})
	}
	// The default.
	f("default", 0, 0, nil, time.Minute)
	// A second for each MiB to send.
	f("body", 2*time.Second, 3<<20, nil, 5*time.Second)
	// A size that is not known adds nothing.
	f("unknown", 2*time.Second, -1, nil, 2*time.Second)
	// A body to read, told after a second.
	f("extend", 2*time.Second, 0, func(d *Deadline) { time.Sleep(time.Second); d.Extend(4 << 20) }, 7*time.Second)
	// The reader of a list takes its time, then there is a page to fetch.
	f("hold", 2*time.Second, 0, func(d *Deadline) { d.Hold(); time.Sleep(time.Hour); d.Extend(0) }, time.Hour+2*time.Second)
}

// The context of the caller ends the call too.
func TestDeadlineCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	call, d := Start(ctx, 0, 0)
	defer d.Stop()
	cancel()
	if _, why := wait(call, time.Now()); why != context.Canceled.Error() {
		t.Errorf("ended with %q", why)
	}
}
