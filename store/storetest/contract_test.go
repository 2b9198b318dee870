package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"iter"
	"net/url"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// broken is a store in memory with methods that do it wrong.
type broken struct {
	store.Store
	get  func(ctx context.Context, s store.Store, key string, span store.Span) (store.Object, error)
	stat func(ctx context.Context, s store.Store, key string) (store.Info, error)
	put  func(ctx context.Context, s store.Store, key string, body []byte, cond store.Cond) (store.Info, error)
	list func(ctx context.Context, s store.Store, prefix, after string) iter.Seq2[store.Info, error]
	del  func(ctx context.Context, s store.Store, key string) error
}

func (b broken) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	if b.get == nil {
		return b.Store.Get(ctx, key, span)
	}
	return b.get(ctx, b.Store, key, span)
}

func (b broken) Stat(ctx context.Context, key string) (store.Info, error) {
	if b.stat == nil {
		return b.Store.Stat(ctx, key)
	}
	return b.stat(ctx, b.Store, key)
}

func (b broken) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	if b.put == nil {
		return b.Store.Put(ctx, key, body, cond)
	}
	return b.put(ctx, b.Store, key, body, cond)
}

func (b broken) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	if b.list == nil {
		return b.Store.List(ctx, prefix, after)
	}
	return b.list(ctx, b.Store, prefix, after)
}

func (b broken) Delete(ctx context.Context, key string) error {
	if b.del == nil {
		return b.Store.Delete(ctx, key)
	}
	return b.del(ctx, b.Store, key)
}

// failing returns the names of the checks, of those that which holds for, that
// b does not pass.
func failing(t *testing.T, b broken, which func(check) bool) []string {
	t.Helper()
	var names []string
	for _, c := range slices.Concat(putChecks, readChecks, listChecks, readerChecks, raceChecks) {
		b.Store = &memory.Store{}
		if which(c) && c.run(subject{t.Context(), b}) != nil {
			names = append(names, c.name)
		}
	}
	return names
}

// expect checks that the suite refuses a store that does one thing wrong, by
// the check that is made for it.
func expect(t *testing.T, name string, b broken, want string) {
	t.Helper()
	if got := failing(t, b, func(c check) bool { return c.name == want }); len(got) == 0 {
		t.Errorf("a store that %s passes %s", name, want)
	}
}

// putAs changes what is put.
func putAs(change func(key string, cond store.Cond) (string, store.Cond)) broken {
	return broken{put: func(ctx context.Context, s store.Store, key string, body []byte, cond store.Cond) (store.Info, error) {
		as, cond := change(key, cond)
		i, err := s.Put(ctx, as, body, cond)
		i.Key = key
		return i, err
	}}
}

func TestSuiteRefusesBadPuts(t *testing.T) {
	blindIf := func(match func(store.Cond) bool) broken {
		return putAs(func(key string, cond store.Cond) (string, store.Cond) {
			if match(cond) {
				cond = store.Blind()
			}
			return key, cond
		})
	}
	isMatch := func(c store.Cond) bool { _, ok := c.ETag(); return ok }
	if got := failing(t, broken{}, func(check) bool { return true }); len(got) > 0 {
		t.Fatalf("a good store fails %q", got)
	}
	expect(t, "ignores IfAbsent", blindIf(store.Cond.Absent), "IfAbsent")
	expect(t, "ignores IfMatch", blindIf(isMatch), "IfMatch")
	expect(t, "takes any object for an empty ETag", blindIf(func(c store.Cond) bool { e, ok := c.ETag(); return ok && e == "" }), "IfMatchNoETag")
	expect(t, "takes the zero Cond", blindIf(func(c store.Cond) bool { return c.Err() != nil }), "ZeroCond")
	expect(t, "creates under IfMatch", broken{
		put: func(ctx context.Context, s store.Store, key string, body []byte, cond store.Cond) (store.Info, error) {
			if _, err := s.Stat(ctx, key); isMatch(cond) && errors.Is(err, store.ErrNotExist) {
				cond = store.IfAbsent()
			}
			return s.Put(ctx, key, body, cond)
		},
	}, "IfMatchMissing")
	expect(t, "drops the condition of a large body", broken{
		put: func(ctx context.Context, s store.Store, key string, body []byte, cond store.Cond) (store.Info, error) {
			if len(body) > 16<<20 {
				cond = store.Blind()
			}
			return s.Put(ctx, key, body, cond)
		},
	}, "Large")
	expect(t, "cleans keys", putAs(func(key string, c store.Cond) (string, store.Cond) { return path.Clean(key), c }), "BadKeys")
	expect(t, "decodes keys", putAs(func(key string, c store.Cond) (string, store.Cond) {
		if plain, err := url.PathUnescape(key); err == nil {
			key = plain
		}
		return key, c
	}), "SpecialKeys")
	for _, name := range []string{"RaceIfAbsent", "RaceIfMatch", "RaceCounter"} {
		expect(t, "checks and writes in two steps", broken{put: twoSteps}, name)
	}
}

