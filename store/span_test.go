package store_test

import (
	"testing"

	"github.com/lakeweir/lakeweir/store"
)

func TestSpanBounds(t *testing.T) {
	const body = "0123456789"
	f := func(offset, length int64, want string) {
		t.Helper()
		from, to := store.Span{Offset: offset, Length: length}.Bounds(int64(len(body)))
		if from < 0 || to < from || to > int64(len(body)) {
			t.Fatalf("%d, %d: bounds [%d, %d) lie outside", offset, length, from, to)
		}
		if got := body[from:to]; got != want {
			t.Errorf("%d, %d: %q, want %q", offset, length, got, want)
		}
	}
	// The zero span is all.
	f(0, 0, body)
	// From a byte on, and a part.
	f(3, 0, "3456789")
	f(3, 4, "3456")
	// Counted from the end, whole and in part.
	f(-3, 0, "789")
	f(-3, 2, "78")
	// Longer than what is left.
	f(8, 100, "89")
	f(8, 1<<62, "89")
	// Beyond the end, and at it.
	f(10, 0, "")
	f(11, 5, "")
	// Further back than the beginning.
	f(-11, 0, body)
	f(-11, 2, "01")
	f(-1<<63, 0, body)
	// A negative length has no meaning and is taken as none.
	f(2, -1, "23456789")
}
