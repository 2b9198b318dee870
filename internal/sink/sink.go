package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/gated"
	"github.com/lakeweir/lakeweir/store/metered"
	"github.com/lakeweir/lakeweir/writer"
)

// Config is what a Sink needs. Settings and Store are required.
type Config struct {
	Settings *settings.Settings
	Store    store.Store // holds all tables
	Once     bool        // end when all is published up to the end that the logs had

	// Probe proves that the store keeps its word, before the first claim. Nil
	// trusts it.
	Probe func(ctx context.Context) error

	Host, Software string       // for people who read a head
	Log            *slog.Logger // nil discards
}

// Sink writes topics to tables. New makes one.
type Sink struct {
	Config
	source  source.Config
	letters *letters // nil without a dead-letter topic
	budget  *writer.Budget
	writers *writer.Writers
	pause   time.Duration // before a fenced partition without a group is given up
	probed  func(ctx context.Context) error

	meter    *metered.Meter // counts the calls to the store
	progress source.Progress

	mu      sync.Mutex
	cancel  context.CancelCauseFunc // ends the run
	drained bool
	running map[place]*source.Partition
	ended   map[place]error // how the last work of a partition ended
}

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

func (p place) String() string { return fmt.Sprintf("%s/%d", p.topic, p.partition) }

// fencePause is how long a partition without a group waits after a fence
// before it is given up: two processes that a supervisor restarts at once
// would otherwise fence each other as fast as they start.
const fencePause = 2 * time.Second

// New checks the settings and makes a Sink of them. Nothing is asked or
// written yet.
func New(c Config) (*Sink, error) {
	if err := c.Settings.Check(); err != nil {
		return nil, err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Sink{
		Config: c, pause: fencePause,
		budget:  writer.NewBudget(c.Settings.Memory/rawShare, c.Settings.Memory/objectShare),
		running: map[place]*source.Partition{}, ended: map[place]error{},
	}
	s.writers = writer.New(s.budget)
	s.meter = metered.Wrap(c.Store)
	s.Store = gated.Wrap(s.meter) // outside, so that waiting is no time of the store
	s.probed = once(c.Probe)
	var err error
	if s.source, err = Source(c.Settings); err != nil {
		return nil, err
	}
	s.source.Room, s.source.Log, s.source.Progress = s.budget, c.Log, &s.progress
	s.source.Settled = c.Once
	s.source.FetchBytes = int32(min(maxFetch, c.Settings.Memory/rawShare/fetchShare))
	if topic := c.Settings.DeadLetter.Topic; topic != "" {
		producer, err := source.NewProducer(s.source, topic)
		if err != nil {
			return nil, err
		}
		s.letters = &letters{producer, make(chan struct{}, lettersAtOnce), c.Log}
	}
	return s, nil
}

// once returns a function that calls f at its first call, and gives all
// callers the outcome.
func once(f func(context.Context) error) func(context.Context) error {
	var mu sync.Mutex
	var done bool
	var err error
	return func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if !done && f != nil {
			if err = f(ctx); ctx.Err() == nil {
				done = true
			}
		}
		return err
	}
}

// ErrStopped is returned by Run when its context ended before a Drain was
// through, or without one.
var ErrStopped = errors.New("stopped before all was published; nothing is lost, the next run goes on from the heads")

// Run writes all assigned partitions until a Drain or Once is through (nil),
// every one of them has ended, or ctx ends (ErrStopped). It returns
// manifest.ErrFenced when other writers have taken every partition.
func (s *Sink) Run(ctx context.Context) error {
	if err := s.checkHeads(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	s.cancel = cancel
	drained := s.drained
	s.mu.Unlock()
	if drained {
		return nil
	}
	if s.letters != nil {
		defer s.letters.producer.Close()
		if err := s.letters.check(ctx); err != nil {
			return s.outcome(context.Cause(ctx), err)
		}
	}
	err := source.Run(ctx, s.source, s.work)
	return s.outcome(context.Cause(ctx), err)
}

// errDrained ends a run whose Drain is through.
var errDrained = errors.New("drained")

// Drain asks every partition to publish what it has and to end. It returns at
// once; Run returns when all is done.
func (s *Sink) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drained = true
	s.writers.Drain()
	s.rest()
}

