package verify

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
)

// Options say how thorough a run is. The zero value looks at footers.
type Options struct {
	// Table is the name that heads and footers must bear; "" takes any.
	Table string
	// Deep reads every file whole: hashes its bytes, and checks that the
	// offsets of its rows ascend, lie in its range, and are in no other file.
	Deep bool
	// ID is a column that no two rows may share a value of, nulls aside. It
	// implies Deep.
	ID string
	// Progress is called after each file, one call at a time.
	Progress func(done, total int64)
}

const (
	// workers look at files at once: most of the time they wait for the store.
	workers = 8

	// bodyBytes bounds what whole files take in memory. A larger one is read
	// alone.
	bodyBytes = 256 << 20
)

// Run checks the table whose root s is, and yields what it finds, in no
// particular order. An error ends it: the store cannot be read, or a head has
// a format that this version does not know.
func Run(ctx context.Context, s store.Store, o Options) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		c := &check{
			Options: o, s: s, found: make(chan Finding), memory: semaphore.NewWeighted(bodyBytes),
			heads: map[int32]*manifest.Head{}, schemas: map[int]bool{}, ids: newIDs(o.ID),
		}
		if o.ID != "" {
			c.Deep = true
		}
		var err error
		go func() {
			defer close(c.found)
			err = c.run(ctx)
		}()
		for f := range c.found {
			if !yield(f, nil) {
				cancel()
				for range c.found { // let the goroutines end
				}
				return
			}
		}
		if err != nil {
			yield(Finding{}, err)
		}
	}
}

// check is one run.
type check struct {
	Options
	s      store.Store
	found  chan Finding
	memory *semaphore.Weighted
	ids    *ids

	heads   map[int32]*manifest.Head // by partition; nil is one that cannot be read
	schemas map[int]bool             // versions that are there and valid
	unread  []part                   // whose lists cannot be read

	mu    sync.Mutex
	files map[string]bool // under data/ and dead/ in the list; whether a head names it
	done  int64
}

// part is what a sealed list is about.
type part struct {
	manifest.Partition
	manifest.Range
}

// report sends a finding, unless the run is being ended.
func (c *check) report(ctx context.Context, sev Severity, kind Kind, key, do, what string, args ...any) {
	f := Finding{Severity: sev, Kind: kind, Key: key, What: fmt.Sprintf(what, args...), Do: do}
	select {
	case c.found <- f:
	case <-ctx.Done():
	}
}

// damaged says that an object can be read and is wrong.
func damaged(err error) bool {
	return errors.Is(err, manifest.ErrDamage) || errors.Is(err, store.ErrDamaged)
}

func (c *check) run(ctx context.Context) error {
	if err := c.list(ctx); err != nil {
		return err
	}
	if err := c.schema(ctx); err != nil {
		return err
	}
	if err := c.manifest(ctx); err != nil {
		return err
	}
	for _, h := range c.heads {
		if h == nil {
			continue
		}
		if err := c.head(ctx, *h); err != nil {
			return err
		}
	}
	return c.unknown(ctx)
}

// list notes every file that is there before a head is read.
func (c *check) list(ctx context.Context) error {
	c.files = map[string]bool{}
	for _, prefix := range []string{"data/", "dead/"} {
		for info, err := range c.s.List(ctx, prefix, "") {
			if err != nil {
				return fmt.Errorf("list files: %w", err)
			}
			c.files[info.Key] = false
		}
	}
	return nil
}

// schema reads the versions of the schema.
func (c *check) schema(ctx context.Context) error {
	for info, err := range c.s.List(ctx, "schema/", "") {
		if err != nil {
			return fmt.Errorf("list schemas: %w", err)
		}
		version, err := manifest.ParseSchemaKey(info.Key)
		if err != nil {
			c.report(ctx, Warning, UnknownEntry, info.Key, doLook, "is not the name of a schema")
			continue
		}
		_, err = manifest.ReadSchema(ctx, c.s, version)
		switch {
		case damaged(err):
			c.report(ctx, Damage, BadSchema, info.Key, doRestore, "%v", err)
		case err != nil:
			return err
		default:
			c.schemas[version] = true
		}
	}
	return nil
}

