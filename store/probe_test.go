package store_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
)

// breaks is a store in memory that does some things wrong.
type breaks struct {
	memory.Store
	put  func(s store.Store, key string, body []byte, cond store.Cond) (store.Info, error)
	get  func(o store.Object) store.Object
	list func(all iter.Seq2[store.Info, error]) iter.Seq2[store.Info, error]
	info func(i store.Info) store.Info
	del  error
}

func (b *breaks) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	if b.put == nil {
		return b.Store.Put(ctx, key, body, cond)
	}
	return b.put(&b.Store, key, body, cond)
}

func (b *breaks) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	o, err := b.Store.Get(ctx, key, span)
	if b.get != nil {
		o = b.get(o)
	}
	return o, err
}

func (b *breaks) Stat(ctx context.Context, key string) (store.Info, error) {
	i, err := b.Store.Stat(ctx, key)
	if b.info != nil {
		i = b.info(i)
	}
	return i, err
}

func (b *breaks) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	all := b.Store.List(ctx, prefix, after)
	if b.list == nil {
		return all
	}
	return b.list(all)
}

func (b *breaks) Delete(ctx context.Context, key string) error {
	if b.del != nil {
		return b.del
	}
	return b.Store.Delete(ctx, key)
}

// isMatch reports whether c is IfMatch.
func isMatch(c store.Cond) bool { _, ok := c.ETag(); return ok }

// blindIf drops the conditions that match holds for.
func blindIf(match func(store.Cond) bool) *breaks {
	return &breaks{put: func(s store.Store, key string, body []byte, cond store.Cond) (store.Info, error) {
		if match(cond) {
			cond = store.Blind()
		}
		return s.Put(context.Background(), key, body, cond)
	}}
}

// A good store passes every check, and nothing stays behind.
func TestProbeGood(t *testing.T) {
	s := &memory.Store{}
	r, err := store.Probe(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Checks) != 8 {
		t.Errorf("%d checks, want 8: %v", len(r.Checks), r.Checks)
	}
	for _, c := range r.Checks {
		if !c.OK || c.Detail != "" || c.Name == "" {
			t.Errorf("check %+v", c)
		}
	}
	if left := keys(t, s, "", ""); len(left) > 0 {
		t.Errorf("the probe left %q", left)
	}
}

// Each store that breaks one thing is refused with words that say which, the
// other checks are made all the same, and nothing stays behind.
func TestProbeUnsafe(t *testing.T) {
	f := func(s *breaks, want string) {
		t.Helper()
		r, err := store.Probe(t.Context(), s)
		if !errors.Is(err, store.ErrUnsafe) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "single_writer: true") {
			t.Errorf("err %v\nwant %v with %q", err, store.ErrUnsafe, want)
		}
		if len(r.Checks) != 8 || r.Err() == nil {
			t.Errorf("%s: %d checks, report %v", want, len(r.Checks), r.Err())
		}
		if left := keys(t, &s.Store, "", ""); len(left) > 0 {
			t.Errorf("%s: the probe left %q", want, left)
		}
	}
	// The header is not known and dropped: the usual fault.
	f(blindIf(store.Cond.Absent), "ignored If-None-Match")
	f(blindIf(isMatch), "ignored If-Match")
	// Only a stale one is let through where nothing is.
	f(&breaks{put: func(s store.Store, key string, body []byte, cond store.Cond) (store.Info, error) {
		if _, err := s.Stat(t.Context(), key); isMatch(cond) && err != nil {
			cond = store.IfAbsent()
		}
		return s.Put(t.Context(), key, body, cond)
	}}, "create an object that was not there")
	// Right in sequence, wrong in a race, for each of the conditions.
	f(racy(store.Cond.Absent), "raced under If-None-Match")
	f(racy(isMatch), "raced under If-Match")
	// An ETag that does not match itself.
	f(&breaks{put: func(s store.Store, key string, body []byte, cond store.Cond) (store.Info, error) {
		i, err := s.Put(t.Context(), key, body, cond)
		i.ETag = "w/" + i.ETag
		return i, err
	}}, "refused If-Match with the ETag that it had given")
	// Writes refused in words that took effect all the same.
	f(&breaks{put: func(s store.Store, key string, body []byte, cond store.Cond) (store.Info, error) {
		i, err := s.Put(t.Context(), key, body, cond)
		if errors.Is(err, store.ErrConflict) && cond.Absent() {
			_, _ = s.Put(t.Context(), key, body, store.Blind())
		}
		return i, err
	}}, "ignored If-None-Match")
	// A list that does not show the newest object.
	f(&breaks{list: func(all iter.Seq2[store.Info, error]) iter.Seq2[store.Info, error] {
		return func(yield func(store.Info, error) bool) {
			var last *store.Info
			for i, err := range all {
				if last != nil && !yield(*last, err) {
					return
				}
				last = &i
			}
		}
	}}, "a list after completed writes")
	// A cache in front that shows an old body.
	f(&breaks{get: staleReads()}, "a read after a completed write")
}