// twoSteps is right for one request at a time only.
func twoSteps(ctx context.Context, s store.Store, key string, body []byte, cond store.Cond) (store.Info, error) {
	i, err := s.Stat(ctx, key)
	if err := cond.Err(); err != nil {
		return store.Info{}, err
	}
	if err == nil || errors.Is(err, store.ErrNotExist) {
		if !cond.Holds(i.ETag, err == nil) {
			return store.Info{}, store.ErrConflict
		}
	}
	for range 100 {
		runtime.Gosched() // let the others check too
	}
	return s.Put(ctx, key, body, store.Blind())
}

func TestSuiteRefusesBadReads(t *testing.T) {
	get := func(change func(o *store.Object, span store.Span)) broken {
		return broken{get: func(ctx context.Context, s store.Store, key string, span store.Span) (store.Object, error) {
			o, err := s.Get(ctx, key, span)
			change(&o, span)
			return o, err
		}}
	}
	expect(t, "ignores spans", broken{
		get: func(ctx context.Context, s store.Store, key string, _ store.Span) (store.Object, error) {
			return s.Get(ctx, key, store.Span{})
		},
	}, "Spans")
	expect(t, "gives the size of the part", get(func(o *store.Object, _ store.Span) { o.Size = int64(len(o.Body)) }), "Spans")
	expect(t, "gives a wrong sha256", get(func(o *store.Object, _ store.Span) { o.SHA256 = new([sha256.Size]byte) }), "Blind")
	expect(t, "shows a part of a body", get(func(o *store.Object, _ store.Span) {
		if len(o.Body) > 90_000 {
			o.Body = o.Body[:70_000]
		}
	}), "RaceReaders")
	expect(t, "has another error for what is not there", broken{
		get: func(ctx context.Context, s store.Store, key string, span store.Span) (store.Object, error) {
			o, err := s.Get(ctx, key, span)
			if err != nil {
				err = errors.New("no such file")
			}
			return o, err
		},
	}, "Absent")
	expect(t, "takes folders for objects", broken{
		stat: func(ctx context.Context, s store.Store, key string) (store.Info, error) {
			for i := range s.List(ctx, key+"/", "") {
				return i, nil
			}
			return s.Stat(ctx, key)
		},
	}, "Absent")
	expect(t, "goes on when it is cancelled", broken{
		get: func(ctx context.Context, s store.Store, key string, span store.Span) (store.Object, error) {
			return s.Get(context.WithoutCancel(ctx), key, span)
		},
	}, "Cancelled")
	expect(t, "cannot delete twice", broken{del: func(ctx context.Context, s store.Store, key string) error {
		if _, err := s.Stat(ctx, key); err != nil {
			return err
		}
		return s.Delete(ctx, key)
	}}, "Delete")
	expect(t, "does not delete", broken{del: func(context.Context, store.Store, string) error { return nil }}, "IfAbsentAfterDelete")
}

// listed changes a whole list.
func listed(change func(all []store.Info, after string) []store.Info) broken {
	return broken{list: func(ctx context.Context, s store.Store, prefix, after string) iter.Seq2[store.Info, error] {
		return func(yield func(store.Info, error) bool) {
			var all []store.Info
			for i, err := range s.List(ctx, prefix, "") {
				if err != nil {
					yield(i, err)
					return
				}
				all = append(all, i)
			}
			for _, i := range change(all, after) {
				if !yield(i, nil) {
					return
				}
			}
		}
	}}
}

func TestSuiteRefusesBadLists(t *testing.T) {
	from := func(all []store.Info, ok func(key string) bool) []store.Info {
		return slices.DeleteFunc(all, func(i store.Info) bool { return !ok(i.Key) })
	}
	later := func(all []store.Info, after string) []store.Info {
		return from(all, func(key string) bool { return key > after })
	}
	expect(t, "sorts folder by folder", listed(func(all []store.Info, after string) []store.Info {
		slices.SortFunc(all, func(a, b store.Info) int {
			return strings.Compare(strings.ReplaceAll(a.Key, "/", "\x00"), strings.ReplaceAll(b.Key, "/", "\x00"))
		})
		return later(all, after)
	}), "ListOrder")
	expect(t, "ignores after", listed(func(all []store.Info, _ string) []store.Info { return all }), "ListAfter")
	expect(t, "begins with after itself", listed(func(all []store.Info, after string) []store.Info {
		return from(all, func(key string) bool { return key >= after })
	}), "ListAfter")
	expect(t, "gives one page", listed(func(all []store.Info, after string) []store.Info {
		all = later(all, after)
		return all[:min(len(all), 1000)]
	}), "ListPages")
	expect(t, "does not list the newest", listed(func(all []store.Info, after string) []store.Info {
		all = later(all, after)
		return all[:max(len(all)-1, 0)]
	}), "ListSeesWrites")
	expect(t, "lists wrong sizes", listed(func(all []store.Info, after string) []store.Info {
		for n := range all {
			all[n].Size++
		}
		return later(all, after)
	}), "ListInfo")
}
