package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupConfig is a Config of a group with fast clocks.
func groupConfig(c *kfake.Cluster, member string, topics ...string) Config {
	cfg := config(c, topics...)
	cfg.Group, cfg.Member = "g", member
	cfg.Heartbeat, cfg.Session, cfg.Rebalance = 50*time.Millisecond, 3*time.Second, 3*time.Second
	cfg.MetadataInterval = 100 * time.Millisecond
	return cfg
}

// owners tells which member works on which partition, and counts the works.
type owners struct {
	mu    sync.Mutex
	by    map[key]string
	works int
}

// hold is a work that only owns its partition.
func (o *owners) hold(name string) Work {
	return func(ctx context.Context, p *Partition) error {
		o.mu.Lock()
		if was := o.by[p.key]; was != "" {
			o.mu.Unlock()
			return fmt.Errorf("%s: %s and %s at once", p.key, was, name)
		}
		o.by[p.key] = name
		o.works++
		o.mu.Unlock()
		<-ctx.Done()
		o.mu.Lock()
		delete(o.by, p.key)
		o.mu.Unlock()
		return ctx.Err()
	}
}

func (o *owners) snapshot() map[key]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.by)
}

// shares waits until n partitions are owned and each member has that many.
func (o *owners) shares(t *testing.T, want map[string]int) map[key]string {
	t.Helper()
	until(t, fmt.Sprint("shares ", want), func() bool {
		have := map[string]int{}
		for _, name := range o.snapshot() {
			have[name]++
		}
		return maps.Equal(have, want)
	})
	return o.snapshot()
}

// start runs a member; leave ends it and waits.
func start(t *testing.T, cfg Config, work Work) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, cfg, work) }()
	var once sync.Once
	leave = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("member %s: %v", cfg.Member, err)
				}
			case <-time.After(patience):
				t.Errorf("member %s does not leave", cfg.Member)
			}
			if r, ok := cfg.Room.(*room); ok {
				r.over(t)
			}
		})
	}
	t.Cleanup(leave)
	return leave
}

// A second member takes half; when it leaves, only its half moves.
func TestGroupJoinAndLeave(t *testing.T) {
	c := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(4, "t", "u"), kfake.GroupMinSessionTimeout(time.Second))
	o := &owners{by: map[key]string{}}
	start(t, groupConfig(c, "a", "t", "u"), o.hold("a"))
	alone := o.shares(t, map[string]int{"a": 8})
	leave := start(t, groupConfig(c, "b", "t", "u"), o.hold("b"))
	shared := o.shares(t, map[string]int{"a": 4, "b": 4})
	for k, name := range shared {
		if name == "a" && alone[k] != "a" {
			t.Errorf("%s came to a, who had all", k)
		}
	}
	leave()
	o.shares(t, map[string]int{"a": 8})
	if info := c.GroupInfo("g"); len(info.Members) != 1 {
		t.Errorf("%d members after one left", len(info.Members))
	}
}

// Partitions and topics that appear are assigned.
func TestGroupGrows(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(2, "t"), kfake.GroupMinSessionTimeout(time.Second), kfake.AllowAutoTopicCreation())
	o := &owners{by: map[key]string{}}
	cfg := groupConfig(c, "a", "t", "later")
	cfg.WaitForTopics = true
	start(t, cfg, o.hold("a"))
	o.shares(t, map[string]int{"a": 2})
	if c.TopicInfo("later") != nil {
		t.Fatal("the topic was created")
	}
	grow(t, c, "t", 5)
	o.shares(t, map[string]int{"a": 5})
	if err := c.CreateTopic("later", 3, nil); err != nil {
		t.Fatal(err)
	}
	o.shares(t, map[string]int{"a": 8})
}

// grow gives a topic more partitions.
func grow(t *testing.T, c *kfake.Cluster, topic string, count int32) {
	t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = topic, count
	req.Topics = append(req.Topics, rt)
	res, err := req.RequestWith(t.Context(), producer(t, c))
	if err != nil || res.Topics[0].ErrorCode != 0 {
		t.Fatal(err, res)
	}
}

// A group in which every work is done ends; with an error, so does Run.
func TestGroupDone(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(3, "t"), kfake.GroupMinSessionTimeout(time.Second))
	if err := run(t, groupConfig(c, "a", "t"), idle); err != nil {
		t.Errorf("all done: %v", err)
	}
	err := run(t, groupConfig(c, "a", "t"), func(_ context.Context, p *Partition) error {
		if p.ID() == 1 {
			return errTest
		}
		return nil
	})
	if !errors.Is(err, errTest) {
		t.Errorf("one failed: %v", err)
	}
	if info := c.GroupInfo("g"); info != nil && len(info.Members) != 0 {
		t.Errorf("%d members are left", len(info.Members))
	}
}

// A work that failed is called again in the next generation.
func TestGroupRetriesFailed(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(2, "t"), kfake.GroupMinSessionTimeout(time.Second))
	var mu sync.Mutex
	calls := map[int32]int{}
	leave := start(t, groupConfig(c, "a", "t"), func(ctx context.Context, p *Partition) error {
		mu.Lock()
		calls[p.ID()]++
		n := calls[p.ID()]
		mu.Unlock()
		if p.ID() == 0 && n == 1 {
			return errTest
		}
		<-ctx.Done()
		return ctx.Err()
	})
	until(t, "the first works", func() bool { mu.Lock(); defer mu.Unlock(); return calls[0] == 1 && calls[1] == 1 })
	grow(t, c, "t", 3) // a new generation
	until(t, "the second works", func() bool { mu.Lock(); defer mu.Unlock(); return calls[0] == 2 && calls[1] == 2 })
	leave()
}

