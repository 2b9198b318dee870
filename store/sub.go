package store

import (
	"context"
	"iter"
	"strings"
)

// Sub returns the part of s under a prefix such as "orders/" as a Store of its own.
func Sub(s Store, prefix string) Store {
	if prefix == "" {
		return s
	}
	return &sub{s: s, prefix: prefix}
}

type sub struct {
	s      Store
	prefix string
}

func (u *sub) Get(ctx context.Context, key string, span Span) (Object, error) {
	o, err := u.s.Get(ctx, u.prefix+key, span)
	o.Info = u.strip(o.Info)
	return o, err
}

func (u *sub) Stat(ctx context.Context, key string) (Info, error) {
	i, err := u.s.Stat(ctx, u.prefix+key)
	return u.strip(i), err
}

func (u *sub) Put(ctx context.Context, key string, body []byte, cond Cond) (Info, error) {
	i, err := u.s.Put(ctx, u.prefix+key, body, cond)
	return u.strip(i), err
}

func (u *sub) List(ctx context.Context, prefix, after string) iter.Seq2[Info, error] {
	if after != "" {
		after = u.prefix + after
	}
	return func(yield func(Info, error) bool) {
		for i, err := range u.s.List(ctx, u.prefix+prefix, after) {
			if !yield(u.strip(i), err) {
				return
			}
		}
	}
}

func (u *sub) Delete(ctx context.Context, key string) error {
	return u.s.Delete(ctx, u.prefix+key)
}

func (u *sub) strip(i Info) Info {
	i.Key = strings.TrimPrefix(i.Key, u.prefix)
	return i
}
