package writer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// session is one claim of a partition, from the claim to its end. Four
// goroutines hand the records on: read, collect, encode, commit. So the next
// batch is collected while one is encoded and one is written.
type session struct {
	Config
	writers *Writers
	budget  *Budget
	holder  *holder
	log     *manifest.Log // of the goroutine that commits
	place   manifest.Partition
	schema  int // version of the stored schema
	encoder Encoder
	dead    DeadReader // the encoder, if something reads what it set aside
	recent  recent     // records up to the newest range that was tolerated
	reader  reader
	once    int64 // with Once, the position to stop at
	epoch   int32 // leader epoch of the last batch read
	open    open
	rest    []*record.Batch // read, and not collected when collect failed
	since   time.Time       // when the first came of what an earlier session left
	behind  atomic.Int64    // batches that have the memory to be laid out and are not yet at commit
	short   atomic.Int64    // batches that are cut and do not have it yet
	share   atomic.Int64    // size of the objects of the range laid out last, in thousandths of its records
	stats   *counters

	mu    sync.Mutex
	units []*unit // cut and not published, in order
}

// unit is a range on its way from the cut to its publication.
type unit struct {
	job         manifest.Job
	since       time.Time // when the first of it came; zero for a pending range
	leaderEpoch int32
	encoded     manifest.Encoded
	superseded  []string      // keys of earlier attempts
	planned     bool          // the plan is in the head
	pending     bool          // it was planned by an earlier session, which tolerated it
	recent      *recent       // records up to its end; nil when they were not counted
	laidOut     int64         // memory for the objects
	done        chan struct{} // closed when it is laid out, or failed
	failed      error         // why it is not laid out
}

// size returns the memory that the records of u take.
func (u *unit) size() (n int64) {
	for _, b := range u.job.Batches {
		n += b.Size()
	}
	return n
}

// plan returns the plan of u.
func (u *unit) plan() *manifest.Plan {
	return &manifest.Plan{
		Range: u.job.Range, Attempt: u.job.Attempt, Schema: u.job.Schema,
		Keys: u.encoded.Record.Keys(), Superseded: u.superseded,
	}
}

// work finishes what is pending and then writes until the context ends, a
// drain is through, or the source fails. What was collected when the source
// fails is still published.
func (s *session) work(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := s.recover(ctx); err != nil {
		return err
	}
	if err := s.skipLost(ctx); err != nil {
		return err
	}
	h := s.log.Head()
	if err := s.reader.seek(ctx, h.Next); err != nil {
		return err
	}
	s.epoch, s.open = h.LeaderEpoch, open{start: h.Next}
	return s.pipeline(ctx)
}

// pipeline runs the four goroutines to their end.
func (s *session) pipeline(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	reading, stop := context.WithCancel(gctx)
	in, cuts, ready := make(chan *record.Batch), make(chan *unit), make(chan *unit)
	var readErr error
	g.Go(func() error {
		defer close(in)
		if err := s.read(reading, in); reading.Err() == nil {
			readErr = err
		}
		return nil
	})
	g.Go(func() error {
		defer close(cuts)
		defer stop()
		return s.collect(gctx, in, cuts)
	})
	g.Go(func() error {
		defer close(ready)
		return s.encodeAll(gctx, cuts, ready)
	})
	g.Go(func() error { return s.commitAll(gctx, ready) })
	if err := g.Wait(); err != nil {
		return err
	}
	if readErr != nil {
		return s.explain(ctx, readErr)
	}
	return ctx.Err()
}

// read hands on what the source gives. It ends with the source's error, or
// when all is collected that is wanted.
func (s *session) read(ctx context.Context, in chan<- *record.Batch) error {
	for {
		b, err := s.reader.next(ctx)
		if err != nil {
			return err
		}
		select {
		case in <- b:
		case <-ctx.Done():
			s.reader.unread(b)
			return ctx.Err()
		}
	}
}

// collect gathers batches and cuts them.
func (s *session) collect(ctx context.Context, in <-chan *record.Batch, cuts chan<- *unit) error {
	if s.Once && s.open.start >= s.once {
		return nil
	}
	age := time.NewTimer(s.Limits.MaxAge)
	age.Stop()
	for {
		var err error
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case came(s.writers.drain):
			return s.cut(ctx, cuts)
		case came(age.C), came(s.holder.cut):
			if err := s.cut(ctx, cuts); err != nil {
				return err
			}
		}
		select {
		case b, more := <-in:
			if !more {
				return s.cut(ctx, cuts)
			}
			err = s.gather(ctx, b, age, cuts)
		case <-age.C:
			err = s.cut(ctx, cuts)
		case <-s.holder.cut:
			err = s.cut(ctx, cuts)
		case <-s.writers.drain:
			return s.cut(ctx, cuts)
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if s.Once && s.open.next() >= s.once {
			return s.cut(ctx, cuts)
		}
	}
}

