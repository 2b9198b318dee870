package memory_test

import (
	"context"
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
