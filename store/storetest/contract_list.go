package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/lakeweir/lakeweir/store"
)

var listChecks = []check{
	{"ListOrder", listOrder},
	{"ListAfter", listAfter},
	{"ListInfo", listInfo},
	{"ListPages", listPages},
	{"ListLeft", func(s subject) error {
		if err := s.create("a", "b", "c"); err != nil {
			return err
		}
		for i, err := range s.List(s.ctx, "", "") {
			if err != nil {
				return err
			}
			return s.lists("", i.Key, "b", "c") // left early, and gone on from there
		}
		return errors.New("list is empty")
	}},
	{"ListSeesWrites", func(s subject) error {
		var keys []string
		for n := range 20 {
			key := fmt.Sprintf("d/%02d", n)
			keys = append(keys, key)
			if err := errors.Join(s.create(key), s.lists("d/", "", keys...)); err != nil {
				return err
			}
		}
		return errors.Join(s.Delete(s.ctx, keys[0]), s.lists("d/", "", keys[1:]...))
	}},
	{"GetSeesWrites", func(s subject) error {
		for n := range 20 {
			body := fmt.Sprint(n)
			if _, err := s.put("k", body, store.Blind()); err != nil {
				return err
			}
			if err := s.holds("k", body); err != nil {
				return err
			}
		}
		return nil
	}},
}

// mixed sorts otherwise by folder than by bytes: "-" and "." come before "/",
// "0" after it.
var mixed = []string{
	"a-b", "a-c/d", "a.b", "a/b", "a/b-c", "a/c/d", "a0", "ab/c", "b", "data/x", "data/y", "é",
}

func listOrder(s subject) error {
	for _, key := range slices.Backward(mixed) {
		if err := s.create(key); err != nil {
			return err
		}
	}
	return errors.Join(
		s.lists("", "", mixed...),
		s.lists("a/", "", "a/b", "a/b-c", "a/c/d"),
		s.lists("a", "", "a-b", "a-c/d", "a.b", "a/b", "a/b-c", "a/c/d", "a0", "ab/c"),
		s.lists("a/b", "", "a/b", "a/b-c"),
		s.lists("a-c/", "", "a-c/d"),
		s.lists("b", "", "b"),
		s.lists("b/", ""),
		s.lists("none", ""),
		s.lists("none/deep/", ""),
	)
}

func listAfter(s subject) error {
	if err := s.create("a/1", "a/2", "a/3", "b/1"); err != nil {
		return err
	}
	return errors.Join(
		s.lists("a/", "a/1", "a/2", "a/3"),          // a key that is there is left out
		s.lists("a/", "a/11", "a/2", "a/3"),         // one that is not says where to begin
		s.lists("a/", "a/1/zzz", "a/2", "a/3"),      // also below one that is there
		s.lists("a/", "a", "a/1", "a/2", "a/3"),     // before the prefix
		s.lists("a/", "A", "a/1", "a/2", "a/3"),     // far before it
		s.lists("a/", "a/3"),                        // the last
		s.lists("a/", "b"),                          // after the prefix
		s.lists("", "a/2", "a/3", "b/1"),            // across folders
		s.lists("", "a/3/", "b/1"),                  // into a later folder
		s.lists("", "", "a/1", "a/2", "a/3", "b/1"), // all
	)
}

// listInfo checks what a list says of an object. A store that would have to
// read the object for its ETag may leave it out.
func listInfo(s subject) error {
	if err := s.create("d/long", "d/s"); err != nil {
		return err
	}
	for i, err := range s.List(s.ctx, "d/", "") {
		if err != nil {
			return err
		}
		o, err := s.Stat(s.ctx, i.Key)
		if err != nil {
			return err
		}
		if i.Size != o.Size || i.SHA256 != nil || i.ETag != "" && i.ETag != o.ETag {
			return fmt.Errorf("list says %+v, stat says %+v", i, o)
		}
	}
	return nil
}

// pages is more than a store gives in one page of a list: 1000 keys on S3.
const pages = 1005

func listPages(s subject) error {
	want := make([]string, pages)
	var writers sync.WaitGroup
	errs := make([]error, 16)
	for w := range errs {
		writers.Go(func() {
			for n := w; n < pages; n += len(errs) {
				want[n] = fmt.Sprintf("p/%05d", n)
				if _, err := s.Put(s.ctx, want[n], nil, store.IfAbsent()); err != nil {
					errs[w] = err
					return
				}
			}
		})
	}
	writers.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	got, err := s.keys("p/", "")
	if err != nil {
		return err
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("list gives %d keys, want %d in order", len(got), pages)
	}
	return s.lists("p/", want[pages-2], want[pages-1])
}
