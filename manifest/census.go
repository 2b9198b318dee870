package manifest

import (
	"context"
	"fmt"

	"github.com/lakeweir/lakeweir/internal/turns"
	"github.com/lakeweir/lakeweir/store"
)

// Census finds the partitions that have files in a table, for claims of
// partitions that have no head. Claims at the same time share a listing: a
// start with thousands of new partitions would else list the growing table
// once for each. NewCensus makes one.
type Census struct {
	store    store.Store
	question turns.Question[map[int32]string]
}

// NewCensus returns the Census of the table whose root s is.
func NewCensus(s store.Store) *Census { return &Census{store: s} }

// file returns the key of a file of the partition, or "" if it has none, as a
// listing says that begins after the call.
func (c *Census) file(ctx context.Context, partition int32) (string, error) {
	found, err := c.question.Ask(ctx, c.files)
	return found[partition], err
}

// files lists a table, and returns a file of each partition that has any.
func (c *Census) files(ctx context.Context) (map[int32]string, error) {
	found := map[int32]string{}
	for _, prefix := range []string{"data/", "dead/"} {
		for info, err := range c.store.List(ctx, prefix, "") {
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", prefix, err)
			}
			n, _, err := Parse(info.Key)
			if err != nil {
				continue // not ours
			}
			if _, known := found[n.ID]; !known {
				found[n.ID] = info.Key
			}
		}
	}
	return found, nil
}
