package writer_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/lakeweir/lakeweir/record"
)

// identity is the log that a tape is.
var identity = record.Identity{Cluster: "c", Topic: record.TopicID{1}}

// tape is a Source of the offsets [0,n). Those that absent holds for are not
// records, as transaction markers are; the value of one that bad holds for does
// not parse. It waits at its end.
type tape struct {
	n, step int64 // step is the number of offsets in a batch

	mu      sync.Mutex
	at      int64
	start   int64 // of the log: what is before was removed
	id      record.Identity
	epochs  []int64 // epoch i ends at epochs[i]
	quiet   int64   // rows that Read gives until Published is called; 0 is no bound
	allowed int64   // then the offset that it waits at
	ahead   int64   // rows that it gives after a Seek
	grown   chan struct{}
}

func absent(offset int64) bool { return offset%7 == 0 }
func bad(offset int64) bool    { return offset >= 10 && offset < 14 }

func newTape(n, step int64) *tape {
	return &tape{n: n, step: step, ahead: longest, id: identity, grown: make(chan struct{})}
}

func (t *tape) Seek(_ context.Context, offset int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = offset
	t.allowed = fill(offset, t.ahead)
	return nil
}

// longest is the largest number of rows in a batch of the crash tests: what a
// pending plan may need.
const longest = 11

// fill returns the offset behind the given number of records from an offset on.
func fill(offset, rows int64) int64 {
	for ; rows > 0; offset++ {
		if !absent(offset) {
			rows--
		}
	}
	return offset
}

// published lets a quiet tape give one batch more.
func (t *tape) published(_ context.Context, next int64) error {
	t.change(func() { t.allowed = fill(next, t.quiet) })
	return nil
}

// change lets f change the tape and wakes a Read that waits.
func (t *tape) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.grown)
	t.grown = make(chan struct{})
}

func (t *tape) Read(ctx context.Context) (*record.Batch, error) {
	for {
		t.mu.Lock()
		grown := t.grown
		if t.at < t.start {
			t.mu.Unlock()
			return nil, fmt.Errorf("offset %d is out of range", t.at)
		}
		if t.at < t.n && (t.quiet == 0 || t.at < t.allowed) {
			b := t.batch()
			t.at = b.Next
			t.mu.Unlock()
			return b, nil
		}
		t.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-grown:
		}
	}
}

// batch returns the offsets from at to the end of its step.
func (t *tape) batch() *record.Batch {
	next := min(t.at-t.at%t.step+t.step, t.n)
	if t.quiet > 0 {
		next = min(next, t.allowed)
	}
	b := record.NewBatch(t.at, nil)
	b.LeaderEpoch = t.epochOf(t.at)
	for o := t.at; o < next; o++ {
		if absent(o) {
			continue
		}
		value := "good"
		if bad(o) {
			value = "bad"
		}
		if err := b.Append(record.Record{Offset: o, Timestamp: o, Value: []byte(value)}); err != nil {
			panic(err)
		}
	}
	b.Next = next
	return b
}

func (t *tape) epochOf(offset int64) int32 {
	for e, end := range t.epochs {
		if offset < end {
			return int32(e)
		}
	}
	return int32(len(t.epochs))
}

func (t *tape) Bounds(context.Context) (start, end int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.start, t.n, nil
}

func (t *tape) Identity(context.Context) (record.Identity, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.id, nil
}

func (t *tape) EpochEnd(_ context.Context, epoch int32) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if int(epoch) < len(t.epochs) {
		return t.epochs[epoch], nil
	}
	return t.n, nil
}
