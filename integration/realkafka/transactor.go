package realkafka

import (
	"context"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Transactor is a transactional producer whose steps a test orders.
type Transactor struct {
	t      testing.TB
	client *kgo.Client
	topic  string
}

// Transactor returns a producer with a transactional id, for partition 0 of a topic.
func (b *Broker) Transactor(t testing.TB, topic, id string, opts ...kgo.Opt) *Transactor {
	t.Helper()
	c := b.Client(t, append([]kgo.Opt{kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	return &Transactor{t, c, topic}
}

// Begin begins a transaction.
func (x *Transactor) Begin() {
	x.t.Helper()
	if err := x.client.BeginTransaction(); err != nil {
		x.t.Fatalf("begin: %v", err)
	}
}

// Send writes n records with the values text0, text1, ... and waits for them,
// so that the order of two producers in the log is that of the calls.
func (x *Transactor) Send(text string, n int) {
	x.t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: x.topic, Value: fmt.Appendf(nil, "%s%d", text, i)}
	}
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	if err := x.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		x.t.Fatalf("send %s: %v", text, err)
	}
}

// Commit commits. Kafka 4 answers before it has written the marker.
func (x *Transactor) Commit() { x.t.Helper(); x.end(kgo.TryCommit) }

// Abort aborts. Kafka 4 answers before it has written the marker.
func (x *Transactor) Abort() { x.t.Helper(); x.end(kgo.TryAbort) }

func (x *Transactor) end(how kgo.TransactionEndTry) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	if err := x.client.EndTransaction(ctx, how); err != nil {
		x.t.Fatalf("end: %v", err)
	}
}
