package wiretest_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/writer"
)

// identity is the log that a tape is.
var identity = record.Identity{Cluster: "c", Topic: record.TopicID{1}}

// tape is a log of the offsets [0,n), 7 to a batch. It waits at its end.
type tape struct {
	n    int64
	wide int // least bytes of a value

	room  *writer.Budget // charged for what is read, if there is one
	pause time.Duration  // before each batch

	mu   sync.Mutex
	at   int64
	read int64 // records handed out so far, again and again counted
}

func (t *tape) Seek(_ context.Context, offset int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = offset
	return nil
}

func (t *tape) Read(ctx context.Context) (*record.Batch, error) {
	t.mu.Lock()
	at := t.at
	t.mu.Unlock()
	if at >= t.n {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	b := record.NewBatch(at, nil)
	for next := min(at-at%7+7, t.n); at < next; at++ {
		value := fmt.Appendf(nil, "%0*d", t.wide, at)
		if err := b.Append(record.Record{Offset: at, Timestamp: 1000 + at, Value: value}); err != nil {
			return nil, err
		}
	}
	if t.room != nil {
		if err := t.room.Acquire(ctx, b.Size()); err != nil {
			return nil, err
		}
		time.Sleep(t.pause)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = at
	t.read += int64(b.Len())
	return b, nil
}

// handedOut returns how many records were read.
func (t *tape) handedOut() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.read
}

func (t *tape) Bounds(context.Context) (start, end int64, err error) { return 0, t.n, nil }

func (t *tape) Identity(context.Context) (record.Identity, error) {
	return identity, nil
}

func (t *tape) EpochEnd(context.Context, int32) (int64, error) { return t.n, nil }
