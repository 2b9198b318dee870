// Package tabletest has a small log, and the checks of the table that a writer
// makes of it: for tests that let the real writer work on a bad store.
package tabletest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/writer"
)

// Identity is the log that every Log is.
var Identity = record.Identity{Cluster: "c", Topic: record.TopicID{1}}

// Log is a writer.Source of the offsets [0,N), 7 to a batch. It waits at its end.
type Log struct {
	N    int64
	Wide int // least bytes of a value, which is its offset in decimal

	Room  *writer.Budget // charged for what is read, if there is one
	Pause time.Duration  // before each batch

	mu   sync.Mutex
	at   int64
	read int64 // records handed out so far, again and again counted
}

// Seek implements writer.Source.
func (l *Log) Seek(_ context.Context, offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = offset
	return nil
}

// Read implements writer.Source.
func (l *Log) Read(ctx context.Context) (*record.Batch, error) {
	l.mu.Lock()
	at := l.at
	l.mu.Unlock()
	if at >= l.N {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	b := record.NewBatch(at, nil)
	for next := min(at-at%7+7, l.N); at < next; at++ {
		value := fmt.Appendf(nil, "%0*d", l.Wide, at)
		if err := b.Append(record.Record{Offset: at, Timestamp: 1000 + at, Value: value}); err != nil {
			return nil, err
		}
	}
	if l.Room != nil {
		if err := l.Room.Acquire(ctx, b.Size()); err != nil {
			return nil, err
		}
		time.Sleep(l.Pause)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = at
	l.read += int64(b.Len())
	return b, nil
}

// Handed returns how many records were read.
func (l *Log) Handed() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read
}

// Bounds implements writer.Source.
func (l *Log) Bounds(context.Context) (start, end int64, err error) { return 0, l.N, nil }

// Identity implements writer.Source.
func (l *Log) Identity(context.Context) (record.Identity, error) {
	return Identity, nil
}

// EpochEnd implements writer.Source.
func (l *Log) EpochEnd(context.Context, int32) (int64, error) { return l.N, nil }
