package manifest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/lakeweir/lakeweir/internal/backoff"
	"github.com/lakeweir/lakeweir/store"
)

// Log is the right to change a head. Only Claim makes one. It is used by one
// goroutine at a time.
//
// A change that meets a conflict, or whose outcome is unknown, is settled by
// reading the head: another epoch or owner there is ErrFenced; else what was
// read is the truth, and the change is done, or tried again on top of it. So a
// change ends with success, ErrFenced, a defect, or the end of its context.
type Log struct {
	store     store.Store
	log       *slog.Logger
	partition int32
	failed    func(error) // told of tries that are made again; may be nil
	head      Head
	etag      string
}

// Head returns the head as this Log last wrote or read it.
func (l *Log) Head() Head { return l.head }

// Plan makes a cut durable before a byte of it is written: a fresh range with
// attempt 0, or the range that is pending with the next attempt and the keys of
// all earlier ones superseded.
func (l *Log) Plan(ctx context.Context, p Plan) error {
	err := l.change(ctx, func(h Head) (Head, error) {
		if samePlan(h.Pending, &p) {
			return h, errDone
		}
		if err := mayPlan(h, p); err != nil {
			return h, err
		}
		h.Pending, h.Schema = &p, p.Schema
		return h, nil
	})
	if err != nil {
		return fmt.Errorf("plan %s attempt %d: %w", p.Range, p.Attempt, err)
	}
	return nil
}

// Publish makes the range of the pending plan count: it is the commit. A range
// without files needs no plan. The rider, if there is one, is the plan of the
// range that follows; it becomes pending in the same write.
func (l *Log) Publish(ctx context.Context, r RangeRecord, rider *Plan) error {
	r.Generation = l.head.Generation
	err := l.change(ctx, func(h Head) (Head, error) {
		if h.Next == r.Next && samePlan(h.Pending, rider) {
			return h, errDone
		}
		if err := mayPublish(h, r); err != nil {
			return h, err
		}
		ranges, added := appendRange(h.Ranges, r), r.Totals()
		added.Ranges = int64(len(ranges) - len(h.Ranges)) // 0 when r was merged
		h.Ranges, h.Totals = ranges, h.Totals.Add(added)
		h.Next, h.Pending = r.Next, rider
		if r.LeaderEpoch >= 0 {
			h.LeaderEpoch = r.LeaderEpoch
		}
		if rider == nil {
			return h, nil
		}
		h.Schema = rider.Schema
		return h, mayPlan(Head{Partition: h.Partition, Next: h.Next}, *rider)
	})
	if err != nil {
		return fmt.Errorf("publish %s: %w", r.Range, err)
	}
	return nil
}

// Resume goes on with a claim after a break in which others may have claimed
// the partition: it returns ErrFenced if one has. It adds 1 to the version, so
// that a change which was given up before the break, and is still on its way,
// cannot arrive after it: the plans that follow may be others.
func (l *Log) Resume(ctx context.Context) error {
	var pause backoff.Pause
	if err := l.settle(ctx, &pause); err != nil {
		return err
	}
	return l.change(ctx, func(h Head) (Head, error) { return h, nil })
}

// errDone says that the head already is as a change would make it.
var errDone = errors.New("done")

// change writes the head that next makes of the current one.
func (l *Log) change(ctx context.Context, next func(Head) (Head, error)) error {
	var pause backoff.Pause
	for {
		h, err := next(l.head)
		if errors.Is(err, errDone) {
			return nil
		}
		if err != nil {
			return err
		}
		err = l.write(ctx, h)
		if err == nil || !errors.Is(err, errAgain) || ctx.Err() != nil {
			return err
		}
		l.tell(err)
		l.log.Log(ctx, pause.Level(), "head write is settled by reading", "key", h.HeadKey(), "error", err)
		if err := pause.Wait(ctx); err != nil {
			return err
		}
		if err := l.settle(ctx, &pause); err != nil {
			return err
		}
	}
}