// came reports whether a channel has something, and takes it. What has come
// before a select goes before it, in a fixed order: a select picks at random,
// and a simulation that is repeated has to cut where it did.
func came[T any](c <-chan T) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// gather adds a batch that was read, and cuts as often as it fills one up. The
// age of what is left begins now.
func (s *session) gather(ctx context.Context, b *record.Batch, age *time.Timer, cuts chan<- *unit) error {
	if err := s.sameEpoch(ctx, b); err != nil {
		s.rest = append(s.rest, b)
		return err
	}
	s.stats.read(b)
	for rest := b; rest != nil; {
		if len(s.open.batches) == 0 {
			s.begin(age)
		}
		s.stats.oldest(rest)
		before := s.open.size
		var full bool
		rest, full = s.open.add(rest, s.Limits)
		s.budget.grew(s.holder, s.open.size-before)
		if !full {
			continue
		}
		if err := s.cut(ctx, cuts); err != nil {
			if rest != nil {
				s.rest = append(s.rest, rest)
			}
			return err
		}
	}
	return nil
}

// begin starts the age of the open batch. That of what an earlier session left
// goes on: rebalances more often than MaxAge would keep it back for ever.
func (s *session) begin(age *time.Timer) {
	s.open.since = time.Now()
	if !s.since.IsZero() {
		s.open.since, s.since = s.since, time.Time{}
	}
	s.stats.begin(s.open.start, s.open.since)
	age.Reset(s.Limits.MaxAge - time.Since(s.open.since))
}

// oldest returns when the first came of what is not published; zero when that
// is not known, as of a pending range.
func (s *session) oldest() time.Time {
	switch {
	case len(s.units) > 0:
		return s.units[0].since
	case len(s.open.batches) > 0:
		return s.open.since
	}
	return s.since
}

// cut ends the open batch and sends it on. An empty one is not cut.
func (s *session) cut(ctx context.Context, cuts chan<- *unit) error {
	if len(s.open.batches) == 0 {
		return nil
	}
	since := s.open.since
	r, batches := s.open.take()
	u := s.newUnit(r, batches, 0, 0)
	u.since = since
	s.budget.left(s.holder)
	s.provide(u)
	s.mu.Lock()
	s.units = append(s.units, u)
	s.mu.Unlock()
	select {
	case cuts <- u:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// newUnit returns a range that is cut but not laid out.
func (s *session) newUnit(r manifest.Range, batches []*record.Batch, attempt int, lost int64) *unit {
	u := &unit{leaderEpoch: -1, job: manifest.Job{
		Table: s.Table, Partition: s.place, Range: r,
		Attempt: attempt, Schema: s.schema, Batches: batches, Lost: lost,
	}}
	for _, b := range batches {
		u.leaderEpoch = max(u.leaderEpoch, b.LeaderEpoch)
	}
	return u
}

// encodeAll lays out what is cut, and hands it on in order. One partition with
// a backlog has several batches laid out at once: as many as there are cores.
func (s *session) encodeAll(ctx context.Context, cuts <-chan *unit, ready chan<- *unit) error {
	g, ctx := errgroup.WithContext(ctx)
	// One more is in the hands of each of the two goroutines.
	line := make(chan *unit, max(cap(s.writers.slots)-2, 0))
	g.Go(func() error {
		defer close(line)
		for u := range cuts {
			if u.laidOut == 0 {
				if err := s.reserve(ctx, u); err != nil {
					return err
				}
				s.behind.Add(1)
				s.short.Add(-1)
			}
			u.done = make(chan struct{})
			g.Go(func() error {
				defer close(u.done)
				u.failed = s.encode(ctx, u)
				return u.failed
			})
			select {
			case line <- u:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	g.Go(func() error {
		for u := range line {
			select {
			case <-u.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			if u.failed != nil {
				return u.failed
			}
			select {
			case ready <- u:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return g.Wait()
}

// encode lays out u in one of the slots that all partitions share.
func (s *session) encode(ctx context.Context, u *unit) (err error) {
	if err := s.reserve(ctx, u); err != nil {
		return err
	}
	select {
	case s.writers.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.writers.slots }()
	u.encoded, err = s.encoder.Encode(ctx, u.job)
	if err != nil {
		return fmt.Errorf("encode %s: %w", u.job.Range, err)
	}
	u.encoded.Record.LeaderEpoch = u.leaderEpoch
	s.settle(u)
	return nil
}

// unpublished returns, in order, the batches that were read and not published.
// It is for the end of a session, when nothing of it runs any more.
func (s *session) unpublished() []*record.Batch {
	var all []*record.Batch
	for _, u := range s.units {
		all = append(all, u.job.Batches...)
		s.budget.stayed(u.size())
		s.let(u)
	}
	s.units = nil
	return slices.Concat(all, s.open.batches, s.rest, s.reader.back)
}

// abandon releases what was read and not published: it will be read again.
func (s *session) abandon() {
	for _, b := range s.unpublished() {
		s.budget.Release(b.Size())
	}
	s.open, s.rest, s.reader.back, s.since = open{}, nil, nil, time.Time{}
}
