package writer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
)

// recover finishes the plan that is pending: exactly its range is read again.
// The plan is kept if this software would give the same keys, whoever made it;
// else the range is planned again.
func (s *session) recover(ctx context.Context) error {
	p := s.log.Head().Pending
	if p == nil {
		return nil
	}
	s.Config.Log.Info("finishing a pending plan", "range", p.Range, "attempt", p.Attempt)
	start, _, err := s.logBounds(ctx)
	if err != nil {
		return err
	}
	lost := max(min(start, p.Next)-p.Start, 0)
	if n := len(s.reader.back); n > 0 {
		if s.reader.back[n-1].Next < min(start, p.Next) {
			s.abandon() // the log lost what follows it, and the range is one
		} else {
			lost = 0 // what was read before is still in memory
		}
	}
	if lost > 0 {
		adopted, err := s.adopt(ctx, *p)
		if adopted || err != nil {
			return err
		}
		if s.OnDataLoss == FailOnLoss {
			return lossError(manifest.Range{Start: p.Start, Next: p.Start + lost})
		}
		s.Config.Log.Warn("offsets of a pending range were removed from the log", "lost", lost, "range", p.Range)
	}
	u, err := s.readAgain(ctx, *p, lost)
	if err != nil {
		return err
	}
	return s.finish(ctx, u, *p)
}

// readAgain reads the records of a plan that the log still holds.
func (s *session) readAgain(ctx context.Context, p manifest.Plan, lost int64) (*unit, error) {
	r := manifest.Range{Start: p.Start + lost, Next: p.Next}
	var batches []*record.Batch
	if r.Start < r.Next {
		if err := s.reader.seek(ctx, r.Start); err != nil {
			return nil, err
		}
		var err error
		if batches, err = s.reader.exactly(ctx, r, s.budget); err != nil {
			return nil, err
		}
	}
	u := s.newUnit(p.Range, batches, p.Attempt, lost)
	u.pending = true
	s.budget.grew(s.holder, u.size())
	s.budget.left(s.holder)
	s.units = append(s.units, u)
	s.epoch = s.log.Head().LeaderEpoch
	for _, b := range batches { // it may have been truncated after the claim
		if err := s.sameEpoch(ctx, b); err != nil {
			return nil, err
		}
	}
	return u, s.encode(ctx, u)
}

// finish commits a pending range, under its plan or under a new one.
func (s *session) finish(ctx context.Context, u *unit, p manifest.Plan) error {
	u.superseded = p.Superseded
	u.planned = p.Schema == s.schema && p.Names(u.encoded.Record.Keys())
	if !u.planned {
		if err := s.layOutAgain(ctx, u, p.Keys); err != nil {
			return err
		}
	} else if err := s.sameLog(ctx); err != nil { // as before a plan: the log was read after the claim had asked
		return err
	}
	return s.commit(ctx, u, func(context.Context) (*unit, error) { return nil, nil })
}

// layOutAgain makes the next attempt of u: new names, and those of the attempt
// before superseded.
func (s *session) layOutAgain(ctx context.Context, u *unit, keys []string) error {
	u.superseded = append(slices.Clone(keys), u.superseded...)
	u.job.Attempt++
	u.planned = false
	return s.encode(ctx, u)
}

// adopt publishes the objects of a plan as they are, when the log can no longer
// give its range whole but every object is there and all footers name this
// range, this attempt and one digest. It returns false when that is not so.
func (s *session) adopt(ctx context.Context, p manifest.Plan) (bool, error) {
	rec := manifest.RangeRecord{Range: p.Range, Attempt: p.Attempt, Schema: p.Schema, LeaderEpoch: -1}
	bodies := map[string][]byte{} // of dead letters
	var digest string
	for i, key := range p.Keys {
		o, err := s.Store.Get(ctx, key, store.Span{})
		if errors.Is(err, store.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read %s of the pending plan: %w", key, err)
		}
		d, err := s.encoder.Describe(key, o.Body)
		if err != nil || d.Range != p.Range || d.Attempt != p.Attempt || d.Schema != p.Schema || i > 0 && d.Digest != digest {
			return false, nil
		}
		digest, rec.Counts, rec.LeaderEpoch = d.Digest, d.Counts, d.LeaderEpoch
		if _, dead, err := manifest.Parse(key); err != nil {
			return false, err
		} else if dead {
			rec.Dead = append(rec.Dead, d.File)
			bodies[key] = o.Body
		} else {
			rec.Data = append(rec.Data, d.File)
		}
	}
	if len(p.Keys) == 0 || rec.Validate() != nil {
		return false, nil
	}
	if err := s.sameLog(ctx); err != nil {
		return false, err
	}
	// A log that was truncated too has other records where these were.
	if err := s.reached(ctx, rec.LeaderEpoch, p.Next); err != nil {
		if errors.Is(err, errAgain) {
			err = nil
		}
		return false, err
	}
	if err := s.reject(ctx, rec.Dead, bodies); err != nil {
		return false, err
	}
	s.Config.Log.Info("publishing the objects of a pending plan as they are", "range", p.Range)
	return true, s.publish(ctx, rec, nil)
}
