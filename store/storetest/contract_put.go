package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/lakeweir/lakeweir/store"
)

var putChecks = []check{
	{"ZeroCond", func(s subject) error {
		if err := s.create("k"); err != nil {
			return err
		}
		return errors.Join(s.refuses("k", store.Cond{}, store.ErrCond), s.refuses("none", store.Cond{}, store.ErrCond))
	}},
	{"IfAbsent", func(s subject) error {
		if err := s.create("k"); err != nil {
			return err
		}
		return errors.Join(s.refuses("k", store.IfAbsent(), store.ErrConflict), s.holds("k", "k"))
	}},
	{"IfAbsentAfterDelete", func(s subject) error {
		if err := s.create("k"); err != nil {
			return err
		}
		if err := s.Delete(s.ctx, "k"); err != nil {
			return err
		}
		return errors.Join(s.absent("k"), s.create("k"), s.holds("k", "k"))
	}},
	{"IfMatch", ifMatch},
	{"IfMatchOfStat", func(s subject) error {
		if err := s.create("k"); err != nil {
			return err
		}
		i, err := s.Stat(s.ctx, "k")
		if err != nil {
			return err
		}
		_, err = s.put("k", "2", store.IfMatch(i.ETag))
		return errors.Join(err, s.holds("k", "2"))
	}},
	{"IfMatchMissing", func(s subject) error {
		if err := s.create("k"); err != nil {
			return err
		}
		i, err := s.Stat(s.ctx, "k")
		if err != nil {
			return err
		}
		err = s.refuses("none", store.IfMatch(i.ETag), store.ErrConflict)
		return errors.Join(err, s.absent("none"), s.refuses("k", store.IfMatch(`"unknown"`), store.ErrConflict))
	}},
	{"IfMatchNoETag", func(s subject) error {
		// On the wire an empty ETag is no header, and "*" matches any object.
		if err := s.create("k"); err != nil {
			return err
		}
		return errors.Join(s.refuses("k", store.IfMatch(""), store.ErrConflict), s.refuses("k", store.IfMatch("*"), store.ErrConflict))
	}},
	{"Blind", func(s subject) error {
		for _, body := range []string{"one", "two", "", "two"} {
			if _, err := s.put("k", body, store.Blind()); err != nil {
				return err
			}
			if err := s.holds("k", body); err != nil {
				return err
			}
		}
		return nil
	}},
	{"Empty", func(s subject) error {
		_, err := s.Put(s.ctx, "dir/empty", nil, store.IfAbsent())
		return errors.Join(err, s.holds("dir/empty", ""), s.lists("", "", "dir/empty"))
	}},
	{"Large", large},
	{"BodyIsNotKept", func(s subject) error {
		body := []byte("abc")
		_, err := s.Put(s.ctx, "k", body, store.IfAbsent())
		body[0] = 'x'
		return errors.Join(err, s.holds("k", "abc"))
	}},
	{"Delete", func(s subject) error {
		if err := s.create("d/k", "d/l"); err != nil {
			return err
		}
		// Twice: an object that is not there is no error.
		err := errors.Join(s.Delete(s.ctx, "d/k"), s.Delete(s.ctx, "d/k"), s.Delete(s.ctx, "none/k"))
		return errors.Join(err, s.absent("d/k"), s.holds("d/l", "d/l"), s.lists("", "", "d/l"))
	}},
	{"BadKeys", badKeys},
	{"Cancelled", cancelled},
}

// large puts bodies above the part size of minio-go (16 MiB), where a multipart
// upload would drop the condition.
func large(s subject) error {
	body := string(make([]byte, 17<<20))
	if _, err := s.put("k", body, store.IfAbsent()); err != nil {
		return err
	}
	// A server that refuses the body before it has read it may cut the
	// connection: then the outcome is unknown, and the caller asks again.
	var err error
	for range 50 {
		if _, err = s.put("k", "x"+body, store.IfAbsent()); err == nil || errors.Is(err, store.ErrConflict) {
			break
		}
	}
	if !errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("second put: err %w, want %w", err, store.ErrConflict)
	}
	return s.holds("k", body)
}

func ifMatch(s subject) error {
	first, err := s.put("k", "1", store.IfAbsent())
	if err != nil {
		return err
	}
	second, err := s.put("k", "2", store.IfMatch(first.ETag))
	if err != nil {
		return err
	}
	if first.ETag == second.ETag {
		return fmt.Errorf("two bodies have the etag %s", first.ETag)
	}
	if err := s.refuses("k", store.IfMatch(first.ETag), store.ErrConflict); err != nil {
		return err
	}
	if err := s.holds("k", "2"); err != nil {
		return err
	}
	_, err = s.put("k", "3", store.IfMatch(second.ETag))
	return errors.Join(err, s.holds("k", "3"))
}

// badKeys checks that no method takes a key of another place.
func badKeys(s subject) error {
	for _, key := range []string{"", "/k", "k/", "a//k", "../k", "a/../k", "./k", "a\nk"} {
		_, put := s.Put(s.ctx, key, nil, store.Blind())
		_, get := s.Get(s.ctx, key, store.Span{})
		_, stat := s.Stat(s.ctx, key)
		for op, err := range map[string]error{"put": put, "get": get, "stat": stat, "delete": s.Delete(s.ctx, key)} {
			if err == nil {
				return fmt.Errorf("%s of the key %q is no error", op, key)
			}
		}
	}
	return s.lists("", "")
}

// cancelled checks that a context that is over stops every method.
func cancelled(s subject) error {
	if err := s.create("k"); err != nil {
		return err
	}
	over := s
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	over.ctx = ctx
	_, put := over.Put(ctx, "new", nil, store.IfAbsent())
	_, blind := over.Put(ctx, "k", nil, store.Blind())
	_, get := over.Get(ctx, "k", store.Span{})
	_, stat := over.Stat(ctx, "k")
	_, list := over.keys("", "")
	errs := map[string]error{
		"put": put, "blind put": blind, "get": get, "stat": stat, "list": list, "delete": over.Delete(ctx, "k"),
	}
	for op, err := range errs {
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: err %w, want %w", op, err, context.Canceled)
		}
	}
	return errors.Join(s.absent("new"), s.holds("k", "k"))
}
