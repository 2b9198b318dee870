package simulation

import (
	"context"
	"errors"
	"fmt"

	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/writer"
)

// simLog is the log of one partition. What it holds is a function of its tag
// and of the offset; only what was removed is state.
type simLog struct {
	tag        byte // which log of this name it is
	start, end int64
	gone       map[int64]bool // compacted away
	ends       []int64        // where leader epochs ended, but the last
}

func newLog(tag byte) *simLog { return &simLog{tag: tag, gone: map[int64]bool{}} }

// mix is a hash of an offset of the log.
func (l *simLog) mix(offset int64) uint64 {
	x := uint64(offset)*0x9E3779B97F4A7C15 + uint64(l.tag)*0xD1B54A32D192ED03
	x ^= x >> 29
	x *= 0xBF58476D1CE4E5B9
	return x ^ x>>32
}

// absent holds for markers and aborted records.
func (l *simLog) absent(offset int64) bool { return l.mix(offset)%7 == 0 }

// bad holds for values that do not parse.
func (l *simLog) bad(offset int64) bool { return l.mix(offset)%11 == 1 }

// epochOf returns the leader epoch that wrote an offset.
func (l *simLog) epochOf(offset int64) int32 {
	e := 0
	for e < len(l.ends) && l.ends[e] <= offset {
		e++
	}
	return int32(e)
}

// read returns a batch that begins at an offset.
func (l *simLog) read(at int64) *record.Batch {
	next := min(at+1+int64(l.mix(at)%6), l.end)
	b := record.NewBatch(at, nil)
	b.LeaderEpoch = l.epochOf(at)
	for o := at; o < next; o++ {
		if l.epochOf(o) != b.LeaderEpoch {
			next = o
			break
		}
		if l.absent(o) || l.gone[o] {
			continue
		}
		value := fmt.Sprintf("good %d", l.tag)
		if l.bad(o) {
			value = fmt.Sprintf("bad %d", l.tag)
		}
		if err := b.Append(record.Record{Offset: o, Timestamp: o, Value: []byte(value)}); err != nil {
			panic(err)
		}
	}
	b.Next = next
	return b
}

func (l *simLog) identity() record.Identity {
	return record.Identity{Cluster: "c", Topic: record.TopicID{l.tag}}
}

// simSource is the log of a partition as a process reads it.
type simSource struct {
	p  *process
	id int32
	at int64
}

func (s *simSource) log() *simLog { return s.p.w.logs[s.id] }

// ask is a question to the brokers.
func (s *simSource) ask(ctx context.Context, kind string, ready func() bool) error {
	v, err := s.p.call(ctx, kind, fmt.Sprint(s.id), ready)
	if err == nil && v != pass {
		return fmt.Errorf("%w: %w", writer.ErrNoAnswer, errFault)
	}
	return err
}

func (s *simSource) Seek(_ context.Context, offset int64) error {
	s.at = offset
	return nil
}

func (s *simSource) Read(ctx context.Context) (*record.Batch, error) {
	for {
		err := s.ask(ctx, "read", func() bool { return s.at < s.log().start || s.at != s.log().end })
		switch {
		case errors.Is(err, errFault): // fetches are made again
			continue
		case err != nil:
			return nil, err
		}
		l := s.log()
		if s.at < l.start || s.at > l.end {
			return nil, fmt.Errorf("offset %d is out of range", s.at)
		}
		if s.at == l.end {
			continue
		}
		b := l.read(s.at)
		s.at = b.Next
		return b, nil
	}
}

func (s *simSource) Bounds(ctx context.Context) (start, end int64, err error) {
	if err := s.ask(ctx, "bounds", nil); err != nil {
		return 0, 0, err
	}
	return s.log().start, s.log().end, nil
}

func (s *simSource) Identity(ctx context.Context) (record.Identity, error) {
	if err := s.ask(ctx, "identity", nil); err != nil {
		return record.Identity{}, err
	}
	return s.log().identity(), nil
}

func (s *simSource) EpochEnd(ctx context.Context, epoch int32) (int64, error) {
	if err := s.ask(ctx, "epoch", nil); err != nil {
		return 0, err
	}
	if l := s.log(); int(epoch) < len(l.ends) {
		return max(l.ends[epoch], l.start), nil // as brokers answer for an epoch that retention removed
	}
	return s.log().end, nil
}
