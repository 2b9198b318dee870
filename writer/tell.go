package writer

import (
	"context"
	"time"
)

// tellFor bounds one message to the broker: it is for lag monitors, and a
// broker that does not take it must not hold up a shutdown for long.
const tellFor = 10 * time.Second

// teller passes the next offset on to Config.Published, off the path of the
// commits. Only the newest offset counts.
type teller struct {
	newest chan int64
	done   chan struct{}
}

func (s *session) teller() *teller {
	t := &teller{newest: make(chan int64, 1), done: make(chan struct{})}
	go func() {
		defer close(t.done)
		for next := range t.newest {
			if s.Published == nil {
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), tellFor)
			if err := s.Published(ctx, next); err != nil {
				s.Config.Log.Warn("the broker was not told the next offset; only its lag figures suffer", "next", next, "error", err)
			}
			cancel()
		}
	}()
	return t
}

// tell replaces what was not passed on yet.
func (t *teller) tell(next int64) {
	select {
	case <-t.newest:
	default:
	}
	t.newest <- next
}

// close waits until the last offset is passed on.
func (t *teller) close() {
	close(t.newest)
	<-t.done
}
