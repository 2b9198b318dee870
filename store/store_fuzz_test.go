package store_test

import (
	"path"
	"testing"
	"unicode/utf8"

	"github.com/lakeweir/lakeweir/store"
)

// FuzzKeySpan: no key that passes leaves the root that it is joined to, and no
// span reaches beyond its object.
func FuzzKeySpan(f *testing.F) {
	f.Add("a/b", int64(-3), int64(2), int64(10))
	f.Add("a/../../b", int64(3), int64(1)<<62, int64(10))
	f.Add("a//b/./c", int64(-1)<<63, int64(-1), int64(0))
	f.Fuzz(func(t *testing.T, key string, offset, length, size int64) {
		if store.CheckKey(key) == nil && (path.Join("root", key) != "root/"+key || len(key) > store.MaxKey || !utf8.ValidString(key)) {
			t.Errorf("%q passed", key)
		}
		if size < 0 {
			return
		}
		from, to := store.Span{Offset: offset, Length: length}.Bounds(size)
		if from < 0 || from > to || to > size || length > 0 && to-from > length {
			t.Errorf("span %d+%d of %d bytes is [%d, %d)", offset, length, size, from, to)
		}
	})
}
