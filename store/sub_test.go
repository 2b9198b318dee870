package store_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// A Sub sees its folder only, by short names, and writes into it only.
func TestSub(t *testing.T) {
	ctx, whole := t.Context(), &memory.Store{}
	part := store.Sub(whole, "part/")
	for _, key := range []string{"aa", "other/k", "part/k", "part0"} {
		if _, err := whole.Put(ctx, key, []byte(key), store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
	}
	o, err := part.Get(ctx, "k", store.Span{})
	if err != nil || o.Key != "k" || string(o.Body) != "part/k" {
		t.Errorf("get: key %q body %q err %v", o.Key, o.Body, err)
	}
	if i, err := part.Stat(ctx, "k"); err != nil || i.Key != "k" {
		t.Errorf("stat: key %q err %v", i.Key, err)
	}
	if i, err := part.Put(ctx, "l", nil, store.IfAbsent()); err != nil || i.Key != "l" {
		t.Errorf("put: key %q err %v", i.Key, err)
	}
	if _, err := whole.Stat(ctx, "part/l"); err != nil {
		t.Error("the whole does not have what the part wrote: ", err)
	}
	if got := keys(t, part, "", ""); !slices.Equal(got, []string{"k", "l"}) {
		t.Errorf("list: %q", got)
	}
	if got := keys(t, part, "", "k"); !slices.Equal(got, []string{"l"}) {
		t.Errorf("list after k: %q", got)
	}
	if err := part.Delete(ctx, "k"); err != nil {
		t.Error(err)
	}
	if _, err := whole.Stat(ctx, "part/k"); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("the whole still has what the part deleted: %v", err)
	}
}

// The part under no prefix is the store itself.
func TestSubOfNothing(t *testing.T) {
	whole := &memory.Store{}
	if store.Sub(whole, "") != store.Store(whole) {
		t.Error("a wrapper that does nothing")
	}
}

func keys(t *testing.T, s store.Store, prefix, after string) []string {
	t.Helper()
	var got []string
	for i, err := range s.List(t.Context(), prefix, after) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, i.Key)
	}
	return got
}
