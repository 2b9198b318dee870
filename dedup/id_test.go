package dedup

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func b(s string) []byte { return []byte(s) }

// Ids are stored in files: these never change.
func TestHashGolden(t *testing.T) {
	f := func(want string, parts ...[]byte) {
		t.Helper()
		id := Hash(parts...)
		if got := hex.EncodeToString(id[:]); got != want {
			t.Errorf("%q: got %s, want %s", parts, got, want)
		}
	}
	f("99aa06d3014798d86001c324468d497f")                                              // no part
	f("a6cd5e9392000f6ac44bdff4074eecdb", nil)                                         // null
	f("51025a4491835505e12ef9d2eb86ceeb", b(""))                                       // empty
	f("ca6b1d01e43df2b74125c1ce252914d8", b("us7000abcd"))                             // one column
	f("04b073e5aa29d1f41b8b2896f656d291", b("orders"), b("42"), b("0000000000001a2b")) // several
	f("ae090bae954282d30c1c9cc8050e9b85", bytes.Repeat(b("x"), 1000))                  // beyond what is hashed in place
}

// Different parts are different bytes before they are hashed.
func TestHashTellsPartsApart(t *testing.T) {
	long := bytes.Repeat(b("a"), 300)
	all := [][][]byte{
		{},
		{nil},
		{b("")},
		{nil, nil},
		{nil, b("")},
		{b(""), nil},
		{b(""), b("")},
		{b("abc")},
		{b("ab"), b("c")},
		{b("a"), b("bc")},
		{b("abc"), nil},
		{nil, b("abc")},
		{b("abc"), b("")},
		{{0}},
		{{0, 0}},
		{{1}},
		{{0}, {0}},
		{{4, 'a', 'b', 'c'}},
		{long},
		{long[:127]},
		{long[:128]},
		{long[:150], long[150:]},
		{long, nil},
	}
	seen := map[ID]int{}
	for i, parts := range all {
		if j, ok := seen[Hash(parts...)]; ok {
			t.Errorf("%q and %q have one id", all[j], parts)
		}
		seen[Hash(parts...)] = i
	}
}

func TestHashDoesNotAllocate(t *testing.T) {
	x, y := b("a column"), b("another one")
	if n := testing.AllocsPerRun(100, func() { Hash(x, y) }); n != 0 {
		t.Errorf("%v allocations for an id", n)
	}
}

// Two ids of two parts are equal only when the parts are, wherever the cuts are.
func TestHashOfRandomParts(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	part := func() []byte { return bytes.Repeat([]byte{byte(r.IntN(2))}, r.IntN(4)) }
	for range 20_000 {
		a, b, c, d := part(), part(), part(), part()
		if same := bytes.Equal(a, c) && bytes.Equal(b, d); (Hash(a, b) == Hash(c, d)) != same {
			t.Errorf("(%q, %q) and (%q, %q)", a, b, c, d)
		}
		if Hash(a, b) == Hash(slices.Concat(a, b)) {
			t.Errorf("(%q, %q) and its parts in one", a, b)
		}
	}
}