// A commit is seen under the group's name, with and without a generation.
func TestCommit(t *testing.T) {
	c := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(1, "t"), kfake.GroupMinSessionTimeout(time.Second))
	committed := func(group string) int64 {
		cl := &kafka.Client{Addr: kafka.TCP(c.ListenAddrs()...), Transport: &kafka.Transport{}}
		res, err := cl.OffsetFetch(t.Context(), &kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{"t": {0}}})
		if err != nil || len(res.Topics["t"]) != 1 {
			t.Fatal(err, res)
		}
		return res.Topics["t"][0].CommittedOffset
	}
	f := func(cfg Config, next int64) {
		t.Helper()
		err := run(t, cfg, func(ctx context.Context, p *Partition) error { return p.Commit(ctx, next) })
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Group == "" {
			return // nowhere to write, and no error
		}
		if at := committed(cfg.Group); at != next {
			t.Errorf("group %q: %d is committed, want %d", cfg.Group, at, next)
		}
	}
	f(groupConfig(c, "a", "t"), 7)
	alone := config(c, "t")
	f(alone, 8)
	alone.Group, alone.Partitions = "monitors", map[string][]int32{"t": {0}}
	f(alone, 9)
}

// A refused commit names what it was for.
func TestCommitRefused(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"), kfake.GroupMinSessionTimeout(time.Second))
	err := run(t, groupConfig(c, "a", "t"), func(ctx context.Context, p *Partition) error {
		p.member.generation += 5
		return p.Commit(ctx, 7)
	})
	if !errors.Is(err, kafka.IllegalGeneration) || !strings.Contains(err.Error(), `commit offset 7 of t/0 to group "g"`) {
		t.Errorf("got %v", err)
	}
}

func TestConfirm(t *testing.T) {
	c := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(1, "t"), kfake.GroupMinSessionTimeout(time.Second))
	err := run(t, groupConfig(c, "a", "t"), func(ctx context.Context, p *Partition) error {
		for range 2 {
			if err := p.Confirm(ctx); err != nil {
				return err
			}
		}
		if n := p.session.fences[p.key]; n != 2 {
			t.Errorf("%d fences counted", n)
		}
		if err := p.Commit(ctx, 1); err != nil {
			return err
		}
		if n := p.session.fences[p.key]; n != 0 {
			t.Errorf("%d fences counted after a commit", n)
		}
		// A member of another generation is not confirmed, however long it asks.
		p.member.generation++
		short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		if err := p.Confirm(short); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			t.Errorf("other generation: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Without a group nobody can confirm.
func TestConfirmStatic(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error { return p.Confirm(ctx) })
	if !errors.Is(err, ErrStatic) {
		t.Errorf("got %v", err)
	}
}

// The pause before each question grows, up to a bound.
func TestFencePause(t *testing.T) {
	s := &session{fences: map[key]int{}}
	k := key{"t", 0}
	last := time.Duration(0)
	for range 40 {
		d := s.fenced(k)
		if d < last || d < minFence || d > maxFence {
			t.Fatalf("pause %v after %v", d, last)
		}
		last = d
	}
	if last != maxFence {
		t.Errorf("last pause %v", last)
	}
	s.settled(k)
	if d := s.fenced(k); d != minFence {
		t.Errorf("pause after a commit: %v", d)
	}
}

// A join that no retry cures ends Run with what to do.
func TestGroupRefused(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	cfg := groupConfig(c, "a", "t")
	cfg.Session = time.Second // kfake, like Kafka, wants 6 s
	if err := run(t, cfg, idle); !errors.Is(err, kafka.InvalidSessionTimeout) || !strings.Contains(err.Error(), "group.min.session.timeout.ms") {
		t.Errorf("got %v", err)
	}
	// A group of another program, which balances in another way.
	other, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: "g", Brokers: c.ListenAddrs(), Topics: []string{"t"}, SessionTimeout: 6 * time.Second, HeartbeatInterval: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	cfg.Session = 6 * time.Second
	if err := run(t, cfg, idle); !errors.Is(err, kafka.InconsistentGroupProtocol) || !strings.Contains(err.Error(), "choose another name") {
		t.Errorf("got %v", err)
	}
}

// A join that is tried again says from outside why it failed, in words.
func TestGroupRefusedInWords(t *testing.T) {
	c := Config{Group: "g", Progress: &Progress{}, Log: slog.New(slog.DiscardHandler)}
	cl := &client{explain: explainer{brokers: "b:1", sasl: SASL{Mechanism: "plain", User: "u", Password: "secret"}}}
	s := &session{router: &router{c: c, client: cl}}
	if err := s.refused(t.Context(), slog.LevelWarn, kafka.SASLAuthenticationFailed); err != nil {
		t.Errorf("it ends the run: %v", err)
	}
	why := c.Progress.Now().Refused
	if why == nil || !strings.Contains(why.Error(), `user "u" by plain: refused: check user`) || strings.Contains(why.Error(), "secret") {
		t.Errorf("got %v", why)
	}
}