// rest ends the run when a Drain is through. The group may give partitions
// again, or none at all, which nothing waits for then.
func (s *Sink) rest() {
	if s.drained && len(s.running) == 0 && s.cancel != nil {
		s.cancel(errDrained)
	}
}

// work writes one partition for as long as it is assigned.
func (s *Sink) work(ctx context.Context, p *source.Partition) error {
	at := place{p.Topic(), p.ID()}
	if !s.begin(at, p) {
		return nil
	}
	err := s.probed(ctx)
	if err != nil && ctx.Err() == nil {
		s.cancel(err)
	}
	if err == nil {
		err = s.writers.Run(ctx, s.writer(at, p))
	}
	s.end(ctx, at, err)
	return err
}

// begin notes that a partition is worked on, unless a Drain has begun.
func (s *Sink) begin(at place, p *source.Partition) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drained {
		return false
	}
	s.running[at] = p
	delete(s.ended, at)
	return true
}

// end notes how the work on a partition ended. The one that ends last is told
// of by Run's error.
func (s *Sink) end(ctx context.Context, at place, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, at)
	if ctx.Err() == nil {
		s.ended[at] = err
		if err != nil && len(s.running) > 0 {
			s.Log.Error("a partition has stopped; the others go on", "topic", at.topic, "partition", at.partition, "error", err)
		}
	}
	s.rest()
}

// writer returns how the writer of a partition is set up.
func (s *Sink) writer(at place, p *source.Partition) writer.Config {
	b := s.Settings.Batch
	c := writer.Config{
		Store: store.Sub(s.Store, at.topic+"/"), Table: at.topic, Partition: at.partition,
		Source: log{p}, Schema: s.schema(at.topic), Start: startAt(s.Settings.Start, log{p}), Once: s.Once,
		Limits:    writer.Limits{MaxRows: b.MaxRows, MaxBytes: min(b.MaxBytes, s.Settings.Memory/batchShare), MaxAge: b.MaxAge},
		Published: p.Commit, Confirmed: p.Confirm,
		Host: s.Host, Software: s.Software,
		Log: s.Log.With("topic", at.topic, "partition", at.partition),
	}
	c.MaxDead = s.Settings.DeadLetter.MaxRatio
	if s.letters != nil {
		c.Rejected = s.letters.of(at.topic)
	}
	if s.Settings.OnDataLoss == settings.Skip {
		c.OnDataLoss = writer.SkipLost
	}
	if s.Settings.Group == "" || s.Settings.Partitions != nil {
		c.Confirmed = s.givenUp
	}
	return c
}

// schema returns the columns of a topic that is read.
func (s *Sink) schema(topic string) manifest.Schema {
	t, _ := s.Settings.Topic(topic)
	schema, _ := s.Settings.Schema(t) // Check has seen that it is one
	return schema
}

// givenUp is asked after a fence when no group can say whose the partition is:
// another process was started for it, so this one leaves it.
func (s *Sink) givenUp(ctx context.Context) error {
	select {
	case <-time.After(s.pause/2 + rand.N(s.pause/2+1)):
		return errors.New("no group says whose it is")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bounded is a log that tells where it begins and ends.
type bounded interface {
	Bounds(ctx context.Context) (start, end int64, err error)
	OffsetFor(ctx context.Context, t time.Time) (int64, error)

	// Late is true for a partition that came when its topic was read already.
	Late() bool
}

// startAt returns where a partition begins that has no head yet.
func startAt(at settings.Start, p bounded) func(ctx context.Context) (int64, error) {
	return func(ctx context.Context) (int64, error) {
		if p.Late() { // what is in it came after the start, wherever that is
			at = settings.Start{}
		}
		if !at.Time.IsZero() {
			return p.OffsetFor(ctx, at.Time)
		}
		start, end, err := p.Bounds(ctx)
		switch {
		case err != nil:
			return 0, err
		case at.Latest:
			return end, nil
		case at.Offset == nil:
			return start, nil
		case *at.Offset < start || *at.Offset > end:
			return 0, fmt.Errorf("start: offset %d is not in the log, which holds [%d,%d): give one that is, or earliest, latest or a time", *at.Offset, start, end)
		}
		return *at.Offset, nil
	}
}
