package dedup

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// ID is the hash of an event id, as [Hash] makes it.
type ID [16]byte

// inPlace is the size of an id, with the lengths of its parts, up to which it
// is hashed without an allocation.
const inPlace = 256

// Hash returns the id of an event that is told from others by these parts, the
// values of one or several columns. Parts cannot run into each other: ("ab",
// "c") and ("a", "bc") differ, and so do nil (null) and empty. The result is
// stored in files and never changes: it is XXH3-128, big endian, of each part
// behind the varint of its length plus one, or of zero alone for nil.
func Hash(parts ...[]byte) ID {
	size := 0
	for _, p := range parts {
		size += binary.MaxVarintLen64 + len(p)
	}
	var array [inPlace]byte
	buf := array[:0]
	if size > inPlace {
		buf = make([]byte, 0, size)
	}
	for _, p := range parts {
		if p == nil {
			buf = append(buf, 0)
			continue
		}
		buf = binary.AppendUvarint(buf, uint64(len(p))+1)
		buf = append(buf, p...)
	}
	return xxh3.Hash128(buf).Bytes()
}
