package simulation

import (
	"context"
	"errors"
	"fmt"

	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/writer"
)

// simLog is the log of one partition. What it holds is a function of the era
// that wrote an offset, and of the offset; only what was removed is state.
type simLog struct {
	tag        byte // which log of this name it is
	start, end int64
	gone       map[int64]bool // compacted away
	ends       []int64        // where leader epochs ended, but the last
	cuts       []int64        // where unclean elections cut it off
	tales      []tale         // all that it ever was; the last is what it is
}

// tale is a history of a log. An unclean election cuts the log off and goes on
// with other records: another tale, which shares its beginning with the one
// before it.
type tale struct {
	eras []era
	end  int64 // of one that is over
}

// era is a part of a tale, up to the beginning of the next.
type era struct {
	from int64
	tag  byte
}

func newLog(tag byte) *simLog {
	return &simLog{tag: tag, gone: map[int64]bool{}, tales: []tale{{eras: []era{{0, tag}}}}}
}

// now returns the index of the tale that the log is.
func (l *simLog) now() int { return len(l.tales) - 1 }

// tagOf returns the era of an offset in a tale.
func (l *simLog) tagOf(tale int, offset int64) (tag byte) {
	for _, e := range l.tales[tale].eras {
		if e.from <= offset {
			tag = e.tag
		}
	}
	return tag
}

// cut begins a tale that leaves the one before it at an offset.
func (l *simLog) cut(at int64, tag byte) {
	was := &l.tales[l.now()]
	was.end = l.end
	var eras []era
	for _, e := range was.eras {
		if e.from < at {
			eras = append(eras, e)
		}
	}
	l.tales = append(l.tales, tale{eras: append(eras, era{at, tag})})
	for i, end := range l.ends {
		l.ends[i] = min(end, at)
	}
	l.ends, l.cuts, l.end = append(l.ends, at), append(l.cuts, at), at
}

// mix is a hash of an offset of an era.
func mix(tag byte, offset int64) uint64 {
	x := uint64(offset)*0x9E3779B97F4A7C15 + uint64(tag)*0xD1B54A32D192ED03
	x ^= x >> 29
	x *= 0xBF58476D1CE4E5B9
	return x ^ x>>32
}

// absent holds for markers and aborted records.
func absent(tag byte, offset int64) bool { return mix(tag, offset)%7 == 0 }

// bad holds for values that do not parse.
func bad(tag byte, offset int64) bool { return mix(tag, offset)%11 == 1 }

// holds reports whether a tale has, or had, a record at an offset.
func (l *simLog) holds(tale int, offset int64) bool {
	end := l.end
	if tale < l.now() {
		end = l.tales[tale].end
	}
	return offset < end && !absent(l.tagOf(tale, offset), offset)
}

// epochOf returns the leader epoch that wrote an offset.
func (l *simLog) epochOf(offset int64) int32 {
	e := 0
	for e < len(l.ends) && l.ends[e] <= offset {
		e++
	}
	return int32(e)
}

// epochEnd answers as brokers do, also for an epoch that retention removed.
func (l *simLog) epochEnd(epoch int32) int64 {
	if int(epoch) < len(l.ends) {
		return max(l.ends[epoch], l.start)
	}
	return l.end
}

// read returns a batch that begins at an offset.
func (l *simLog) read(at int64) *record.Batch {
	tag := l.tagOf(l.now(), at)
	next := min(at+1+int64(mix(tag, at)%6), l.end)
	b := record.NewBatch(at, nil)
	b.LeaderEpoch = l.epochOf(at)
	for o := at; o < next; o++ {
		if l.epochOf(o) != b.LeaderEpoch {
			next = o
			break
		}
		if absent(tag, o) || l.gone[o] {
			continue
		}
		value := fmt.Sprintf("good %d", tag)
		if bad(tag, o) {
			value = fmt.Sprintf("bad %d", tag)
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
	switch {
	case err != nil || v == pass:
		return err
	case v == stall:
		return fmt.Errorf("%w: %w", writer.ErrNoAnswer, wait(ctx))
	}
	return fmt.Errorf("%w: %w", writer.ErrNoAnswer, errFault)
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
		if err := s.p.budget.Acquire(ctx, b.Size()); err != nil {
			return nil, err
		}
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
	return s.log().epochEnd(epoch), nil
}
