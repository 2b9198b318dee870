package manifest

import (
	"context"
	"fmt"
	"sync"

	"github.com/lakeweir/lakeweir/store"
)

// Census finds the partitions that have files in a table, for claims of
// partitions that have no head. One listing answers every claim that waited
// when it began: a start with thousands of new partitions would else list the
// growing table once for each. NewCensus makes one; its claims may be many at
// once.
type Census struct {
	store store.Store
	turn  chan struct{} // of the one that lists

	mu   sync.Mutex
	next *count // the listing that has not begun
}

// count is one listing.
type count struct {
	done chan struct{} // closed when found and err are set
	file map[int32]string
	err  error
}

// NewCensus returns the Census of the table whose root s is.
func NewCensus(s store.Store) *Census {
	return &Census{store: s, turn: make(chan struct{}, 1)}
}

// file returns the key of a file of the partition, or "" if it has none, as a
// listing says that begins after the call.
func (c *Census) file(ctx context.Context, partition int32) (string, error) {
	c.mu.Lock()
	mine, first := c.next, c.next == nil
	if first {
		mine = &count{done: make(chan struct{})}
		c.next = mine
	}
	c.mu.Unlock()
	if first {
		c.take(ctx, mine)
	}
	select {
	case <-mine.done:
		return mine.file[partition], mine.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// take makes the listing n when the one before it is over.
func (c *Census) take(ctx context.Context, n *count) {
	defer close(n.done)
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		n.err = ctx.Err()
	}
	c.mu.Lock()
	c.next = nil // from here on a claim is too late for this one
	c.mu.Unlock()
	if n.err == nil {
		n.file, n.err = files(ctx, c.store)
	}
}

// files lists a table, and returns a file of each partition that has any.
func files(ctx context.Context, s store.Store) (map[int32]string, error) {
	found := map[int32]string{}
	for _, prefix := range []string{"data/", "dead/"} {
		for info, err := range s.List(ctx, prefix, "") {
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
