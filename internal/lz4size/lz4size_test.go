package lz4size

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// The size is what the library inflates a block to: texts of long and short
// matches, without any, and of one byte.
func TestOf(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		var text []byte
		for range 1 + r.IntN(60) {
			text = append(text, strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(700))...)
			for range r.IntN(40) {
				text = append(text, byte(r.Uint32()))
			}
		}
		block := make([]byte, lz4.CompressBlockBound(len(text)))
		n, err := lz4.CompressBlock(text, block, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 { // it does not compress
			continue
		}
		if size, ok := Of(block[:n]); !ok || size != uint64(len(text)) {
			t.Errorf("%d, %v, want %d", size, ok, len(text))
		}
		if _, ok := Of(block[:n-1]); ok {
			t.Error("a block that lacks its last byte is taken")
		}
	}
}

// Damage is seen, also the one at which the library never ends.
func TestDamage(t *testing.T) {
	f := func(name string, b ...byte) {
		t.Helper()
		if size, ok := Of(b); ok {
			t.Errorf("%s: %d", name, size)
		}
	}
	f("nothing")
	f("literals that are not there", 0x20, 'a')
	f("no place of a match", 0x10, 'a', 1)
	f("a match before the beginning", 0x10, 'a', 2, 0, 0x10, 'a')
	f("a match of itself", 0x10, 'a', 0, 0, 0x10, 'a')
	f("no last literals", 0x10, 'a', 1, 0)
	f("length cut off", 0xf0)
}
