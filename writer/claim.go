package writer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lakeweir/lakeweir/internal/backoff"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// claim makes s the writer of its partition: with the claim that an earlier
// session left, if that still holds, else with a fresh one.
func (s *session) claim(ctx context.Context, k *kept) error {
	if k != nil {
		if ok, err := s.resume(ctx, k); ok || err != nil {
			return err
		}
	}
	id, err := s.identity(ctx)
	if err != nil {
		return err
	}
	s.log, err = manifest.Claim(ctx, s.Store, manifest.Claimant{
		Table: s.Table, Partition: s.Partition, Identity: id,
		First: s.Start, Check: s.checkLog, Census: s.writers.shared(s.Table, s.Store).census, Host: s.Host, Software: s.Software, Log: s.Config.Log,
		Failed: s.stats.headFailed,
	})
	if err == nil {
		s.stats.count(&s.stats.Claims)
	}
	return err
}

// prepare makes what the session needs once it has the claim.
func (s *session) prepare(ctx context.Context) error {
	h := s.log.Head()
	s.place = h.Partition
	s.stats.claimed(h)
	s.Config.Log.Info("claimed", "epoch", h.Epoch, "next", h.Next, "pending", h.Pending != nil)
	schema, err := s.storedSchema(ctx)
	if err != nil {
		return err
	}
	s.schema = schema.Version
	if s.encoder, err = s.NewEncoder(schema); err != nil {
		return fmt.Errorf("schema %d: %w", schema.Version, err)
	}
	if s.dead, err = s.deadReader(); err != nil {
		return err
	}
	s.recent = s.writers.recall(s)
	if s.Once {
		_, s.once, err = s.logBounds(ctx)
	}
	return err
}

// goneFor is how long a log has to be missing before it counts as deleted:
// brokers forget topics for moments while they restart.
const goneFor = 30 * time.Second

// ask puts a question to the log until it is answered. Brokers come back; what
// was collected is worth waiting for, but not for a log that was deleted.
func (s *session) ask(ctx context.Context, what string, question func() error) error {
	var pause backoff.Pause
	var gone time.Time // since when the log is not there
	try := s.stats.try("the brokers do not answer", 1)
	defer try.over()
	for {
		err := question()
		if err == nil {
			return nil
		}
		try.failed(err)
		err = fmt.Errorf("ask %s: %w", what, err)
		switch {
		case !errors.Is(err, ErrNoLog):
			gone = time.Time{}
		case gone.IsZero():
			gone = time.Now()
		case time.Since(gone) > goneFor:
			return err
		}
		if s.log == nil && s.writers.draining() { // nothing is in hand yet
			return err
		}
		s.Config.Log.Log(ctx, pause.Level(), "the log does not answer yet", "error", err)
		if pause.Wait(ctx) != nil {
			return err
		}
	}
}

// identity asks which log this is.
func (s *session) identity(ctx context.Context) (id record.Identity, err error) {
	err = s.ask(ctx, "which log this is", func() (err error) {
		id, err = s.Source.Identity(ctx)
		return err
	})
	return id, err
}

// logBounds asks for the bounds of the log.
func (s *session) logBounds(ctx context.Context) (start, end int64, err error) {
	err = s.ask(ctx, "for the bounds of the log", func() (err error) {
		start, end, err = s.Source.Bounds(ctx)
		return err
	})
	return start, end, err
}

// storedSchema returns the wanted schema under the version that the table has
// for it. A store that fails is asked again.
func (s *session) storedSchema(ctx context.Context) (manifest.Schema, error) {
	var pause backoff.Pause
	try := s.stats.try("the schema is not stored", 1)
	defer try.over()
	for {
		schema, err := s.writers.shared(s.Table, s.Store).ensure(ctx, s.Store, s.Schema)
		if err == nil || errors.Is(err, manifest.ErrFormat) || errors.Is(err, manifest.ErrDamage) {
			return schema, err
		}
		try.failed(err)
		s.Config.Log.Log(ctx, pause.Level(), "schema is not stored yet", "error", err)
		if perr := pause.Wait(ctx); perr != nil {
			return schema, err
		}
	}
}

// bounds are the positions that a log holds.
type bounds struct {
	start, end int64
	epochEnd   int64 // of the leader epoch in the head; negative when the log cannot tell
}

// settleTries and settlePause bound the wait for a log that ends below what
// was read of it already: after a leader move the new leader may not know for a
// moment how far the log is committed (KIP-207).
const (
	settleTries = 5
	settlePause = 300 * time.Millisecond
)

