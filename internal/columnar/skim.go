package columnar

import (
	"encoding/binary"
	"math"
)

// skim goes through a message in the compact protocol of Thrift, in which the
// footer and the headers of pages are written
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
//
// The library makes room for as many elements, or bytes, as a length says,
// before it reads the first; so a length of 2^31 in a small file would end the
// process. skim takes no memory, and ok tells whether each length is one that
// the bytes behind it can back.
type skim struct {
	b  []byte
	at int
	ok bool
}

// skimDepth is how deep structs and lists may nest; a footer needs 8 levels.
const skimDepth = 32

// Types of fields and elements.
const (
	skimTrue = iota + 1
	skimFalse
	skimByte
	skimInt16
	skimInt32
	skimInt64
	skimDouble
	skimBinary
	skimList
	skimSet
	skimMap
	skimStruct
	skimUUID
)

// newSkim begins at the first byte of a message.
func newSkim(b []byte) *skim { return &skim{b: b, ok: true} }

// message goes through the struct that a message is. It returns the integers
// among its own fields, by field id below len(fields).
func (s *skim) message() (fields [8]int64) {
	s.structure(skimDepth, func(id, v int64) {
		if id >= 0 && id < int64(len(fields)) {
			fields[id] = v
		}
	})
	return fields
}

func (s *skim) structure(depth int, tell func(id, v int64)) {
	id := int64(0)
	for s.ok {
		head := s.byte()
		if head == 0 {
			return
		}
		if delta := head >> 4; delta != 0 {
			id += int64(delta)
		} else {
			id = s.varint()
		}
		switch kind := head & 0xf; kind {
		case skimTrue, skimFalse: // the type is the value
		case skimInt16, skimInt32, skimInt64:
			v := s.varint()
			if tell != nil && s.ok {
				tell(id, v)
			}
		default:
			s.value(kind, depth-1)
		}
	}
}

// value goes through an element, or a field of another type than bool.
func (s *skim) value(kind byte, depth int) {
	if depth < 0 {
		s.ok = false
		return
	}
	switch kind {
	case skimTrue, skimFalse, skimByte:
		s.skip(1)
	case skimInt16, skimInt32, skimInt64:
		s.varint()
	case skimDouble:
		s.skip(8)
	case skimBinary:
		s.skip(s.length())
	case skimList, skimSet:
		s.list(depth)
	case skimMap:
		s.dict(depth)
	case skimStruct:
		s.structure(depth, nil)
	case skimUUID:
		s.skip(16)
	default:
		s.ok = false
	}
}

func (s *skim) list(depth int) {
	head := s.byte()
	n := int(head >> 4)
	if n == 0xf {
		n = s.length()
	}
	s.elements(n, depth, head&0xf)
}

func (s *skim) dict(depth int) {
	if n := s.length(); n > 0 {
		kinds := s.byte()
		s.elements(n, depth, kinds>>4, kinds&0xf)
	}
}

// elements goes through n elements, each of the kinds in turn. None is smaller
// than a byte.
func (s *skim) elements(n, depth int, kinds ...byte) {
	if n > len(s.b)-s.at {
		s.ok = false
	}
	for ; n > 0 && s.ok; n-- {
		for _, kind := range kinds {
			s.value(kind, depth-1)
		}
	}
}

func (s *skim) byte() byte {
	if !s.ok || s.at >= len(s.b) {
		s.ok = false
		return 0
	}
	s.at++
	return s.b[s.at-1]
}

func (s *skim) skip(n int) {
	if n > len(s.b)-s.at {
		s.ok = false
		return
	}
	s.at += n
}

// varint reads a zigzag varint.
func (s *skim) varint() int64 {
	v, n := binary.Varint(s.b[s.at:])
	if n <= 0 {
		s.ok = false
		return 0
	}
	s.at += n
	return v
}

// length reads a length or a count.
func (s *skim) length() int {
	v, n := binary.Uvarint(s.b[s.at:])
	if n <= 0 || v > math.MaxInt32 {
		s.ok = false
		return 0
	}
	s.at += n
	return int(v)
}