// write seals what has to be sealed and then writes h as the next version. A
// list is named by the very head change that it was made for, else it is given
// up: the next try makes another.
func (l *Log) write(ctx context.Context, h Head) error {
	h, lists, err := seal(h, newRandom)
	if err != nil {
		return err
	}
	h.Version = l.head.Version + 1
	if err := checkChange(l.head, h); err != nil {
		return err
	}
	if err := l.putLists(ctx, lists); err != nil {
		return err
	}
	return l.put(ctx, h, store.IfMatch(l.etag))
}

// settle reads the head until it is read, and takes it for the truth if it is
// still ours.
func (l *Log) settle(ctx context.Context, pause *backoff.Pause) error {
	for {
		h, etag, err := readHead(ctx, l.store, l.partition)
		switch {
		case err == nil && (h.Epoch != l.head.Epoch || h.Owner.ID != l.head.Owner.ID):
			return fmt.Errorf("%w: epoch %d of %s, ours is %d", ErrFenced, h.Epoch, h.Owner.Host, l.head.Epoch)
		case err == nil:
			l.head, l.etag = h, etag
			return nil
		case errors.Is(err, store.ErrNotExist):
			return fmt.Errorf("%w: the head is gone: %w", ErrDamage, err)
		case errors.Is(err, ErrDamage) || errors.Is(err, ErrFormat):
			return err
		}
		l.tell(err)
		l.log.Log(ctx, pause.Level(), "head cannot be read", "error", err)
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// tell passes on why a try failed.
func (l *Log) tell(err error) {
	if l.failed != nil {
		l.failed(err)
	}
}

// mayPlan says whether h may take the plan.
func mayPlan(h Head, p Plan) error {
	if err := h.validatePlan(p); err != nil {
		return fmt.Errorf("%w: %w", ErrChange, err)
	}
	old := h.Pending
	if old == nil {
		if p.Attempt != 0 || len(p.Superseded) > 0 {
			return fmt.Errorf("%w: attempt %d of a range that is not pending", ErrChange, p.Attempt)
		}
		return nil
	}
	if p.Range != old.Range || p.Attempt != old.Attempt+1 {
		return fmt.Errorf("%w: %s attempt %d is pending", ErrChange, old.Range, old.Attempt)
	}
	for _, key := range slices.Concat(old.Keys, old.Superseded) {
		if !slices.Contains(p.Superseded, key) {
			return fmt.Errorf("%w: %s of an earlier attempt is not superseded", ErrChange, key)
		}
	}
	return nil
}

// mayPublish says whether h may take the range: it is the pending plan, keys
// and all, or it has no files and nothing is pending.
func mayPublish(h Head, r RangeRecord) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrChange, err)
	}
	keys := r.Keys()
	if h.Pending == nil {
		if len(keys) > 0 || r.Start != h.Next {
			return fmt.Errorf("%w: the range is not planned; next offset is %d", ErrChange, h.Next)
		}
		return nil
	}
	p := h.Pending
	if r.Range != p.Range || r.Attempt != p.Attempt || r.Schema != p.Schema || !p.Names(keys) {
		return fmt.Errorf("%w: %s attempt %d is pending, with other keys or schema", ErrChange, p.Range, p.Attempt)
	}
	return nil
}

// appendRange adds r; neighbours without files become one.
func appendRange(ranges []RangeRecord, r RangeRecord) []RangeRecord {
	n := len(ranges)
	if n == 0 || len(r.Keys()) > 0 {
		return append(ranges[:n:n], r)
	}
	last := ranges[n-1]
	if len(last.Keys()) > 0 || last.Generation != r.Generation || last.Schema != r.Schema {
		return append(ranges[:n:n], r)
	}
	last.Next, last.LeaderEpoch = r.Next, max(last.LeaderEpoch, r.LeaderEpoch)
	last.Attempt, last.Counts = 0, last.Counts.Add(r.Counts)
	return append(ranges[:n-1:n-1], last)
}

func samePlan(a, b *Plan) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Range == b.Range && a.Attempt == b.Attempt && a.Schema == b.Schema && sameKeys(a.Keys, b.Keys) && sameKeys(a.Superseded, b.Superseded)
}

// sameKeys compares keys without regard to their order.
func sameKeys(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}
