package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
)

// Headers are the headers of a record as the log encodes them: a varint count,
// then key and value of each, both with a varint length in front (zigzag; -1
// for a null value). Order and repeats are kept. Empty Headers are none.
type Headers []byte

// Header is one header of a record.
type Header struct {
	Key   []byte
	Value []byte // nil is null
}

// ErrHeaders is returned for headers that do not follow the record format.
var ErrHeaders = errors.New("malformed record headers")

// NewHeaders encodes hs, in order. No headers give nil.
func NewHeaders(hs ...Header) Headers {
	if len(hs) == 0 {
		return nil
	}
	b := binary.AppendVarint(nil, int64(len(hs)))
	for _, h := range hs {
		b = binary.AppendVarint(b, int64(len(h.Key)))
		b = append(b, h.Key...)
		if h.Value == nil {
			b = binary.AppendVarint(b, -1)
			continue
		}
		b = binary.AppendVarint(b, int64(len(h.Value)))
		b = append(b, h.Value...)
	}
	return b
}

// Len returns the number of headers, 0 when the count does not parse.
func (h Headers) Len() int {
	n, size := binary.Varint(h)
	if size <= 0 || n < 0 || n > int64(len(h)) {
		return 0
	}
	return int(n)
}

// Validate returns ErrHeaders unless h is well formed to its last byte.
func (h Headers) Validate() error {
	if len(h) == 0 {
		return nil
	}
	n, size := binary.Varint(h)
	if size <= 0 || n < 0 || n > int64(len(h)) {
		return fmt.Errorf("count: %w", ErrHeaders)
	}
	rest := []byte(h[size:])
	for i := range n {
		key, r, ok := cutBytes(rest)
		if !ok || key == nil {
			return fmt.Errorf("key of header %d: %w", i, ErrHeaders)
		}
		if _, r, ok = cutBytes(r); !ok {
			return fmt.Errorf("value of header %d: %w", i, ErrHeaders)
		}
		rest = r
	}
	if len(rest) > 0 {
		return fmt.Errorf("%d bytes after the last: %w", len(rest), ErrHeaders)
	}
	return nil
}

// All yields the headers in order. It stops at the first malformed one: a
// source validates the headers of what it reads.
func (h Headers) All() iter.Seq[Header] {
	return func(yield func(Header) bool) {
		n, size := binary.Varint(h)
		if size <= 0 {
			return
		}
		rest := []byte(h[size:])
		for range n {
			var head Header
			var ok bool
			if head.Key, rest, ok = cutBytes(rest); !ok {
				return
			}
			if head.Value, rest, ok = cutBytes(rest); !ok || !yield(head) {
				return
			}
		}
	}
}

// cutBytes cuts a varint length and that many bytes off b; -1 gives nil.
func cutBytes(b []byte) (v, rest []byte, ok bool) {
	n, size := binary.Varint(b)
	if size <= 0 || n < -1 {
		return nil, nil, false
	}
	b = b[size:]
	if n < 0 {
		return nil, b, true
	}
	if n > int64(len(b)) {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}
