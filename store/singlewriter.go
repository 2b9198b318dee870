package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// SingleWriter returns s as it serves a writer whose operator rules out a
// second one, on a store that ignores or refuses conditions: each condition is
// looked at first and the write is then unconditional. Between the two another
// process could write, so this is no protection against one.
func SingleWriter(s Store) Store { return &singleWriter{s} }

type singleWriter struct{ s Store }

func (w *singleWriter) Put(ctx context.Context, key string, body []byte, cond Cond) (Info, error) {
	if err := cond.Err(); err != nil {
		return Info{}, err
	}
	info, err := w.s.Stat(ctx, key)
	exists := err == nil
	if err != nil && !errors.Is(err, ErrNotExist) {
		return Info{}, fmt.Errorf("look before the write of %s: %w", key, err)
	}
	if !cond.Holds(info.ETag, exists) {
		return Info{}, fmt.Errorf("put %s: %w", key, ErrConflict)
	}
	return w.s.Put(ctx, key, body, Blind())
}

func (w *singleWriter) Get(ctx context.Context, key string, span Span) (Object, error) {
	return w.s.Get(ctx, key, span)
}

func (w *singleWriter) Stat(ctx context.Context, key string) (Info, error) {
	return w.s.Stat(ctx, key)
}

func (w *singleWriter) List(ctx context.Context, prefix, after string) iter.Seq2[Info, error] {
	return w.s.List(ctx, prefix, after)
}

func (w *singleWriter) Delete(ctx context.Context, key string) error { return w.s.Delete(ctx, key) }
