package columnar

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Values get numbers in the order of their first time, and the same number
// ever after, also when those behind a mark are taken back again and again.
// Both kinds of values are tried, and tables that grow.
func TestDictionary(t *testing.T) {
	f := func(width int) {
		t.Helper()
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		d := newDictionary(width)
		var model []string
		for range 3_000 {
			mark := d.len()
			for range r.IntN(5) {
				v := fmt.Sprintf("%08d", r.IntN(800))
				if width == 0 {
					v = v[r.IntN(9):]
				}
				want := slices.Index(model, v)
				if want < 0 {
					want, model = len(model), append(model, v)
				}
				if got := d.of([]byte(v)); int(got) != want {
					t.Fatalf("%q has number %d, want %d", v, got, want)
				}
			}
			if r.IntN(2) == 0 {
				d.cut(mark)
				model = model[:mark]
			}
		}
		for i, v := range model {
			if got := d.value(int32(i)); string(got) != v {
				t.Fatalf("number %d is %q, want %q", i, got, v)
			}
		}
		d.reset()
		if n := d.of([]byte("00000001")); n != 0 || d.len() != 1 {
			t.Errorf("after reset: number %d of %d", n, d.len())
		}
	}
	f(0)
	f(8)
}
