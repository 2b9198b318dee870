package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
// topics are others: members need not have seen the same ones yet, a topic is
// shared among those that have.
//
// Topics are asked for without being created before; kafka-go's group client
// would create one that is not there, which is why its own watch for changed
// partitions is not used either, and why it is closed before it can join again
// for topics of which one may be gone.
func (s *session) join(ctx context.Context, topics []string) (done bool, err error) {
	c := s.router.c
	b := &balancer{name: c.Member, known: s.partitions}
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
	m := &membership{ConsumerGroup: g}
	defer m.leave()
	var told time.Time
	for pause := time.Duration(0); ; {
		gen, err := m.Next(ctx)
		if ctx.Err() != nil {
			return true, nil
		}
		if err != nil {
			level := slog.LevelDebug
			if pause == 0 || time.Since(told) >= tellEvery {
				level, told = slog.LevelWarn, time.Now()
			}
			if err := s.refused(ctx, level, err); err != nil {
				return true, err
			}
			pause = min(max(2*pause, minJoin), maxJoin)
			sleep(ctx, jitter(pause))
			continue
		}
		pause = 0
		outcome, release := make(chan result), make(chan struct{})
		gen.Start(func(ended context.Context) {
			outcome <- s.generation(ctx, ended, gen, b)
			<-release
		})
		r := <-outcome
		over := r.done || !slices.Equal(s.existing(), topics)
		if over {
			m.end()
		}
		close(release)
		if over {
			return r.done, r.err
		}
	}
}

// Bounds of the pause after a join that failed. It grows while none succeeds.
const (
	minJoin = 100 * time.Millisecond
	maxJoin = 3 * time.Second
)

// leaveTimeout is how long the end of Run waits for the group to be left:
// kafka-go does not interrupt a join, which lasts as long as a rebalance.
const leaveTimeout = 5 * time.Second

// membership is a consumer group that can be left for good while one of its
// generations still runs.
type membership struct {
	*kafka.ConsumerGroup
	left chan struct{} // closed when it was left; nil while it is to go on
}

// end makes it a membership that never joins again. It returns before the
// group is left, which waits for the works of the generation.
func (m *membership) end() {
	if m.left != nil {
		return
	}
	m.left = make(chan struct{})
	go func() {
		defer close(m.left)
		m.Close()
	}()
	for { // until kafka-go knows
		if _, err := m.Next(context.Background()); errors.Is(err, kafka.ErrGroupClosed) {
			return
		}
	}
}

// leave ends the membership and waits until the group is left.
func (m *membership) leave() {
	m.end()
	select {
	case <-m.left:
	case <-time.After(leaveTimeout):
	}
}

// refused returns the error of a join if no other try can cure it. Any other
// one it logs, and tells it as the reason why the group is not joined. A login
// that is refused is one of those: the brokers took it when Run began, so it
// expired or was changed, and files may have the new one soon.
func (s *session) refused(ctx context.Context, level slog.Level, err error) error {
	group := s.router.c.Group
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
	why := s.router.client.explain.now(err)
	s.router.c.Log.Log(ctx, level, "group not joined, trying on", "group", group, "error", why)
	s.router.c.Progress.change(func(st *State) { st.Refused = why })
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
	s.router.ask() // another member may have seen a topic or partition first
	s.router.c.Log.Info("assigned", "group", gen.GroupID, "generation", gen.ID, "partitions", len(keys))
	a := s.assign(inner, &member{id: gen.MemberID, generation: gen.ID})
	defer s.router.c.Progress.change(func(st *State) { st.Assigned, st.Places = false, nil })
	a.add(keys)
	for a.running > 0 || len(keys) == 0 || s.waits(a.failed) {
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
