package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lakeweir/lakeweir/store"
)

// Run checks every sentence of the contract of store.Store against the empty
// stores that open returns, one for each check.
func Run(t *testing.T, open func(*testing.T) store.Store) {
	runAll(t, open, slices.Concat(putChecks, readChecks, listChecks, readerChecks, raceChecks))
}

// RunAlone is Run without the checks in which writers race: for a store that
// has one writer at a time, such as that of store.SingleWriter.
func RunAlone(t *testing.T, open func(*testing.T) store.Store) {
	runAll(t, open, slices.Concat(putChecks, readChecks, listChecks, readerChecks))
}

func runAll(t *testing.T, open func(*testing.T) store.Store, checks []check) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(subject{t.Context(), open(t)}); err != nil {
				t.Error(err)
			}
		})
	}
}

// check is one part of the contract. Its error says what the store did
// otherwise.
type check struct {
	name string
	run  func(subject) error
}

// subject is the store that is checked.
type subject struct {
	ctx context.Context
	store.Store
}

// put writes body and checks what is answered.
func (s subject) put(key, body string, cond store.Cond) (store.Info, error) {
	i, err := s.Put(s.ctx, key, []byte(body), cond)
	if err != nil {
		return i, err
	}
	return i, describes(i, key, body)
}

// create is put with IfAbsent.
func (s subject) create(keys ...string) error {
	for _, key := range keys {
		if _, err := s.put(key, key, store.IfAbsent()); err != nil {
			return fmt.Errorf("create: %w", err)
		}
	}
	return nil
}

// refuses checks that a Put under cond fails with want and changes nothing.
func (s subject) refuses(key string, cond store.Cond, want error) error {
	before, errBefore := s.Get(s.ctx, key, store.Span{})
	if _, err := s.Put(s.ctx, key, []byte("refused"), cond); !errors.Is(err, want) {
		return fmt.Errorf("put %s: err %w, want %w", key, err, want)
	}
	after, errAfter := s.Get(s.ctx, key, store.Span{})
	if errors.Is(errBefore, store.ErrNotExist) && errors.Is(errAfter, store.ErrNotExist) {
		return nil
	}
	if err := errors.Join(errBefore, errAfter); err != nil {
		return fmt.Errorf("get %s around a refused put: %w", key, err)
	}
	if string(before.Body) != string(after.Body) || before.ETag != after.ETag {
		return fmt.Errorf("a refused put of %s changed %q into %q", key, before.Body, after.Body)
	}
	return nil
}

// holds checks that Get and Stat agree that the object is there with body.
func (s subject) holds(key, body string) error {
	o, err := s.Get(s.ctx, key, store.Span{})
	if err != nil {
		return err
	}
	if string(o.Body) != body {
		return fmt.Errorf("get %s: body %.80q, want %.80q", key, o.Body, body)
	}
	if err := describes(o.Info, key, body); err != nil {
		return fmt.Errorf("get: %w", err)
	}
	i, err := s.Stat(s.ctx, key)
	if err != nil {
		return err
	}
	if err := describes(i, key, body); err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	if i.ETag != o.ETag {
		return fmt.Errorf("etag of %s is %s by get and %s by stat", key, o.ETag, i.ETag)
	}
	return nil
}

// absent checks that Get and Stat agree that there is no object.
func (s subject) absent(key string) error {
	if _, err := s.Get(s.ctx, key, store.Span{}); !errors.Is(err, store.ErrNotExist) {
		return fmt.Errorf("get %s: err %w, want %w", key, err, store.ErrNotExist)
	}
	if _, err := s.Stat(s.ctx, key); !errors.Is(err, store.ErrNotExist) {
		return fmt.Errorf("stat %s: err %w, want %w", key, err, store.ErrNotExist)
	}
	return nil
}

// keys lists.
func (s subject) keys(prefix, after string) ([]string, error) {
	var keys []string
	for i, err := range s.List(s.ctx, prefix, after) {
		if err != nil {
			return keys, err
		}
		keys = append(keys, i.Key)
	}
	return keys, nil
}

// lists checks that a list has these keys in this order.
func (s subject) lists(prefix, after string, want ...string) error {
	got, err := s.keys(prefix, after)
	if err != nil {
		return fmt.Errorf("list %q after %q: %w", prefix, after, err)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("list %q after %q: %q, want %q", prefix, after, got, want)
	}
	return nil
}

// describes checks what is said of a whole object.
func describes(i store.Info, key, body string) error {
	if i.Key != key || i.Size != int64(len(body)) || i.ETag == "" {
		return fmt.Errorf("%s of %d bytes is described as %q of %d bytes with etag %q", key, len(body), i.Key, i.Size, i.ETag)
	}
	if sum := sha256.Sum256([]byte(body)); i.SHA256 != nil && *i.SHA256 != sum {
		return fmt.Errorf("sha256 of %s is %x, want %x", key, *i.SHA256, sum)
	}
	return nil
}
