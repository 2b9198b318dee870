package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
)

// grouped reads what a consumer group assigns, until ctx ends or all is done.
// The group is joined anew when topics come or go.
func (s *session) grouped(ctx context.Context) error {
	for {
		s.calm()
		topics := s.existing()
		if len(topics) == 0 {
			select {
			case <-s.changed:
				continue
			case <-ctx.Done():
				return nil
			}
		}
		if done, err := s.join(ctx, topics); done {
			return err
		}
	}
}

// join is one membership, over its generations. It ends not done when the
// topics are others.
//
// Topics are asked for without being created before; kafka-go's group client
// would create one that is not there, which is why its own watch for changed
// partitions is not used either.
func (s *session) join(ctx context.Context, topics []string) (done bool, err error) {
	c := s.router.c
	b := &balancer{name: c.Member}
	g, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: c.Group, Brokers: c.Brokers, Dialer: s.router.client.dialer, Topics: topics,
		GroupBalancers: []kafka.GroupBalancer{b}, HeartbeatInterval: c.Heartbeat,
		SessionTimeout: c.Session, RebalanceTimeout: c.Rebalance, JoinGroupBackoff: c.Heartbeat,
		ErrorLogger: kafka.LoggerFunc(func(format string, args ...any) {
			c.Log.Debug("group: "+fmt.Sprintf(format, args...), "group", c.Group)
		}),
	})
	if err != nil {
		return true, fmt.Errorf("join group %q: %w", c.Group, err)
	}
	defer leave(g)
	for {
		gen, err := g.Next(ctx)
		if ctx.Err() != nil {
			return true, nil
		}
		if err != nil {
			if err := s.refused(err); err != nil {
				return true, err
			}
			continue
		}
		outcome := make(chan result, 1)
		gen.Start(func(ended context.Context) { outcome <- s.generation(ctx, ended, gen, b) })
		switch r := <-outcome; {
		case r.done:
			return true, r.err
		case !slices.Equal(s.existing(), topics):
			return false, nil
		}
	}
}

// leaveTimeout is how long the end of Run waits for the group to be left:
// kafka-go does not interrupt a join, which lasts as long as a rebalance.
const leaveTimeout = 5 * time.Second

func leave(g *kafka.ConsumerGroup) {
	left := make(chan struct{})
	go func() {
		defer close(left)
		g.Close()
	}()
	select {
	case <-left:
	case <-time.After(leaveTimeout):
	}
}

// refused returns the error of a join that no other try can cure.
func (s *session) refused(err error) error {
	group := s.router.c.Group
	if why, ok := s.router.client.explain.final(err); ok {
		return why
	}
	switch {
	case errors.Is(err, kafka.InconsistentGroupProtocol):
		return fmt.Errorf("join group %q: its members assign partitions in another way: another program uses this group: choose another name: %w", group, err)
	case errors.Is(err, kafka.InvalidSessionTimeout):
		return fmt.Errorf("join group %q: the brokers refuse a session of %v: stay between their group.min.session.timeout.ms and group.max.session.timeout.ms: %w", group, s.router.c.Session, err)
	case errors.Is(err, kafka.GroupAuthorizationFailed):
		return fmt.Errorf("join group %q: denied: grant Read on the group to this user: %w", group, err)
	case errors.Is(err, kafka.InvalidGroupId):
		return fmt.Errorf("join group %q: the brokers refuse the name: %w", group, err)
	case errors.Is(err, kafka.RebalanceInProgress):
		return nil
	}
	s.router.c.Log.Warn("group not joined, trying on", "group", group, "error", err)
	return nil
}

// result is how a generation ended.
type result struct {
	done bool // nothing is left to do
	err  error
}

// generation runs the works of one generation. When it ends, for whatever
// reason, all works have returned.
func (s *session) generation(ctx, ended context.Context, gen *kafka.Generation, b *balancer) result {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ended, cancel)
	defer stop()
	var keys []key
	for topic, list := range gen.Assignments {
		for _, p := range list {
			keys = append(keys, key{topic, int32(p.ID)})
		}
	}
	b.own(gen.ID, keys)
	s.router.c.Log.Info("assigned", "group", gen.GroupID, "generation", gen.ID, "partitions", len(keys))
	a := s.assign(inner, &member{id: gen.MemberID, generation: gen.ID})
	a.add(keys)
	for a.running > 0 || len(keys) == 0 {
		select {
		case <-s.changed: // rejoin: the new partitions are assigned then
			cancel()
		case err := <-a.results:
			a.ended(err)
		case <-a.over():
			return result{done: ctx.Err() != nil, err: a.err()}
		}
	}
	over := inner.Err() != nil && ctx.Err() == nil
	return result{done: !over, err: a.err()}
}
