package writer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lakeweir/lakeweir/internal/backoff"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
)

// commitAll commits units in order. While one is written the next is encoded;
// if it is cut by then, its plan rides in the publish, which saves a head write.
func (s *session) commitAll(ctx context.Context, ready <-chan *unit) error {
	told := s.teller()
	defer told.close()
	// Also when nothing was published since: the group may be new, deleted, or
	// moved by hand, and a quiet partition would show a false lag for ever.
	told.tell(s.log.Head().Next)
	var ahead *unit
	for {
		u := ahead
		ahead = nil
		if u == nil {
			var more bool
			if u, more = <-ready; !more {
				return nil
			}
			s.behind.Add(-1)
		}
		err := s.commit(ctx, u, func(ctx context.Context) (*unit, error) {
			if s.behind.Load() == 0 {
				return nil, nil
			}
			select {
			case next, more := <-ready:
				if more {
					s.behind.Add(-1)
					ahead = next
				}
				return ahead, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		if err != nil {
			return err
		}
		told.tell(s.log.Head().Next)
	}
}

// commit plans, writes and publishes u. following returns the unit behind it
// if that one is cut already, and its plan becomes pending in the same write.
func (s *session) commit(ctx context.Context, u *unit, following func(context.Context) (*unit, error)) error {
	begin := time.Now()
	if err := s.tolerate(u); err != nil {
		return err
	}
	if err := s.plan(ctx, u); err != nil {
		return err
	}
	for {
		written := time.Now()
		err := s.write(ctx, u)
		if err == nil {
			s.writers.steps.took(&s.writers.steps.Write, written)
			break
		}
		if !errors.Is(err, errOther) {
			return err
		}
		s.Config.Log.Warn("planning a range again", "range", u.job.Range, "reason", err)
		if err := s.layOutAgain(ctx, u, u.encoded.Record.Keys()); err != nil {
			return err
		}
		if err := s.plan(ctx, u); err != nil {
			return err
		}
	}
	if err := s.reject(ctx, u.encoded.Record.Dead, u.encoded.Bodies); err != nil {
		return err
	}
	next, err := following(ctx)
	if err != nil {
		return err
	}
	var rider *manifest.Plan
	if next != nil && len(next.encoded.Bodies) > 0 && s.tolerate(next) == nil && s.sameLog(ctx) == nil {
		rider = next.plan()
	}
	if err := s.publish(ctx, u.encoded.Record, rider); err != nil {
		return err
	}
	if rider != nil {
		next.planned = true
	}
	s.published(u, time.Since(begin))
	return nil
}

// plan makes the cut of u durable. A range without objects needs no plan: its
// publish is its first and only write.
func (s *session) plan(ctx context.Context, u *unit) error {
	if u.planned {
		return nil
	}
	if err := s.sameLog(ctx); err != nil {
		return err
	}
	u.planned = true
	if len(u.encoded.Bodies) == 0 && u.job.Attempt == 0 {
		return nil
	}
	return s.changeHead(&s.writers.steps.Plan, "the plan of a range is not in the head", func() error {
		return s.log.Plan(ctx, *u.plan())
	})
}

// sameLog asks again, after the last fetch of a batch and before its plan,
// whether what was fetched by name comes from the log of the head: a topic id
// never comes back, so equal before and after means the same log in between.
func (s *session) sameLog(ctx context.Context) error {
	id, err := s.identity(ctx)
	if err != nil {
		return err
	}
	none := record.TopicID{}
	want := s.log.Head().Identity
	if want.Topic == none || id.Topic == none { // brokers that do not tell, as at a claim
		id.Topic = want.Topic
	}
	if id != want {
		return fmt.Errorf("%w: the topic or the cluster is not the one that was claimed (%s %x, now %s %x)", errAgain, want.Cluster, want.Topic, id.Cluster, id.Topic)
	}
	return nil
}

// errOther says that an object is there with other bytes. A name is created
// once and never overwritten: the range needs new names.
var errOther = errors.New("an object is there with other bytes")

// write fills the superseded names with objects without rows, so that a paused
// writer cannot bring old rows back there, and only then creates the objects of
// the plan.
func (s *session) write(ctx context.Context, u *unit) error {
	for _, key := range u.superseded {
		if err := s.vacate(ctx, u, key); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(u.encoded.Bodies)) {
		if err := s.create(ctx, key, u.encoded.Bodies[key]); err != nil {
			return err
		}
	}
	return nil
}

// vacate puts an object without rows at a key that no one may publish any
// more: the one PUT of data without a condition.
func (s *session) vacate(ctx context.Context, u *unit, key string) error {
	body, err := s.encoder.Vacant(u.job, key)
	if err != nil {
		return fmt.Errorf("make a file without rows for %s: %w", key, err)
	}
	var pause backoff.Pause
	try := s.stats.try("the store has not taken an object", 1)
	defer try.over()
	for {
		_, err := s.Store.Put(ctx, key, body, store.Blind())
		if err == nil {
			return nil
		}
		try.failed(err)
		s.Config.Log.Log(ctx, pause.Level(), "superseded key is not written yet", "key", key, "error", err)
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// create puts an object that must not be there. A conflict and an unknown
// outcome are both settled by looking: equal bytes are done, other bytes are
// errOther, and what is not there is put again. (Stores that refuse a large
// body early cut the connection, so their conflict may not be heard.)
func (s *session) create(ctx context.Context, key string, body []byte) error {
	var pause backoff.Pause
	try := s.stats.try("the store has not taken an object", 1)
	defer try.over()
	for {
		_, err := s.Store.Put(ctx, key, body, store.IfAbsent())
		if err == nil {
			return nil
		}
		if same, herr := s.holds(ctx, key, body); herr == nil {
			if same {
				return nil
			}
			return fmt.Errorf("%s: %w", key, errOther)
		}
		s.stats.count(&s.stats.Retries)
		try.failed(err)
		s.Config.Log.Log(ctx, pause.Level(), "object is not written yet", "key", key, "error", err)
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// holds says whether the object at key has these bytes: by the SHA-256 that
// the store keeps, else by reading it whole. An ETag proves nothing.
func (s *session) holds(ctx context.Context, key string, body []byte) (bool, error) {
	want := sha256.Sum256(body)
	info, err := s.Store.Stat(ctx, key)
	if err != nil {
		return false, err
	}
	if info.SHA256 != nil {
		return *info.SHA256 == want, nil
	}
	o, err := s.Store.Get(ctx, key, store.Span{})
	if err != nil {
		return false, err
	}
	return sha256.Sum256(o.Body) == want, nil
}

// published drops u, which counts now.
func (s *session) published(u *unit, took time.Duration) {
	s.mu.Lock()
	s.units = slices.DeleteFunc(s.units, func(x *unit) bool { return x == u })
	s.mu.Unlock()
	s.budget.landed(u.size())
	s.let(u)
	s.writers.remember(s, u.recent)
	s.Config.Log.Debug("published", "range", u.job.Range, "rows", u.encoded.Record.Counts.Rows, "dead", u.encoded.Record.Counts.Dead, "took", took)
}