// racy checks the conditions that match holds for and writes in two steps.
func racy(match func(store.Cond) bool) *breaks {
	return &breaks{put: func(s store.Store, key string, body []byte, cond store.Cond) (store.Info, error) {
		ctx := context.Background()
		if !match(cond) {
			return s.Put(ctx, key, body, cond)
		}
		i, err := s.Stat(ctx, key)
		if !cond.Holds(i.ETag, err == nil) {
			return store.Info{}, store.ErrConflict
		}
		for range 100 {
			runtime.Gosched() // let the others check too
		}
		return s.Put(ctx, key, body, store.Blind())
	}}
}

// staleReads shows the body "2" twice.
func staleReads() func(store.Object) store.Object {
	return func(o store.Object) store.Object {
		if strings.HasSuffix(o.Key, "/read") && string(o.Body) == "3" {
			o.Body = []byte("2")
		}
		return o
	}
}

// What is no fault of the store is remarked only.
func TestProbeRemarks(t *testing.T) {
	remark := func(s store.Store) string {
		t.Helper()
		r, err := store.Probe(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return r.Checks[len(r.Checks)-1].Detail
	}
	// A store that keeps no checksum.
	got := remark(&breaks{info: func(i store.Info) store.Info { i.SHA256 = nil; return i }})
	if !strings.Contains(got, "compared by reading") {
		t.Errorf("remark %q", got)
	}
	// Credentials that may not delete.
	got = remark(&breaks{del: errors.New("access denied")})
	if !strings.Contains(got, "could not") || !strings.Contains(got, "access denied") || !strings.Contains(got, ".lakeweir-probe-") {
		t.Errorf("remark %q", got)
	}
}

// A store that cannot be used is no unsafe store, and it is asked a few times only.
func TestProbeUnusable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		denied := errors.New("access is denied")
		s := fault.Wrap(&memory.Store{}, func(context.Context, fault.Call) fault.Action { return fault.Fail(denied) })
		begin := time.Now()
		r, err := store.Probe(t.Context(), s)
		if !errors.Is(err, denied) || errors.Is(err, store.ErrUnsafe) || strings.Contains(err.Error(), "\n") {
			t.Errorf("err %v, want %v in one line", err, denied)
		}
		if took := time.Since(begin); len(r.Checks) != 1 || r.Checks[0].OK || s.Calls() != 10 || took > 6*time.Second {
			t.Errorf("%d calls in %v, report %v", s.Calls(), took, r)
		}
	})
}

// At every call one answer is lost: a good store passes.
func TestProbeLostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := range probeCalls(t) {
			s := fault.Wrap(&memory.Store{}, fault.AtCall(n+1, fault.Lost()))
			if _, err := store.Probe(t.Context(), s); err != nil {
				t.Errorf("answer %d lost: %v", n+1, err)
			}
		}
	})
}
