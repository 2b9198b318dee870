package store_test

import (
	"errors"
	"testing"

	"github.com/lakeweir/lakeweir/store"
)

func TestCond(t *testing.T) {
	f := func(name string, c store.Cond, missing, same, other bool, err error) {
		t.Helper()
		if got := c.Holds("", false); got != missing {
			t.Errorf("%s: holds for a missing object: %v", name, got)
		}
		if got := c.Holds("e", true); got != same {
			t.Errorf("%s: holds for the ETag: %v", name, got)
		}
		if got := c.Holds("f", true); got != other {
			t.Errorf("%s: holds for another ETag: %v", name, got)
		}
		if got := c.Err(); !errors.Is(got, err) {
			t.Errorf("%s: err %v, want %v", name, got, err)
		}
	}
	// A forgotten condition holds never and is an error.
	f("zero", store.Cond{}, false, false, false, store.ErrCond)
	// Created once.
	f("absent", store.IfAbsent(), true, false, false, nil)
	// Changed by who read it last.
	f("match", store.IfMatch("e"), false, true, false, nil)
	// Any.
	f("blind", store.Blind(), true, true, true, nil)
	// An empty ETag is not the condition that there is none.
	f("empty", store.IfMatch(""), false, false, false, nil)
}

func TestCondKinds(t *testing.T) {
	if etag, ok := store.IfMatch("e").ETag(); etag != "e" || !ok {
		t.Errorf("IfMatch has ETag %q, %v", etag, ok)
	}
	for _, c := range []store.Cond{{}, store.IfAbsent(), store.Blind()} {
		if _, ok := c.ETag(); ok {
			t.Errorf("%v has an ETag", c)
		}
	}
	if !store.IfAbsent().Absent() || store.IfMatch("").Absent() || store.Blind().Absent() {
		t.Error("only IfAbsent is absent")
	}
}
