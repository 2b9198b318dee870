package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
)

// Renewal is a partition that a reset begins anew: what its head says, and
// what the brokers say of its log.
type Renewal struct {
	Head     manifest.Head   // as it is
	Identity record.Identity // of the log that the new generation is to hold
	First    int64           // where the new generation begins
}

// SameLog reports whether the new generation would hold the log of the old
// one: what is read again is then in the table twice.
func (r Renewal) SameLog() bool { return r.Identity == r.Head.Identity }

// PlanReset looks up what a reset of the partitions of a topic that have a head
// would do; no partitions are all of them. Nothing is changed. The start policy
// of the settings says where the new generations begin.
func PlanReset(ctx context.Context, set *settings.Settings, table store.Store, topic string, partitions []int32) ([]Renewal, error) {
	c, err := Source(set)
	if err != nil {
		return nil, err
	}
	if len(partitions) == 0 {
		if partitions, err = manifest.Partitions(ctx, table); err != nil {
			return nil, err
		}
	}
	c.Topics, c.Patterns, c.Group, c.WaitForTopics = []string{topic}, nil, "", false
	c.Partitions = map[string][]int32{topic: partitions}
	var mu sync.Mutex
	var plan []Renewal
	err = source.Run(ctx, c, func(ctx context.Context, p *source.Partition) error {
		r, err := renewal(ctx, set.Start, table, p)
		if err != nil {
			return fmt.Errorf("%s/%d: %w", topic, p.ID(), err)
		}
		mu.Lock()
		defer mu.Unlock()
		plan = append(plan, r)
		return nil
	})
	if err == nil {
		err = ctx.Err()
	}
	slices.SortFunc(plan, func(a, b Renewal) int { return cmp.Compare(a.Head.ID, b.Head.ID) })
	return plan, err
}

func renewal(ctx context.Context, start settings.Start, table store.Store, p *source.Partition) (r Renewal, err error) {
	if r.Head, err = manifest.Read(ctx, table, p.ID()); err != nil {
		return r, err
	}
	if r.Identity, err = p.Identity(ctx); err != nil {
		return r, err
	}
	r.First, err = startAt(start, p)(ctx)
	return r, err
}

// errChanged says that a plan is no longer good.
var errChanged = errors.New("the head has changed since the plan was made: stop the sink that writes the table, and plan again")

// Apply starts the new generation, if the head is still as the plan found it.
func (r Renewal) Apply(ctx context.Context, table store.Store, host, software string) (manifest.Head, error) {
	return manifest.Reset(ctx, table, manifest.Claimant{
		Table: r.Head.Table, Partition: r.Head.ID, Identity: r.Identity, Host: host, Software: software,
		First: func(context.Context) (int64, error) { return r.First, nil },
		Check: func(_ context.Context, h manifest.Head) error {
			if h.Version != r.Head.Version {
				return errChanged
			}
			return nil
		},
	})
}
