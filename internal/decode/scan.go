package decode

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// MaxDepth is how deep arrays and objects may nest. It bounds the stack, and
// is far above what producers write.
const MaxDepth = 1000

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds of values. The zero Kind is that of a member that is not there.
const (
	None Kind = iota
	Null
	False
	True
	Integer // a number of digits only, with or without a sign
	Number  // any other number
	String
	Array
	Map // an object
)

// Flags of the bytes inside a token.
const (
	escaped  = 1 << iota // a string with a backslash
	nonASCII             // bytes above 0x7F
)

// Token is the text of one JSON value, quotes and brackets included. It is a
// part of the text that was scanned.
type Token struct {
	Text  []byte
	Kind  Kind
	flags uint8
}

// Absent reports whether the token is null or not there.
func (t Token) Absent() bool { return t.Kind <= Null }

// scanner checks JSON and finds where its values end. Its methods take the
// position of a value and return the position behind it, or -1 after fail.
type scanner struct {
	b     []byte
	depth int
	flags uint8 // of all that was scanned since they were cleared
	at    int   // of the failure
	deep  bool  // it is one of depth
}

func (s *scanner) fail(at int) int {
	s.at = at
	return -1
}

// reject describes the failure.
func (s *scanner) reject() *Reject {
	switch {
	case s.deep:
		return &Reject{TooDeep, fmt.Sprintf("more than %d levels at byte %d", MaxDepth, s.at)}
	case s.at >= len(s.b):
		return &Reject{BadJSON, fmt.Sprintf("ends at byte %d in the middle of a value", len(s.b))}
	}
	return &Reject{BadJSON, fmt.Sprintf("unexpected %q at byte %d", Quote(s.b[s.at:s.at+1]), s.at)}
}

// space returns the position of the first byte at or after i that is no white space.
func (s *scanner) space(i int) int {
	if i < len(s.b) && s.b[i] > ' ' { // what most producers write
		return i
	}
	return s.spaces(i)
}

func (s *scanner) spaces(i int) int {
	for i < len(s.b) && (s.b[i] == ' ' || s.b[i] == '\n' || s.b[i] == '\t' || s.b[i] == '\r') {
		i++
	}
	return i
}

// value scans one value and describes it in t.
func (s *scanner) value(i int, t *Token) int {
	if i >= len(s.b) {
		return s.fail(i)
	}
	start, outer := i, s.flags
	s.flags = 0
	switch c := s.b[i]; {
	case c == '"':
		t.Kind = String
		i = s.str(i + 1)
	case c == '-' || c-'0' <= 9:
		i = s.number(i, t)
	case c == '{':
		t.Kind = Map
		i = s.skip(i, '}')
	case c == '[':
		t.Kind = Array
		i = s.skip(i, ']')
	case c == 't':
		t.Kind = True
		i = s.literal(i, "true")
	case c == 'f':
		t.Kind = False
		i = s.literal(i, "false")
	case c == 'n':
		t.Kind = Null
		i = s.literal(i, "null")
	default:
		return s.fail(i)
	}
	if i >= 0 {
		t.Text, t.flags = s.b[start:i:i], s.flags
		s.flags |= outer
	}
	return i
}

func (s *scanner) literal(i int, want string) int {
	for k := range len(want) {
		if i+k >= len(s.b) || s.b[i+k] != want[k] {
			return s.fail(i + k)
		}
	}
	return i + len(want)
}

// enter counts a level of nesting.
func (s *scanner) enter(i int) bool {
	if s.depth++; s.depth > MaxDepth {
		s.deep = true
		s.fail(i)
		return false
	}
	return true
}

// skip scans an array or an object, which ends with end.
func (s *scanner) skip(i int, end byte) int {
	if !s.enter(i) {
		return -1
	}
	var t Token
	if i = s.space(i + 1); i < len(s.b) && s.b[i] == end {
		s.depth--
		return i + 1
	}
	for {
		if end == '}' {
			if i = s.key(i); i < 0 {
				return -1
			}
		}
		if i = s.value(i, &t); i < 0 {
			return -1
		}
		var more bool
		if i, more = s.comma(i, end); !more {
			s.depth--
			return i
		}
	}
}

