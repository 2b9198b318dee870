package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
)

// unknown looks at files that were listed and that no head names.
func (c *check) unknown(ctx context.Context) error {
	lost := map[int32]bool{}
	for _, key := range slices.Sorted(maps.Keys(c.files)) {
		if c.files[key] {
			continue
		}
		n, _, err := manifest.Parse(key)
		if err != nil {
			c.report(ctx, Damage, UnknownFile, key, doRemove, "has no name of this protocol, and no head names it")
			continue
		}
		h, ok := c.heads[n.ID]
		switch {
		case !ok && !lost[n.ID]:
			lost[n.ID] = true
			c.report(ctx, Damage, NoHead, n.HeadKey(), doHead, "is not there, but %s is", key)
		case h == nil: // reported, and nothing can be said of its files
		default:
			if err := c.foreign(ctx, *h, n, key); err != nil {
				return err
			}
		}
	}
	return c.ids.missing()
}

// foreign looks at a file of a partition whose head does not name it.
func (c *check) foreign(ctx context.Context, h manifest.Head, n manifest.Name, key string) error {
	if p := h.Pending; p != nil && (slices.Contains(p.Keys, key) || slices.Contains(p.Superseded, key)) {
		return nil // it is being written, or emptied
	}
	if slices.ContainsFunc(c.unread, func(u part) bool {
		return u.Partition == n.Partition && u.Start <= n.Start && n.Next <= u.Next
	}) {
		return nil // a list that cannot be read may name it
	}
	info, err := c.s.Stat(ctx, key) // it may have been emptied since it was listed
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", key, err)
	}
	at := &remote{ctx: ctx, s: c.s, key: key, size: info.Size}
	d, err := columnar.ReadFooter(at, info.Size)
	if err != nil {
		if at.failed != nil {
			return at.failed
		}
		c.report(ctx, Damage, UnknownFile, key, doRemove, "no head names it: %v", err)
		return nil
	}
	switch {
	case d.File.Rows == 0:
		return nil // it holds a name that no one may publish any more
	case n.Generation < h.Generation:
		c.report(ctx, Warning, Leftover, key, doRemove, "holds %d rows of generation %d that a reset gave up", d.File.Rows, n.Generation)
	default:
		c.report(ctx, Damage, UnknownFile, key, doRemove, "holds %d rows, but the head of partition %d names it nowhere", d.File.Rows, h.ID)
	}
	return nil
}
