package realkafka_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/lakeweir/lakeweir/integration/realkafka"
	"github.com/lakeweir/lakeweir/internal/source"
)

// change is a partition that a member gained or gave up.
type change struct {
	member    string
	partition int32
	gained    bool
}

// ownership follows who holds what.
type ownership struct {
	changes chan change
	held    map[string]map[int32]bool
}

// await takes changes in until the member holds n partitions and all of them
// together hold each once.
func (o *ownership) await(t *testing.T, ctx context.Context, partitions int, want map[string]int) {
	t.Helper()
	for {
		total, right := 0, true
		for member, held := range o.held {
			total += len(held)
			right = right && len(held) == want[member]
		}
		if right && total == partitions {
			return
		}
		select {
		case c := <-o.changes:
			if o.held[c.member] == nil {
				o.held[c.member] = map[int32]bool{}
			}
			if c.gained {
				o.held[c.member][c.partition] = true
			} else {
				delete(o.held[c.member], c.partition)
			}
		case <-ctx.Done():
			t.Fatalf("members hold %v, want counts %v", o.held, want)
		}
	}
}

// join runs a member that holds what it gets until it is taken away.
func (o *ownership) join(t *testing.T, ctx context.Context, c source.Config) (leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := source.Run(ctx, c, func(ctx context.Context, p *source.Partition) error {
			o.changes <- change{c.Member, p.ID(), true}
			if err := p.Commit(ctx, int64(p.ID())); err != nil && ctx.Err() == nil {
				t.Errorf("%s commits: %v", c.Member, err)
			}
			<-ctx.Done()
			o.changes <- change{c.Member, p.ID(), false}
			return ctx.Err()
		})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", c.Member, err)
		}
	}()
	return func() { cancel(); <-done }
}

// A real coordinator gives each partition to one member, moves half when a
// second one joins and gives them back when it leaves. Commits arrive.
func TestGroup(t *testing.T) {
	b := realkafka.Shared(t)
	topic := "group"
	b.CreateTopic(t, topic, 4, nil)
	ctx := within(t)
	c := source.Config{
		Brokers: []string{b.Addr()}, Topics: []string{topic}, Group: "readers",
		Heartbeat: 300 * time.Millisecond, Session: 6 * time.Second, Rebalance: 6 * time.Second,
	}
	o := &ownership{changes: make(chan change, 100), held: map[string]map[int32]bool{}}
	one, two := c, c
	one.Member, two.Member = "one", "two"
	leaveOne := o.join(t, ctx, one)
	o.await(t, ctx, 4, map[string]int{"one": 4})
	leaveTwo := o.join(t, ctx, two)
	o.await(t, ctx, 4, map[string]int{"one": 2, "two": 2})
	leaveTwo()
	o.await(t, ctx, 4, map[string]int{"one": 4})
	leaveOne()
	offsets, err := kadm.NewClient(b.Client(t)).FetchOffsets(ctx, "readers")
	if err != nil {
		t.Fatal(err)
	}
	for partition := range int32(4) {
		if at, ok := offsets.Lookup(topic, partition); !ok || at.At != int64(partition) {
			t.Errorf("committed offset of partition %d: got %d, %v", partition, at.At, ok)
		}
	}
}

// A topic that does not exist ends the start, and asking for it has not made
// the broker create it, though it would for a producer.
func TestMissingTopic(t *testing.T) {
	b := realkafka.Shared(t)
	f := func(c source.Config) {
		t.Helper()
		c.Brokers, c.Topics = []string{b.Addr()}, []string{"no-such-topic"}
		err := source.Run(within(t), c, func(context.Context, *source.Partition) error { return nil })
		if !errors.Is(err, source.ErrNoTopic) {
			t.Errorf("got %v, want %v", err, source.ErrNoTopic)
		}
		topics, err := kadm.NewClient(b.Client(t)).ListTopics(within(t))
		if err != nil || topics.Has("no-such-topic") {
			t.Errorf("after asking for it the topic exists: %v", err)
		}
	}
	// All partitions, given ones, and by a group.
	f(source.Config{})
	f(source.Config{Partitions: map[string][]int32{"no-such-topic": {0}}})
	f(source.Config{Group: "lost"})
}