// checkLog compares a head with the log, before anything is written.
func (s *session) checkLog(ctx context.Context, h manifest.Head) error {
	for try := 1; ; try++ {
		b, err := s.bounds(ctx, h.LeaderEpoch)
		if err != nil {
			return err
		}
		err = b.check(h, s.OnDataLoss)
		if !errors.Is(err, manifest.ErrIdentity) || try == settleTries {
			return err
		}
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *session) bounds(ctx context.Context, leaderEpoch int32) (b bounds, err error) {
	if b.start, b.end, err = s.Source.Bounds(ctx); err != nil {
		return b, fmt.Errorf("ask for the bounds of the log: %w", err)
	}
	b.epochEnd = -1
	if leaderEpoch >= 0 {
		if b.epochEnd, err = s.Source.EpochEnd(ctx, leaderEpoch); err != nil {
			return b, fmt.Errorf("ask where leader epoch %d ends: %w", leaderEpoch, err)
		}
	}
	return b, nil
}

// check says whether a log with these bounds can be the one that h was written
// for, and whether records were lost from it that h still waits for. A hole
// that compaction left is neither: the log start is not past it.
func (b bounds) check(h manifest.Head, policy DataLoss) error {
	reached := h.Next
	if h.Pending != nil {
		reached = h.Pending.Next
	}
	switch {
	case b.epochEnd >= 0 && b.epochEnd < h.Next:
		return fmt.Errorf("%w: leader epoch %d ends at %d, but records up to %d were read from it: the log was truncated (an unclean leader election); `lakeweir reset` starts a new generation of the table", manifest.ErrIdentity, h.LeaderEpoch, b.epochEnd, h.Next)
	case reached > b.end && b.epochEnd < reached: // else an open transaction holds the end back
		return fmt.Errorf("%w: the log ends at %d, but records up to %d were read from it: the topic was created again or truncated; `lakeweir reset` starts a new generation of the table", manifest.ErrIdentity, b.end, reached)
	case b.start > h.Next && h.Pending == nil && policy == FailOnLoss:
		return lossError(manifest.Range{Start: h.Next, Next: b.start})
	}
	return nil
}

func lossError(r manifest.Range) error {
	return fmt.Errorf("%w: the log begins at %d, offsets %s were removed before they were read: raise the topic's retention, and set on_data_loss: skip to go on without them", ErrDataLoss, r.Next, r)
}

// skipLost publishes a range without rows for what the log lost, if it did.
func (s *session) skipLost(ctx context.Context) error {
	start, _, err := s.logBounds(ctx)
	if err != nil {
		return err
	}
	next := s.log.Head().Next
	if start <= next || len(s.reader.back) > 0 {
		return nil
	}
	r := manifest.Range{Start: next, Next: start}
	if s.OnDataLoss == FailOnLoss {
		return lossError(r)
	}
	if err := s.sameLog(ctx); err != nil {
		return err
	}
	s.Config.Log.Warn("offsets were removed from the log before they were read", "lost", r)
	return s.publish(ctx, manifest.RangeRecord{
		Range: r, Schema: s.schema, LeaderEpoch: -1, Counts: manifest.Counts{Lost: r.Len()},
	}, nil)
}

// explain tells a failed read that the next claim can deal with from one that
// ends the writer: the log no longer holds the position.
func (s *session) explain(ctx context.Context, readErr error) error {
	if errors.Is(readErr, ErrNoLog) { // it has no bounds
		return readErr
	}
	start, end, err := s.logBounds(ctx)
	if err != nil {
		return errors.Join(readErr, err)
	}
	at := s.log.Head().Next
	if at < start || at > end {
		return fmt.Errorf("%w: the log holds [%d,%d), the next offset is %d: %w", errAgain, start, end, at, readErr)
	}
	return readErr
}

// sameEpoch asks, when a new leader epoch begins, whether the one before it
// reached as far as was read: else records were truncated that are in memory.
func (s *session) sameEpoch(ctx context.Context, b *record.Batch) error {
	if b.LeaderEpoch <= s.epoch {
		return nil
	}
	old := s.epoch
	s.epoch = b.LeaderEpoch
	return s.reached(ctx, old, b.Start)
}

// reached asks whether a leader epoch reached as far as was read of it: if not,
// the log was truncated, and the error is errAgain.
func (s *session) reached(ctx context.Context, epoch int32, next int64) error {
	if epoch < 0 {
		return nil
	}
	var end int64
	err := s.ask(ctx, fmt.Sprintf("where leader epoch %d ends", epoch), func() (err error) {
		end, err = s.Source.EpochEnd(ctx, epoch)
		return err
	})
	if err != nil {
		return err
	}
	if end >= 0 && end < next {
		return fmt.Errorf("%w: leader epoch %d ends at %d, %d was read", errAgain, epoch, end, next)
	}
	return nil
}
