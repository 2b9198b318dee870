// Package lz4size tells what a block of LZ4 inflates to, without doing it.
//
// A block does not say its size. To know it beforehand lets a reader allocate
// exactly that, and refuse what is too large before there is memory for it.
package lz4size

import "encoding/binary"

// Of returns what a block inflates to; ok is false for one that is damaged, as
// far as that shows without its text.
//
// A block is sequences of a token, literals, and a match in what came before;
// the last has no match
// (https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md).
func Of(b []byte) (size uint64, ok bool) {
	for i := 0; i < len(b); {
		token := b[i]
		i++
		literals := uint64(token >> 4)
		if literals == 15 {
			literals, i = longer(b, i)
		}
		if literals > uint64(len(b)-i) {
			return size, false
		}
		i, size = i+int(literals), size+literals
		if i == len(b) {
			return size, true
		}
		if len(b)-i < 2 {
			return size, false
		}
		if back := uint64(binary.LittleEndian.Uint16(b[i:])); back == 0 || back > size {
			return size, false
		}
		i += 2
		match := uint64(token & 15)
		if match == 15 {
			match, i = longer(b, i)
		}
		size += match + 4
	}
	return size, false
}

// longer reads on a length that four bits were not enough for.
func longer(b []byte, i int) (n uint64, next int) {
	for n = 15; i < len(b); {
		c := b[i]
		i++
		n += uint64(c)
		if c != 255 {
			break
		}
	}
	return n, i
}
