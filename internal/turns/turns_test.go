package turns

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Callers that come while a question is on its way share the next one, which
// begins after all of them called: nobody gets an answer older than his
// question.
func TestAskIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Question[time.Time]
		asked := 0
		ask := func(context.Context) (time.Time, error) {
			asked++
			begin := time.Now()
			time.Sleep(time.Second)
			return begin, nil
		}
		var wg sync.WaitGroup
		for range 50 {
			for range 20 {
				wg.Go(func() {
					called := time.Now()
					answered, err := q.Ask(t.Context(), ask)
					if err != nil || answered.Before(called) {
						t.Errorf("called at %v, answered as of %v, %v", called, answered, err)
					}
				})
			}
			time.Sleep(100 * time.Millisecond)
		}
		wg.Wait()
		if asked != 6 { // in 5 s, and one for those who came in the last
			t.Errorf("asked %d times for 1000 callers", asked)
		}
	})
}

// An error goes to those who waited for it and to nobody later.
func TestAskFails(t *testing.T) {
	var q Question[int]
	broken := errors.New("broken")
	if _, err := q.Ask(t.Context(), func(context.Context) (int, error) { return 0, broken }); err != broken {
		t.Errorf("got %v", err)
	}
	if n, err := q.Ask(t.Context(), func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
}

// Whoever waits is free when its own context ends. If the one that asks is
// given up, those who waited for it get an error, and the next callers an
// answer.
func TestAskIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Question[int]
		slow := func(ctx context.Context) (int, error) {
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(time.Hour):
				return 1, nil
			}
		}
		results := make(chan error, 4)
		start := func(ctx context.Context) {
			go func() {
				_, err := q.Ask(ctx, slow)
				results <- err
			}()
			synctest.Wait()
		}
		asks, stopAsking := context.WithCancel(t.Context())
		leads, stopLeading := context.WithCancel(t.Context())
		waits, stopWaiting := context.WithCancel(t.Context())
		start(asks)        // asks
		start(leads)       // waits to ask next
		start(waits)       // waits for that
		start(t.Context()) // and so does this
		for _, stop := range []func(){stopWaiting, stopLeading, stopAsking} {
			stop()
			if err := <-results; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("the last one waited for one that was given up: got %v", err)
		}
		if n, err := q.Ask(t.Context(), slow); n != 1 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	})
}