// manifest reads the heads, and looks at what else lies beside them. Lists
// that no head names are legal: a writer that died before it changed the head
// leaves one.
func (c *check) manifest(ctx context.Context) error {
	lists := map[int32]string{}
	for info, err := range c.s.List(ctx, "manifest/", "") {
		if err != nil {
			return fmt.Errorf("list heads: %w", err)
		}
		if id, err := manifest.ParseHeadKey(info.Key); err == nil {
			if err := c.readHead(ctx, id); err != nil {
				return err
			}
			continue
		}
		n, err := manifest.ParseListName(info.Key)
		if err != nil {
			c.report(ctx, Warning, UnknownEntry, info.Key, doLook, "is neither a head nor a sealed list")
			continue
		}
		if _, ok := lists[n.Partition]; !ok {
			lists[n.Partition] = info.Key
		}
	}
	for id, key := range lists {
		if _, ok := c.heads[id]; !ok {
			c.report(ctx, Damage, NoHead, manifest.Partition{ID: id}.HeadKey(), doHead, "is not there, but %s is", key)
			c.heads[id] = nil
		}
	}
	return nil
}

func (c *check) readHead(ctx context.Context, id int32) error {
	key := manifest.Partition{ID: id}.HeadKey()
	h, err := manifest.Read(ctx, c.s, id)
	switch {
	case damaged(err):
		c.report(ctx, Damage, BadHead, key, doHead, "%v", err)
		c.heads[id] = nil
		return nil
	case err != nil:
		return err
	}
	if c.Table != "" && h.Table != c.Table {
		c.report(ctx, Damage, BadHead, key, doHead, "it is of table %q", h.Table)
	}
	c.heads[id] = &h
	return nil
}

// head checks all that a head names, list by list: one that is damaged does not
// hide the others.
func (c *check) head(ctx context.Context, h manifest.Head) error {
	for _, ref := range h.Sealed {
		one := h
		one.Sealed, one.Ranges = []manifest.ListRef{ref}, nil
		of := part{manifest.Partition{ID: h.ID, Generation: ref.Generation}, ref.Range}
		if err := c.ranges(ctx, h, one, ref.Key(h.ID), of); err != nil {
			return err
		}
	}
	newest := h
	newest.Sealed = nil
	if err := c.ranges(ctx, h, newest, h.HeadKey(), part{}); err != nil {
		return err
	}
	if p := h.Pending; p != nil {
		c.hasSchema(ctx, h.HeadKey(), p.Schema)
	}
	return nil
}

// ranges checks some of the ranges of h: those of the head some, which are read
// from key and are of a part of the table.
func (c *check) ranges(ctx context.Context, h, some manifest.Head, key string, of part) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for r, err := range some.All(ctx, c.s) {
		if damaged(err) || errors.Is(err, store.ErrNotExist) {
			if still, rerr := c.names(ctx, h, key); rerr != nil || still {
				c.report(ctx, Damage, BadList, key, doRestore, "%v", err)
			}
			c.unread = append(c.unread, of)
			break
		}
		if err != nil {
			_ = g.Wait() // err is the one to tell
			return err
		}
		c.hasSchema(ctx, key, r.Schema)
		g.Go(func() error { return c.rangeFiles(gctx, h, r) })
	}
	return g.Wait()
}

// hasSchema reports a version of the schema that is used and not there. A
// version that was written after the list is looked for.
func (c *check) hasSchema(ctx context.Context, key string, version int) {
	if c.schemas[version] || version == 0 {
		return
	}
	if _, err := manifest.ReadSchema(ctx, c.s, version); err != nil {
		c.report(ctx, Damage, BadSchema, manifest.SchemaKey(version), doRestore, "%s uses it: %v", key, err)
	}
	c.schemas[version] = true // once is enough
}

// names reports whether the head of now still names an object that an older
// one named. If not, the older one was out of date, which is no damage.
func (c *check) names(ctx context.Context, old manifest.Head, key string) (bool, error) {
	h, err := manifest.Read(ctx, c.s, old.ID)
	if err != nil || h.Version == old.Version {
		return true, err
	}
	if slices.ContainsFunc(h.Sealed, func(r manifest.ListRef) bool { return r.Key(h.ID) == key }) {
		return true, nil
	}
	if strings.HasPrefix(key, "manifest/") {
		return false, nil
	}
	for r, err := range h.All(ctx, c.s) {
		if err != nil || slices.Contains(r.Keys(), key) {
			return true, err
		}
	}
	return false, nil
}
