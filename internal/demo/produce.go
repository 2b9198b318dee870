package demo

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ledger is what was sent: by partition and offset the id of the event, "" for
// one that must become a dead letter. The check compares files with it.
type ledger struct {
	mu   sync.Mutex
	sent [Partitions][]string
}

// enter notes an event that the broker has acknowledged.
func (l *ledger) enter(partition int32, offset int64, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.sent[partition]); offset != int64(n) {
		return fmt.Errorf("partition %d: the broker gave offset %d to record %d: something else writes to this topic", partition, offset, n)
	}
	l.sent[partition] = append(l.sent[partition], id)
	return nil
}

// total returns how many events were sent.
func (l *ledger) total() (n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ids := range l.sent {
		n += int64(len(ids))
	}
	return n
}

// producer sends the events in shares, one for each incident, so that every
// sink finds something to do and sees the log grow while it runs.
type producer struct {
	client *kgo.Client
	topic  string
	ledger *ledger
	shares chan int // events to send
	done   chan error
}

// A share is sent in slices, with a pause after each: the log grows bit by bit.
const (
	perShare   = 6
	slicePause = 20 * time.Millisecond
)

// startProducer begins to send events, which it does when share asks for it.
func startProducer(ctx context.Context, cl *kgo.Client, topic string, l *ledger, all iter.Seq[event], shares int) *producer {
	p := &producer{client: cl, topic: topic, ledger: l, shares: make(chan int, shares), done: make(chan error, 1)}
	go func() { p.done <- p.run(ctx, all) }()
	return p
}

// share lets the next n events go.
func (p *producer) share(n int) { p.shares <- n }

// finish waits until all that was asked for is sent. No share may follow.
func (p *producer) finish(ctx context.Context) error {
	close(p.shares)
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *producer) run(ctx context.Context, all iter.Seq[event]) error {
	next, stop := iter.Pull(all)
	defer stop()
	for n := range p.shares {
		for i := range perShare {
			if err := p.send(ctx, next, n*(i+1)/perShare-n*i/perShare); err != nil {
				return err
			}
			select {
			case <-time.After(slicePause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// send sends n events and waits until all are acknowledged.
func (p *producer) send(ctx context.Context, next func() (event, bool), n int) error {
	var failed error // promises are called one by one
	for range n {
		e, ok := next()
		if !ok {
			break
		}
		r := &kgo.Record{Topic: p.topic, Partition: e.partition, Value: e.value}
		p.client.Produce(ctx, r, func(r *kgo.Record, err error) {
			if err == nil {
				err = p.ledger.enter(r.Partition, r.Offset, e.id)
			}
			if err != nil && failed == nil {
				failed = err
			}
		})
	}
	if err := p.client.Flush(ctx); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	if failed != nil {
		return fmt.Errorf("send events: %w", failed)
	}
	return nil
}
