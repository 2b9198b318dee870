package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/store/storetest"
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

// A Sub keeps the contract of a Store, and so does a Sub of it.
func TestSubContract(t *testing.T) {
	f := func(name string, prefixes ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.Store {
				whole := store.Store(&memory.Store{})
				// Neighbours on both sides, which must never be seen.
				for _, key := range []string{"a", "orderr/k", "orders0", "z"} {
					if _, err := whole.Put(t.Context(), key, []byte("outside"), store.IfAbsent()); err != nil {
						t.Fatal(err)
					}
				}
				for _, p := range prefixes {
					whole = store.Sub(whole, p)
				}
				return whole
			})
		})
	}
	f("one", "orders/")
	f("nested", "orders/", "t/")
}

// An error of the store comes through, with the whole key.
func TestSubErrors(t *testing.T) {
	broken := errors.New("broken")
	part := store.Sub(fault.Wrap(&memory.Store{}, func(context.Context, fault.Call) fault.Action { return fault.Fail(broken) }), "part/")
	for i, err := range part.List(t.Context(), "", "") {
		if !errors.Is(err, broken) {
			t.Errorf("list gives %q, err %v, want %v", i.Key, err, broken)
		}
	}
	if err := part.Delete(t.Context(), "k"); !errors.Is(err, broken) {
		t.Errorf("delete: err %v, want %v", err, broken)
	}
	if _, err := store.Sub(&memory.Store{}, "part/").Get(t.Context(), "k", store.Span{}); !errors.Is(err, store.ErrNotExist) || !strings.Contains(err.Error(), "part/k") {
		t.Errorf("get: err %v, want %v with part/k", err, store.ErrNotExist)
	}
	// No key leads out of the folder.
	for _, key := range []string{"", "../k", "/k", "a/../../k"} {
		if _, err := store.Sub(&memory.Store{}, "part/").Put(t.Context(), key, nil, store.Blind()); err == nil {
			t.Errorf("%q is taken", key)
		}
	}
}

// Who stops reading a list is not given more.
func TestSubListStops(t *testing.T) {
	part := store.Sub(&memory.Store{}, "part/")
	for _, key := range []string{"a", "b", "c"} {
		if _, err := part.Put(t.Context(), key, nil, store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for i, err := range part.List(t.Context(), "", "a") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, i.Key)
		break
	}
	if !slices.Equal(got, []string{"b"}) {
		t.Errorf("got %q", got)
	}
}
