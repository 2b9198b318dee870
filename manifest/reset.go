package manifest

import (
	"context"
	"fmt"

	"github.com/lakeweir/lakeweir/store"
)

// Reset starts a new generation of a partition that has a head: from here on
// offsets belong to the log that c.Identity names and begin at c.First. Names
// of a new generation cannot meet those of an older one, whose ranges stay
// published and readable. A pending plan is given up.
//
// Reset is a claim, so it fences the writer that runs. It is for an operator
// who has read why the writer stopped; nothing calls it by itself.
func Reset(ctx context.Context, s store.Store, c Claimant) (Head, error) {
	if _, err := Read(ctx, s, c.Partition); err != nil {
		return Head{}, fmt.Errorf("reset %s/%d: %w", c.Table, c.Partition, err)
	}
	c.reset = true
	l, err := Claim(ctx, s, c)
	if err != nil {
		return Head{}, fmt.Errorf("reset: %w", err)
	}
	return l.Head(), nil
}

// nextGeneration returns h at the beginning of a new generation, and the lists
// to write before it: lists hold ranges of one generation only, so all that
// the head still holds of the old one is sealed.
func (c Claimant) nextGeneration(ctx context.Context, h Head) (Head, []sealedList, error) {
	if h.Table != c.Table {
		return h, nil, fmt.Errorf("%w: the head is of table %q", ErrDamage, h.Table)
	}
	if c.Check != nil {
		if err := c.Check(ctx, h); err != nil {
			return h, nil, err
		}
	}
	first, err := c.First(ctx)
	if err != nil {
		return h, nil, fmt.Errorf("find where to begin: %w", err)
	}
	h, lists, err := sealGeneration(h, newRandom)
	if err != nil {
		return h, nil, err
	}
	h.Generation++
	h.Identity, h.LeaderEpoch = c.Identity, -1
	h.First, h.Next, h.Pending = first, first, nil
	return h, lists, nil
}
