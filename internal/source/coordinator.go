package source

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
)

// Bounds of the pause before a fenced partition asks the group again.
const (
	minFence = 100 * time.Millisecond
	maxFence = 30 * time.Second
)

// member is this process in one generation of its group.
type member struct {
	id         string
	generation int32
}

// Confirm returns nil once the group's coordinator has confirmed, after the
// call, that this assignment still holds. A writer that lost its partition to
// another one asks before it claims again: a process woken from a pause still
// believes in an assignment that is gone. Each call pauses first, longer after
// every call that no Commit followed, so two owners do not take turns for ever.
//
// It returns the error of the assignment's context when that ends first, and
// ErrStatic at once where no group assigns.
func (p *Partition) Confirm(ctx context.Context) error {
	if p.member == nil {
		return fmt.Errorf("confirm %s: %w", p.key, ErrStatic)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(p.ctx, cancel)
	defer stop()
	for pause := p.session.fenced(p.key); ; pause = min(2*pause, maxFence) {
		if !sleep(ctx, jitter(pause)) {
			return ctx.Err()
		}
		var code int16
		err := p.router.away()
		if err == nil {
			code, err = p.router.client.heartbeat(ctx, p.router.c.Group, *p.member)
		}
		if err == nil {
			err = codeError(code)
		}
		if err == nil {
			return p.alive(ctx)
		}
		p.router.c.Log.Debug("assignment not confirmed", "partition", p.String(), "error", err)
	}
}

// fenced counts a call of Confirm and returns the pause before it.
func (s *session) fenced(k key) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.fences[k]
	s.fences[k] = min(n+1, 16)
	return min(minFence<<n, maxFence)
}

// settled forgets the fences of a partition that made progress.
func (s *session) settled(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.fences, k)
}

// heartbeat asks the coordinator of a group whether a member is still part of
// the generation. kafka-go's own Heartbeat call goes to any broker, so this
// one is encoded here and sent to the coordinator.
func (c *client) heartbeat(ctx context.Context, group string, m member) (int16, error) {
	node, err := c.coordinator(ctx, group)
	if err != nil {
		return 0, fmt.Errorf("find the coordinator of group %q: %w", group, err)
	}
	return ask[int16](ctx, c, &call{
		key: keyHeartbeat, version: 1, node: node,
		encode: func(b []byte, _ int16) []byte {
			b = appendString(b, group, false)
			b = appendInt32(b, m.generation)
			return appendString(b, m.id, false)
		},
		decode: func(d *decoder, _ int16) (any, error) {
			d.int32() // throttle
			return d.code(), nil
		},
	}, requestTimeout)
}

// coordinator returns the broker that keeps a group.
func (c *client) coordinator(ctx context.Context, group string) (int32, error) {
	if err := c.enter(ctx); err != nil {
		return 0, err
	}
	defer c.exit()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	res, err := c.kafka.FindCoordinator(ctx, &kafka.FindCoordinatorRequest{Key: group, KeyType: kafka.CoordinatorKeyTypeConsumer})
	if err != nil {
		return 0, c.truth(ctx, err)
	}
	if res.Error != nil {
		return 0, res.Error
	}
	return int32(res.Coordinator.NodeID), nil
}
