package simulation

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/lakeweir/lakeweir/store"
)

// simStore is the store as a process sees it.
type simStore struct{ p *process }

func (s simStore) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	if err := s.look(ctx, "get", key); err != nil {
		return store.Object{}, err
	}
	return s.p.w.mem.Get(context.Background(), key, span)
}

func (s simStore) Stat(ctx context.Context, key string) (store.Info, error) {
	if err := s.look(ctx, "stat", key); err != nil {
		return store.Info{}, err
	}
	i, err := s.p.w.mem.Stat(context.Background(), key)
	if s.p.w.mood.bare {
		i.SHA256 = nil
	}
	return i, err
}

func (s simStore) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		if err := s.look(ctx, "list", prefix); err != nil {
			yield(store.Info{}, err)
			return
		}
		s.p.w.mem.List(context.Background(), prefix, after)(yield)
	}
}

// look is a call without effect.
func (s simStore) look(ctx context.Context, kind, key string) error {
	v, err := s.p.call(ctx, kind, key, nil)
	switch {
	case err != nil || v == pass:
		return err
	case v == stall:
		return fmt.Errorf("%s %s: %w", kind, key, wait(ctx))
	}
	return fmt.Errorf("%s %s: %w", kind, key, errFault)
}

func (s simStore) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	kind := "put"
	if strings.HasPrefix(key, "manifest/") && strings.Count(key, "/") == 1 {
		kind = "head"
	}
	v, err := s.p.call(ctx, kind, key, nil)
	if err != nil {
		return store.Info{}, err
	}
	put := func() (store.Info, error) {
		i, err := s.p.w.mem.Put(context.Background(), key, body, cond)
		if err == nil {
			s.p.w.wrote(key, body)
		}
		return i, err
	}
	switch v {
	case refuse:
		return store.Info{}, fmt.Errorf("put %s: %w", key, errFault)
	case lose:
		_, _ = put()
		return store.Info{}, fmt.Errorf("put %s: %w", key, errFault)
	case stall:
		return store.Info{}, fmt.Errorf("put %s: %w", key, wait(ctx))
	case hang:
		_, _ = put()
		return store.Info{}, fmt.Errorf("put %s: %w", key, wait(ctx))
	case clash:
		return store.Info{}, fmt.Errorf("put %s: %w", key, store.ErrConflict)
	case late:
		s.p.w.later(key, func() { _, _ = put() })
		return store.Info{}, fmt.Errorf("put %s: %w", key, errFault)
	}
	return put()
}

func (s simStore) Delete(ctx context.Context, key string) error {
	if _, err := s.p.call(ctx, "delete", key, nil); err != nil {
		return err
	}
	err := s.p.w.mem.Delete(context.Background(), key)
	s.p.w.deleted(key)
	return err
}

func (d direct) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	return d.w.mem.Get(ctx, key, span)
}

func (d direct) Stat(ctx context.Context, key string) (store.Info, error) {
	return d.w.mem.Stat(ctx, key)
}

func (d direct) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return d.w.mem.List(ctx, prefix, after)
}

func (d direct) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	i, err := d.w.mem.Put(ctx, key, body, cond)
	if err == nil {
		d.w.wrote(key, body)
	}
	return i, err
}

func (d direct) Delete(ctx context.Context, key string) error { return d.w.mem.Delete(ctx, key) }
