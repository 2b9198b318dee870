package store_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// hashed is a store whose ETags are hashes of bodies, as most stores have them,
// and which gets the first PUT of a key once more when the key was changed: a
// client that was not heard sends it again, and the first one arrives last.
type hashed struct {
	memory.Store

	mu    sync.Mutex
	first map[string]func()
}

func tagOf(body []byte) string {
	sum := md5.Sum(body)
	return hex.EncodeToString(sum[:])
}

// Stat implements store.Store.
func (s *hashed) Stat(ctx context.Context, key string) (store.Info, error) {
	o, err := s.Store.Get(ctx, key, store.Span{})
	if err == nil {
		o.Info.ETag = tagOf(o.Body)
	}
	return o.Info, err
}

// Get implements store.Store.
func (s *hashed) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	o, err := s.Store.Get(ctx, key, span)
	if i, serr := s.Stat(ctx, key); serr == nil {
		o.Info.ETag = i.ETag
	}
	return o, err
}

// Put implements store.Store.
func (s *hashed) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.put(ctx, key, body, cond)
	if again, ok := s.first[key]; ok && err == nil {
		again()
		delete(s.first, key)
	} else if err == nil {
		s.first[key] = func() { _, _ = s.put(ctx, key, body, cond) }
	}
	return i, err
}

func (s *hashed) put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	now, err := s.Stat(ctx, key)
	if !cond.Holds(now.ETag, err == nil) {
		return store.Info{}, store.ErrConflict
	}
	i, err := s.Store.Put(ctx, key, body, store.Blind())
	i.ETag = tagOf(body)
	return i, err
}

// A PUT that arrives twice, the second time after the object was changed, does
// not make a good store look like one that lets two writers win.
func TestProbePutsArriveTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := store.Probe(t.Context(), &hashed{first: map[string]func(){}})
		if err != nil {
			t.Errorf("%v: %+v", err, r)
		}
	})
}
