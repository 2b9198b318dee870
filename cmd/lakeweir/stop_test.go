package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/sink"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// stuck is a store whose PUTs of data do not end, be it that they are given up
// or not even then.
type stuck struct {
	store.Store
	deaf  bool
	begun chan struct{} // gets one of them
}

func (s stuck) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	if !strings.Contains(key, "/data/") {
		return s.Store.Put(ctx, key, body, cond)
	}
	select {
	case s.begun <- struct{}{}:
	default:
	}
	if s.deaf {
		select {}
	}
	<-ctx.Done()
	return store.Info{}, ctx.Err()
}

// stop runs the sink on a store that is stuck in the middle of a batch, signals
// it so often, and returns how it ended.
func stop(t *testing.T, timeout time.Duration, once, deaf bool, signals int) (took time.Duration, err error) {
	t.Helper()
	c := broker(t)
	produce(t, c, 0, 10)
	set := sinkSettings(c)
	set.ShutdownTimeout, set.Batch = timeout, settings.Batch{MaxRows: 5, MaxBytes: 1 << 20, MaxAge: time.Hour}
	s := stuck{&memory.Store{}, deaf, make(chan struct{}, 1)}
	o := runOptions{settings: set, once: once, open: func(context.Context) (store.Store, error) { return s, nil }}
	sent := make(chan os.Signal, signals)
	o.signals = sent
	done := make(chan error)
	go func() { done <- runRun(t.Context(), o, &safeBuffer{}) }()
	<-s.begun
	begin := time.Now()
	for range signals {
		sent <- os.Interrupt
	}
	err = <-done
	return time.Since(begin), err
}

// Whoever stops a run that cannot publish in time gets exit code 0, in time,
// and the next run goes on. With --once 0 would say that all is published (B14).
func TestStopInTime(t *testing.T) {
	f := func(name string, timeout time.Duration, once, deaf bool, signals int, want error) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			took, err := stop(t, timeout, once, deaf, signals)
			if !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			if limit := 5 * time.Second; took > limit {
				t.Errorf("took %v, want %v", took, limit)
			}
		})
	}
	// One signal, and shutdown_timeout passes.
	f("timeout", 2*time.Second, false, false, 1, nil)
	// The same when a call cannot even be given up.
	f("timeout of a deaf store", 2*time.Second, false, true, 1, nil)
	// A second signal does not wait.
	f("second signal", time.Hour, false, false, 2, nil)
	f("second signal, deaf store", time.Hour, false, true, 2, nil)
	// A run that was to publish all has not.
	f("once", 2*time.Second, true, false, 1, sink.ErrStopped)
	f("once, second signal", time.Hour, true, true, 2, sink.ErrStopped)
}
