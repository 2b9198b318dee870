package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
)

// outcome returns what a run came to. Cause is why its context ended, err what
// the source says.
func (s *Sink) outcome(cause, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cause != nil && !errors.Is(cause, errDrained) {
		if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
			return ErrStopped
		}
		return cause
	}
	var failed []place
	fenced := 0
	for at, err := range s.ended {
		if errors.Is(err, manifest.ErrFenced) {
			fenced++
		} else if err != nil {
			failed = append(failed, at)
		}
	}
	switch {
	case len(failed) > 0:
		return s.failure(failed)
	case fenced > 0 && fenced == len(s.ended):
		return fmt.Errorf("%w: every partition of this process is written by another one now (`lakeweir status` names it)", manifest.ErrFenced)
	case fenced > 0 && !s.drained:
		return fmt.Errorf("%d of %d partitions are written by another process now; the others are published", fenced, len(s.ended))
	case s.drained:
		return nil
	}
	return err
}

// failure returns one error for the partitions that failed: that of the first,
// and how many others there are.
func (s *Sink) failure(failed []place) error {
	slices.SortFunc(failed, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
	})
	err := s.ended[failed[0]]
	if n := len(failed) - 1; n > 0 {
		return fmt.Errorf("%w (and %d more partitions failed)", err, n)
	}
	return err
}

// checkers is how many heads are read at once.
const checkers = 16

// checkHeads reads the heads of all tables that are to be written, so that a
// store that cannot be read, or a table that this version must not touch, ends
// the start and not one partition after the other. Which tables a pattern means
// is not known yet; for one, the store is only looked at.
func (s *Sink) checkHeads(ctx context.Context) error {
	for _, t := range s.Settings.Topics {
		topic := t.Name
		if t.IsPattern() {
			if err := look(ctx, s.Store); err != nil {
				return err
			}
			continue
		}
		root := store.Sub(s.Store, topic+"/")
		ids, err := manifest.Partitions(ctx, root)
		if err != nil {
			return fmt.Errorf("table %q: %w", topic, err)
		}
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(checkers)
		for _, id := range ids {
			if only := s.Settings.Partitions; only != nil && !slices.Contains(only[topic], id) {
				continue
			}
			g.Go(func() error {
				_, err := manifest.Read(gctx, root, id)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return fmt.Errorf("table %q: %w", topic, err)
		}
	}
	return nil
}

// look lists the first object of a store.
func look(ctx context.Context, s store.Store) error {
	for _, err := range s.List(ctx, "", "") {
		return err
	}
	return nil
}
