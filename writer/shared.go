package writer

import (
	"context"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
)

// shared is what the partitions of a table have in common, so that a start with
// thousands of them does not ask the store for it thousands of times.
type shared struct {
	census *manifest.Census
	asking chan struct{}    // room for the one that asks for the schema
	schema *manifest.Schema // as stored; a version never changes. Guarded by asking
}

// shared returns what is shared of a table.
func (w *Writers) shared(table string, s store.Store) *shared {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.tables[table]
	if t == nil {
		t = &shared{census: manifest.NewCensus(s), asking: make(chan struct{}, 1)}
		w.tables[table] = t
	}
	return t
}

// ensure returns the version of the table that has the content of want, and
// stores it if there is none.
func (t *shared) ensure(ctx context.Context, s store.Store, want manifest.Schema) (manifest.Schema, error) {
	select {
	case t.asking <- struct{}{}:
		defer func() { <-t.asking }()
	case <-ctx.Done():
		return manifest.Schema{}, ctx.Err()
	}
	if t.schema != nil && manifest.SameContent(*t.schema, want) {
		return *t.schema, nil
	}
	got, err := manifest.EnsureSchema(ctx, s, want)
	if err == nil {
		t.schema = &got
	}
	return got, err
}
