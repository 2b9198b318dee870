package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lakeweir/lakeweir/record"
	"github.com/segmentio/kafka-go"
)

// queryTimeout bounds a question to a leader, with all the tries that a moving
// leader or a restarting broker needs.
const queryTimeout = 30 * time.Second

// atLeader puts a question to the leader of p, and again after a look at the
// metadata while the answer may change.
// It is ErrNoAnswer when that took too long.
func (p *Partition) atLeader(ctx context.Context, what string, question func(ctx context.Context, node int32) (int16, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, queryTimeout, ErrNoAnswer)
	defer cancel()
	var last error
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		node := p.router.leaderOf(p)
		if node >= 0 {
			code, err := question(ctx, node)
			if err == nil && code == 0 {
				p.router.answered(p)
				return nil
			}
			if last = err; err == nil {
				last = codeError(code)
				if !transient(code) {
					break
				}
			}
			p.router.mu.Lock()
			p.router.strand(p)
			p.router.mu.Unlock()
		} else if last == nil {
			last = fmt.Errorf("the partition has no leader")
		}
		if !sleep(ctx, jitter(pause)) {
			break
		}
	}
	if errors.Is(context.Cause(ctx), ErrNoAnswer) {
		last = fmt.Errorf("%w: %w", ErrNoAnswer, last)
	}
	return fmt.Errorf("%s of %s: %w", what, p.key, p.router.client.explain.now(last))
}

// Bounds returns the offsets of the log: its first, and the end of what Read
// can deliver: the last stable offset, or the high watermark when uncommitted
// records are read.
func (p *Partition) Bounds(ctx context.Context) (start, end int64, err error) {
	return p.bounds(ctx, !p.router.c.ReadUncommitted)
}

func (p *Partition) bounds(ctx context.Context, committed bool) (start, end int64, err error) {
	if start, err = p.list(ctx, "ask for the log start", atStart, committed); err != nil {
		return 0, 0, err
	}
	if end, err = p.list(ctx, "ask for the log end", atEnd, committed); err != nil {
		return 0, 0, err
	}
	return start, end, nil
}

// High returns the high watermark: the end of what is replicated. While it is
// above the end that Bounds tells later, an open transaction holds that back.
func (p *Partition) High(ctx context.Context) (int64, error) {
	return p.list(ctx, "ask for the high watermark", atEnd, false)
}

// OffsetFor returns the offset of the first record at or after a time; the end
// of the log when there is none.
func (p *Partition) OffsetFor(ctx context.Context, t time.Time) (int64, error) {
	committed := !p.router.c.ReadUncommitted
	what := "ask for the offset at " + t.UTC().Format(time.RFC3339)
	offset, err := p.list(ctx, what, max(t.UnixMilli(), 0), committed)
	if err != nil || offset >= 0 {
		return offset, err
	}
	return p.list(ctx, "ask for the log end", atEnd, committed)
}

func (p *Partition) list(ctx context.Context, what string, at int64, committed bool) (int64, error) {
	var l listed
	err := p.atLeader(ctx, what, func(ctx context.Context, node int32) (int16, error) {
		var err error
		l, err = p.router.client.list(ctx, node, p.topic, p.partition, at, committed)
		return l.code, err
	})
	return l.offset, err
}

// EpochEnd returns the end offset of the largest leader epoch that the log has
// at or below the given one: below a position that was read at that epoch, the
// log was truncated. It is NoEpochEnd when the log has no such epoch or the
// broker (below Kafka 2.1) cannot tell.
func (p *Partition) EpochEnd(ctx context.Context, leaderEpoch int32) (int64, error) {
	if leaderEpoch < 0 {
		return NoEpochEnd, nil
	}
	var e epochEnd
	err := p.atLeader(ctx, "ask for the end of a leader epoch", func(ctx context.Context, node int32) (int16, error) {
		var err error
		e, err = p.router.client.epochEnd(ctx, node, p.topic, p.partition, leaderEpoch)
		return e.code, err
	})
	return e.end, err
}

// Identity asks which log this is, never a cache. The topic id is zero below
// Kafka 2.8. A topic that is gone is ErrNoTopic.
func (p *Partition) Identity(ctx context.Context) (record.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		var l layout
		err := p.router.away()
		if err == nil {
			l, err = p.router.client.layoutOf(ctx, p.topic)
		}
		t, ok := l.topics[p.topic]
		switch {
		case err != nil:
			p.router.ask()
		case !ok || t.code == codeUnknownTopic:
			return record.Identity{}, fmt.Errorf("ask for the identity of topic %q: %w", p.topic, ErrNoTopic)
		case t.code == 0:
			return record.Identity{Cluster: l.cluster, Topic: t.id}, nil
		default:
			err = codeError(t.code)
		}
		if t.code != 0 && !transient(t.code) || !sleep(ctx, jitter(pause)) {
			return record.Identity{}, fmt.Errorf("ask for the identity of topic %q: %w", p.topic, p.router.client.explain.now(err))
		}
	}
}

// Commit tells the brokers, under the group's name, that all below next is
// done. Nothing is read from there: it serves lag monitors, so a failure is
// worth a warning and no more. Without a group name it does nothing.
func (p *Partition) Commit(ctx context.Context, next int64) error {
	group := p.router.c.Group
	if group == "" {
		return nil
	}
	if err := p.router.client.enter(ctx); err != nil {
		return err
	}
	defer p.router.client.exit()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req := &kafka.OffsetCommitRequest{
		GroupID: group, GenerationID: -1,
		Topics: map[string][]kafka.OffsetCommit{p.topic: {{Partition: int(p.partition), Offset: next}}},
	}
	if p.member != nil {
		req.GenerationID, req.MemberID = int(p.member.generation), p.member.id
	}
	res, err := p.router.client.kafka.OffsetCommit(ctx, req)
	if err == nil {
		for _, c := range res.Topics[p.topic] {
			err = c.Error
		}
	}
	if err != nil {
		return fmt.Errorf("commit offset %d of %s to group %q: %w", next, p.key, group, err)
	}
	p.session.settled(p.key)
	return nil
}
