package writer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/lakeweir/lakeweir/internal/backoff"
	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/manifest"
)

// Writers runs the writers of a process. It shares memory and encoders among
// them, and keeps the open batch of a partition whose assignment ends, for the
// case that the partition comes back.
type Writers struct {
	budget *Budget
	slots  chan struct{} // one per encoder at work
	drain  chan struct{} // closed by Drain

	mu      sync.Mutex
	drained bool
	kept    map[place]*kept
	tables  map[string]*shared

	recent sync.Map // place to *recent: the last records that were published

	counters map[place]*counters
	steps    steps
}

// place is a partition of a table.
type place struct {
	table     string
	partition int32
}

// keepFor is how long an open batch waits for its partition to come back.
// Rebalances take seconds; after a minute the partition lives elsewhere.
const keepFor = time.Minute

// New returns Writers that share a budget; nil is one without a bound. At most
// GOMAXPROCS batches are encoded at once.
func New(b *Budget) *Writers {
	if b == nil {
		b = NewBudget(0, 0)
	}
	return &Writers{
		budget: b, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), drain: make(chan struct{}),
		kept: map[place]*kept{}, tables: map[string]*shared{}, counters: map[place]*counters{},
	}
}

// parquetEncoder is the default of Config.NewEncoder.
func parquetEncoder(s manifest.Schema) (Encoder, error) {
	return columnar.NewEncoder(s)
}

// Drain asks every writer to cut what it has, publish it and end. Writers that
// are started later end at once.
func (w *Writers) Drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.drained {
		w.drained = true
		close(w.drain)
	}
}

// draining says whether a Drain has begun.
func (w *Writers) draining() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.drained
}

// errAgain ends a session that another one is to follow: something about the
// log has changed, and a fresh claim looks at it from the start.
var errAgain = errors.New("the log has to be looked at again")

// Run writes one partition until ctx ends, a Drain or Once is through (nil), or
// an error stops it: manifest.ErrFenced when another writer has the partition
// and Confirmed does not confirm ours, ErrDataLoss, manifest.ErrIdentity,
// manifest.ErrDamage and others. No partition may be run twice at once.
func (w *Writers) Run(ctx context.Context, c Config) error {
	c, err := c.validated()
	if err != nil {
		return err
	}
	var pause backoff.Pause
	stats := w.of(c)
	stats.run(true)
	defer stats.run(false)
	claim := stats.try("no claim", 1)
	defer claim.over()
	for {
		err := w.runSession(ctx, c, claim)
		if errors.Is(err, manifest.ErrFenced) {
			stats.count(&stats.Fences)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errAgain), errors.Is(err, ErrOutOfRange):
			c.Log.Info("claiming anew", "reason", err)
			claim.again(err)
			if err := pause.Wait(ctx); err != nil {
				return err
			}
		case errors.Is(err, ErrNoAnswer) && !w.draining():
			c.Log.Warn("no claim yet", "error", err)
			claim.again(err)
			if err := pause.Wait(ctx); err != nil {
				return err
			}
		case errors.Is(err, manifest.ErrFenced) && c.Confirmed != nil:
			c.Log.Warn("fenced; waiting for the assignment to be confirmed", "error", err)
			claim.again(err)
			if cerr := c.Confirmed(ctx); cerr != nil {
				return fmt.Errorf("%s/%d: %w (assignment not confirmed: %w)", c.Table, c.Partition, err, cerr)
			}
		default:
			return fmt.Errorf("%s/%d: %w", c.Table, c.Partition, err)
		}
	}
}

// runSession runs one claim from its start to its end. The step that claims is
// over when it is made.
func (w *Writers) runSession(ctx context.Context, c Config, claim *trying) error {
	s := &session{Config: c, writers: w, budget: w.budget, reader: reader{source: c.Source}, holder: w.budget.join(), stats: w.of(c)}
	s.share.Store(1000) // until one is laid out
	defer s.stats.ended()
	defer w.budget.leave(s.holder)
	s.stats.changing(claim)
	if err := s.claim(ctx, w.takeKept(c)); err != nil {
		s.abandon()
		return err
	}
	claim.over()
	err := s.work(ctx)
	if err != nil && ctx.Err() != nil {
		w.keep(s)
		return err
	}
	s.abandon()
	return err
}
