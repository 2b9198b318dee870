// Package memory is a store.Store in memory, for tests and simulations.
//
// It behaves as S3 does where that matters to the protocol: an ETag follows
// from the body alone, so it comes back when an old body does, and a SHA-256 is
// kept of every object.
package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lakeweir/lakeweir/store"
)

// Store is a store.Store in memory. The zero Store is empty and ready to use.
type Store struct {
	mu   sync.Mutex
	objs map[string]store.Object
}

// Get implements store.Store. The body is the caller's to change.
func (m *Store) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	o, err := m.find(ctx, "get", key)
	if err != nil {
		return store.Object{}, err
	}
	from, to := span.Bounds(o.Size)
	o.Body = slices.Clone(o.Body[from:to])
	return o, nil
}

// Stat implements store.Store.
func (m *Store) Stat(ctx context.Context, key string) (store.Info, error) {
	o, err := m.find(ctx, "stat", key)
	return o.Info, err
}

func (m *Store) find(ctx context.Context, op, key string) (store.Object, error) {
	if err := check(ctx, op, key); err != nil {
		return store.Object{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objs[key]
	if !ok {
		return store.Object{}, fmt.Errorf("%s %s: %w", op, key, store.ErrNotExist)
	}
	return o, nil
}

// Put implements store.Store.
func (m *Store) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	if err := check(ctx, "put", key); err != nil {
		return store.Info{}, err
	}
	if err := cond.Err(); err != nil {
		return store.Info{}, fmt.Errorf("put %s: %w", key, err)
	}
	o := object(key, body)
	m.mu.Lock()
	defer m.mu.Unlock()
	old, ok := m.objs[key]
	if !cond.Holds(old.ETag, ok) {
		return store.Info{}, fmt.Errorf("put %s: %w", key, store.ErrConflict)
	}
	if m.objs == nil {
		m.objs = map[string]store.Object{}
	}
	m.objs[key] = o
	return o.Info, nil
}

func object(key string, body []byte) store.Object {
	sum := sha256.Sum256(body)
	return store.Object{
		Info: store.Info{
			Key:      key,
			Size:     int64(len(body)),
			ETag:     `"` + hex.EncodeToString(sum[:16]) + `"`,
			SHA256:   &sum,
			Modified: time.Now(),
		},
		Body: slices.Clone(body),
	}
}

// List implements store.Store. It shows the objects as they are when it begins.
func (m *Store) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		for _, i := range m.infos(prefix, after) {
			if err := ctx.Err(); err != nil {
				yield(store.Info{}, fmt.Errorf("list %s: %w", prefix, err))
				return
			}
			if !yield(i, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(store.Info{}, fmt.Errorf("list %s: %w", prefix, err))
		}
	}
}

func (m *Store) infos(prefix, after string) []store.Info {
	m.mu.Lock()
	defer m.mu.Unlock()
	var infos []store.Info
	for k, o := range m.objs {
		if strings.HasPrefix(k, prefix) && k > after {
			i := o.Info
			i.SHA256 = nil // no store lists it
			infos = append(infos, i)
		}
	}
	slices.SortFunc(infos, func(a, b store.Info) int { return strings.Compare(a.Key, b.Key) })
	return infos
}

// Delete implements store.Store.
func (m *Store) Delete(ctx context.Context, key string) error {
	if err := check(ctx, "delete", key); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objs, key)
	return nil
}

func check(ctx context.Context, op, key string) error {
	err := ctx.Err()
	if err == nil {
		err = store.CheckKey(key)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", op, key, err)
	}
	return nil
}
