package realkafka

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// callLimit bounds one request of a test to a broker on the same machine.
const callLimit = 30 * time.Second

// Client returns a client of the plain listener that is independent of the one
// under test. It ends with the test.
func (b *Broker) Client(t testing.TB, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.Addr())}, opts...)...)
	if err != nil {
		t.Fatalf("make a Kafka client: %v", err)
	}
	t.Cleanup(c.Close)
	return c
}

// CreateTopic creates a topic with topic configurations such as
// "cleanup.policy". On a shared broker it is deleted after the test, so the
// test may run again.
func (b *Broker) CreateTopic(t testing.TB, name string, partitions int32, configs map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	values := make(map[string]*string, len(configs))
	for k, v := range configs {
		values[k] = &v
	}
	if _, err := kadm.NewClient(b.Client(t)).CreateTopic(ctx, partitions, 1, values, name); err != nil {
		t.Fatalf("create topic %s: %v", name, err)
	}
	b.awaitTopic(ctx, t, name)
	if !b.shared {
		return
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callLimit)
		defer cancel()
		_, _ = kadm.NewClient(b.Client(t)).DeleteTopic(ctx, name) // the test may have deleted it
	})
}

// awaitTopic waits until the broker itself knows a topic and leads it: the
// controller answers the creation before that.
func (b *Broker) awaitTopic(ctx context.Context, t testing.TB, name string) {
	t.Helper()
	admin := kadm.NewClient(b.Client(t))
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		listed, err := admin.ListEndOffsets(ctx, name)
		if err == nil && listed.Error() == nil {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("topic %s was created and does not come up: %v", name, errors.Join(err, listed.Error()))
		}
	}
}

// DeleteTopic deletes a topic and waits until the broker has forgotten it.
func (b *Broker) DeleteTopic(t testing.TB, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	admin := kadm.NewClient(b.Client(t))
	if _, err := admin.DeleteTopic(ctx, name); err != nil {
		t.Fatalf("delete topic %s: %v", name, err)
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		topics, err := admin.ListTopics(ctx)
		if err == nil && !topics.Has(name) {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("topic %s was deleted and does not go away: %v", name, err)
		}
	}
}

// Produce writes records in order, all to the partition that each names, and
// waits for the acknowledgement of all. Options such as a compression may be given.
func (b *Broker) Produce(t testing.TB, records []*kgo.Record, opts ...kgo.Opt) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	c := b.Client(t, append([]kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err := c.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatalf("produce %d records: %v", len(records), err)
	}
}