// key scans the name of a member and its colon, up to the value.
func (s *scanner) key(i int) int {
	if i >= len(s.b) || s.b[i] != '"' {
		return s.fail(i)
	}
	if i = s.str(i + 1); i < 0 {
		return -1
	}
	return s.colon(i)
}

// colon scans from the end of a name to the value.
func (s *scanner) colon(i int) int {
	if i = s.space(i); i >= len(s.b) || s.b[i] != ':' {
		return s.fail(i)
	}
	return s.space(i + 1)
}

// comma scans what follows an element: a comma, and more is true, or the end.
func (s *scanner) comma(i int, end byte) (next int, more bool) {
	i = s.space(i)
	switch {
	case i >= len(s.b):
		return s.fail(i), false
	case s.b[i] == ',':
		return s.space(i + 1), true
	case s.b[i] == end:
		return i + 1, false
	}
	return s.fail(i), false
}

// number scans a number by the grammar of RFC 8259, section 6.
func (s *scanner) number(i int, t *Token) int {
	t.Kind = Integer
	if s.b[i] == '-' {
		i++
	}
	lead := i
	i = s.digits(i)
	if i == lead || s.b[lead] == '0' && i > lead+1 {
		return s.fail(min(i, lead+1))
	}
	if i < len(s.b) && s.b[i] == '.' {
		t.Kind = Number
		frac := i + 1
		if i = s.digits(frac); i == frac {
			return s.fail(i)
		}
	}
	if i < len(s.b) && s.b[i]|0x20 == 'e' {
		t.Kind = Number
		if i++; i < len(s.b) && (s.b[i] == '+' || s.b[i] == '-') {
			i++
		}
		exp := i
		if i = s.digits(exp); i == exp {
			return s.fail(i)
		}
	}
	return i
}

func (s *scanner) digits(i int) int {
	for i < len(s.b) && s.b[i]-'0' <= 9 {
		i++
	}
	return i
}

// The same byte in all eight places of a word.
const (
	ones = 0x0101010101010101
	tops = 0x80 * ones
)

// str scans a string from behind its opening quote to behind its closing one,
// eight bytes at a time. UTF-8 is checked later, and only of what is stored as text.
func (s *scanner) str(i int) int {
	b := s.b
	high := uint64(tops) // bytes above 0x7F matter until the first is seen
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^('"'*ones), w^('\\'*ones)
		// Each term has the top bit set at the first byte of its kind, if there
		// is one; only bits above that may be wrong.
		m := (w-' '*ones)&^w | (quote-ones)&^quote | (slash-ones)&^slash
		if m = m&tops | w&high; m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) / 8
		if b[i] >= 0x80 {
			s.flags |= nonASCII
			high = 0
			i++
			continue
		}
		next, done := s.special(i)
		if done || next < 0 {
			return next
		}
		i = next
	}
	for i < len(b) {
		if c := b[i]; c >= 0x80 {
			s.flags |= nonASCII
			i++
			continue
		}
		if c := b[i]; c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		next, done := s.special(i)
		if done || next < 0 {
			return next
		}
		i = next
	}
	return s.fail(i)
}

// special scans the byte of a string that is not plain text: the closing
// quote, and done is true, or an escape.
func (s *scanner) special(i int) (next int, done bool) {
	if s.b[i] == '"' {
		return i + 1, true
	}
	if s.b[i] != '\\' {
		return s.fail(i), false // control characters are to be escaped
	}
	s.flags |= escaped
	if i++; i >= len(s.b) {
		return s.fail(i), false
	}
	switch s.b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1, false
	case 'u':
		for range 4 {
			if i++; i >= len(s.b) || hexDigit[s.b[i]] == notHex {
				return s.fail(i), false
			}
		}
		return i + 1, false
	}
	return s.fail(i), false
}
