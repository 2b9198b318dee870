package memory_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// Equal bytes get the equal ETag again, as on S3: who relies on an ETag to see
// A -> B -> A must fail in tests too.
func TestETagComesBack(t *testing.T) {
	s, ctx := &memory.Store{}, context.Background()
	put := func(body string) store.Info {
		i, err := s.Put(ctx, "k", []byte(body), store.Blind())
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	a, b, again := put("a"), put("b"), put("a")
	if a.ETag == b.ETag || a.ETag != again.ETag {
		t.Fatalf("etags %s %s %s: want the first and last equal, the second not", a.ETag, b.ETag, again.ETag)
	}
	if _, err := s.Put(ctx, "k", []byte("c"), store.IfMatch(a.ETag)); err != nil {
		t.Fatal("a stale ETag of an equal body: ", err)
	}
}

// Neither the body given to Put nor the one got from Get is shared with the store.
func TestBodiesAreCopies(t *testing.T) {
	s, ctx := &memory.Store{}, context.Background()
	body := []byte("abc")
	if _, err := s.Put(ctx, "k", body, store.IfAbsent()); err != nil {
		t.Fatal(err)
	}
	body[0] = 'x'
	for range 2 {
		o, err := s.Get(ctx, "k", store.Span{})
		if err != nil || string(o.Body) != "abc" {
			t.Fatalf("body %q, err %v, want abc", o.Body, err)
		}
		o.Body[1] = 'x'
	}
}

// list reads a list to its end.
func list(ctx context.Context, s *memory.Store, prefix, after string, each func(store.Info)) error {
	for i, err := range s.List(ctx, prefix, after) {
		if err != nil {
			return err
		}
		each(i)
	}
	return nil
}

// A list shows what was there when it began, so a writer cannot keep a reader
// going for ever.
func TestListIsASnapshot(t *testing.T) {
	s, ctx := &memory.Store{}, t.Context()
	for _, key := range []string{"a", "b"} {
		if _, err := s.Put(ctx, key, nil, store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
	}
	all := s.List(ctx, "", "")
	if err := s.Delete(ctx, "a"); err != nil { // before it begins
		t.Fatal(err)
	}
	var got []string
	for i, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, i.Key)
		if _, err := s.Put(ctx, i.Key+"+", nil, store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, []string{"b"}) {
		t.Errorf("got %q, want b", got)
	}
}

// Infos are what the contract says: a checksum from Stat, none from a list.
func TestInfos(t *testing.T) {
	s, ctx := &memory.Store{}, t.Context()
	if _, err := s.Put(ctx, "k", []byte("abc"), store.IfAbsent()); err != nil {
		t.Fatal(err)
	}
	i, err := s.Stat(ctx, "k")
	if err != nil || i.SHA256 == nil || *i.SHA256 != sha256.Sum256([]byte("abc")) || i.Modified.IsZero() {
		t.Errorf("stat %+v, err %v", i, err)
	}
	err = list(ctx, s, "", "", func(l store.Info) {
		if l.SHA256 != nil || l.ETag != i.ETag || l.Size != 3 {
			t.Errorf("listed %+v", l)
		}
	})
	if err != nil {
		t.Error(err)
	}
	// The listing cannot change what the store keeps.
	if i, err := s.Stat(ctx, "k"); err != nil || i.SHA256 == nil {
		t.Errorf("after a list: %+v, err %v", i, err)
	}
}

// A process that was stopped does nothing more, and says which call it was.
func TestCancelled(t *testing.T) {
	s := &memory.Store{}
	if _, err := s.Put(t.Context(), "k", nil, store.IfAbsent()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, get := s.Get(ctx, "k", store.Span{})
	_, stat := s.Stat(ctx, "k")
	_, put := s.Put(ctx, "k", []byte("new"), store.Blind())
	for op, err := range map[string]error{
		"get": get, "stat": stat, "put": put, "delete": s.Delete(ctx, "k"),
		"list": list(ctx, s, "", "", func(store.Info) { t.Error("listed") }),
	} {
		if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), op+" ") {
			t.Errorf("%s: err %v, want %v", op, err, context.Canceled)
		}
	}
	// An empty list is an answer too, so it must not come from who was stopped.
	if err := list(ctx, &memory.Store{}, "", "", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("list of nothing: err %v, want %v", err, context.Canceled)
	}
	if o, err := s.Get(t.Context(), "k", store.Span{}); err != nil || len(o.Body) > 0 {
		t.Errorf("body %q, err %v", o.Body, err)
	}
	// In the middle of a list.
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	if _, err := s.Put(ctx, "l", nil, store.IfAbsent()); err != nil {
		t.Fatal(err)
	}
	if err := list(ctx, s, "", "", func(store.Info) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("list: err %v, want %v", err, context.Canceled)
	}
}
