package writer_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
)

// tableRows is the length of the log that the tests write.
const tableRows = 40

// consistent checks what holds at every instant: what the head names is there
// and is what was published, ranges are contiguous, no offset is published
// twice, and no offset is in two objects of data/ or of dead/, named or not.
// It returns the next offset and the published offsets.
func consistent(t *testing.T, s store.Store) (next int64, published []int64) {
	t.Helper()
	ctx := context.Background()
	once(t, s, "data/")
	once(t, s, "dead/")
	h, err := manifest.Read(ctx, s, 0)
	if errors.Is(err, store.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	at := h.First
	for r, err := range h.All(ctx, s) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Start != at {
			t.Fatalf("range %s does not begin at %d", r.Range, at)
		}
		at = r.Next
		for _, f := range slices.Concat(r.Data, r.Dead) {
			published = append(published, content(t, s, f)...)
		}
	}
	if at != h.Next {
		t.Fatalf("ranges end at %d, next offset is %d", at, h.Next)
	}
	slices.Sort(published)
	if twice := len(published) - len(slices.Compact(slices.Clone(published))); twice > 0 {
		t.Fatalf("%d offsets are published twice: %v", twice, published)
	}
	return h.Next, published
}

// content returns the offsets in a published file, which must be as published.
func content(t *testing.T, s store.Store, f manifest.File) []int64 {
	t.Helper()
	o, err := s.Get(context.Background(), f.Key, store.Span{})
	if err != nil {
		t.Fatalf("published %s: %v", f.Key, err)
	}
	if sha256.Sum256(o.Body) != f.SHA256 || int64(len(o.Body)) != f.Bytes {
		t.Fatalf("%s is not what was published", f.Key)
	}
	_, offsets, err := decodeLines(o.Body)
	if err != nil || int64(len(offsets)) != f.Rows {
		t.Fatalf("%s has %d rows, %d were published: %v", f.Key, len(offsets), f.Rows, err)
	}
	return offsets
}

// once checks that no offset is in two objects under a prefix: a reader that
// only lists counts nothing twice.
func once(t *testing.T, s store.Store, prefix string) {
	t.Helper()
	in := map[int64]string{}
	for i, err := range s.List(context.Background(), prefix, "") {
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.Get(context.Background(), i.Key, store.Span{})
		if err != nil {
			t.Fatal(err)
		}
		_, offsets, err := decodeLines(o.Body)
		if err != nil {
			t.Fatalf("%s: %v", i.Key, err)
		}
		for _, offset := range offsets {
			if other, ok := in[offset]; ok {
				t.Fatalf("offset %d is in %s and in %s", offset, other, i.Key)
			}
			in[offset] = i.Key
		}
	}
}

// whole checks a finished table: all offsets that are records are published,
// once, and data/ holds nothing else.
func whole(t *testing.T, s store.Store) {
	t.Helper()
	next, published := consistent(t, s)
	var want []int64
	for o := range int64(tableRows) {
		if !absent(o) {
			want = append(want, o)
		}
	}
	if next != tableRows || !slices.Equal(published, want) {
		t.Fatalf("published up to %d: %v, want %v", next, published, want)
	}
	h, err := manifest.Read(context.Background(), s, 0)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for r, err := range h.All(context.Background(), s) {
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range r.Keys() {
			named[key] = true
		}
	}
	for i, err := range s.List(context.Background(), "d", "") {
		if err != nil {
			t.Fatal(err)
		}
		o, _ := s.Get(context.Background(), i.Key, store.Span{})
		if _, offsets, _ := decodeLines(o.Body); len(offsets) > 0 && !named[i.Key] && !strings.HasPrefix(i.Key, "manifest/") {
			t.Fatalf("%s has rows and nothing names it", i.Key)
		}
	}
}
