package store_test

import (
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/store"
)

func TestCheckKey(t *testing.T) {
	f := func(key string, ok bool) {
		t.Helper()
		if err := store.CheckKey(key); (err == nil) != ok {
			t.Errorf("%q: err %v, want ok %v", key, err, ok)
		}
	}
	// Keys of a table, escaped hive values among them.
	f("data/day=2026-01-01/00000-00000000000000000000-00000000000000000010.parquet", true)
	f("data/place=a%2Fb%20c/x", true)
	f("place=Zürich 東京/x", true)
	f(".lakeweir-probe-1/x", true)
	f("a...b/..c/d..", true)
	f(strings.Repeat("k", store.MaxKey), true)
	// Places outside of the store, or none.
	f("", false)
	f("/a", false)
	f("a/", false)
	f("a//b", false)
	f("..", false)
	f("a/../b", false)
	f("./a", false)
	// More than S3 takes.
	f(strings.Repeat("k", store.MaxKey+1), false)
	// Bytes that a listing cannot carry.
	f("a\x00b", false)
	f("a\nb", false)
	f("a\xffb", false)
	f("a\uffffb", false)
}
