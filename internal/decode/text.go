package decode

import (
	"bytes"
	"encoding/base64"
	"unicode/utf16"
	"unicode/utf8"
)

// notHex marks bytes that are no hex digits.
const notHex = 0xFF

var hexDigit = func() (t [256]byte) {
	for i := range t {
		t[i] = notHex
	}
	for i := range byte(10) {
		t['0'+i] = i
	}
	for i := range byte(6) {
		t['a'+i], t['A'+i] = 10+i, 10+i
	}
	return t
}()

// Arena holds bytes that are not a part of the text that was scanned. Slices
// of it are good until Reset.
type Arena struct{ b []byte }

// Reset makes room again. It ends the life of what was taken before.
func (a *Arena) Reset() { a.b = a.b[:0] }

// since returns what was added from a length on.
func (a *Arena) since(n int) []byte { return a.b[n:len(a.b):len(a.b)] }

// Chars returns the characters of a string token. The reason is "" unless they
// cannot be stored as text.
func (t Token) Chars(a *Arena) ([]byte, Reason) {
	if t.Kind != String {
		return nil, NoFit
	}
	text := t.Text[1 : len(t.Text)-1]
	if t.flags&escaped != 0 {
		n := len(a.b)
		var whole bool
		if a.b, whole = unescape(a.b, text); !whole {
			return nil, BadText
		}
		text = a.since(n)
	}
	if t.flags&nonASCII != 0 && !utf8.Valid(text) {
		return nil, BadText
	}
	return text, ""
}

// JSON returns the text of any value, byte for byte. The reason is "" unless a
// reader of JSON could not turn its strings into text.
func (t Token) JSON() ([]byte, Reason) {
	if !readable(t.Text, t.flags) {
		return nil, BadText
	}
	return t.Text, ""
}

// readable reports whether the strings in a JSON text are whole characters.
// The flags say what to look for.
func readable(text []byte, flags uint8) bool {
	return (flags&nonASCII == 0 || utf8.Valid(text)) && (flags&escaped == 0 || wholePairs(text))
}

// wholePairs reports whether each escape of a surrogate in a JSON text, which
// is valid but for that, is the first or the second half of a pair.
func wholePairs(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return true
		}
		if text = text[i+1:]; text[0] != 'u' {
			text = text[1:]
			continue
		}
		r := hex4(text[1:])
		text = text[5:]
		if !utf16.IsSurrogate(r) {
			continue
		}
		if len(text) < 6 || text[0] != '\\' || text[1] != 'u' || utf16.DecodeRune(r, hex4(text[2:])) == utf8.RuneError {
			return false
		}
		text = text[6:]
	}
}

// Binary returns the bytes that a string token holds in base64 (RFC 4648,
// section 4), with or without padding.
func (t Token) Binary(a *Arena) ([]byte, Reason) {
	text, r := t.Chars(a)
	if r != "" {
		return nil, r
	}
	if len(text)%4 == 0 {
		for range 2 {
			text = bytes.TrimSuffix(text, []byte("="))
		}
	}
	if bytes.ContainsAny(text, "\r\n") {
		return nil, NoFit // the decoder would skip them
	}
	n := len(a.b)
	var err error
	if a.b, err = base64.RawStdEncoding.Strict().AppendDecode(a.b, text); err != nil {
		return nil, NoFit
	}
	return a.since(n), ""
}

// UUID returns the 16 bytes of a UUID: 8-4-4-4-12 hex digits, or 32 of them,
// with urn:uuid: in front or in braces.
func (t Token) UUID(a *Arena) ([]byte, Reason) {
	text, r := t.Chars(a)
	if r != "" {
		return nil, r
	}
	const urn = "urn:uuid:"
	switch {
	case len(text) == len(urn)+36 && string(text[:len(urn)]) == urn:
		text = text[len(urn):]
	case len(text) == 38 && text[0] == '{' && text[37] == '}':
		text = text[1:37]
	}
	dashes := len(text) == 36
	if !dashes && len(text) != 32 {
		return nil, NoFit
	}
	n := len(a.b)
	for i := 0; i < len(text); i += 2 {
		if dashes && (i == 8 || i == 13 || i == 18 || i == 23) {
			if text[i] != '-' {
				return nil, NoFit
			}
			i++
		}
		hi, lo := hexDigit[text[i]], hexDigit[text[i+1]]
		if hi == notHex || lo == notHex {
			return nil, NoFit
		}
		a.b = append(a.b, hi<<4|lo)
	}
	return a.since(n), ""
}

// simple are the characters behind a backslash that stand for one other.
var simple = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape appends the characters of the inside of a string that was scanned.
// whole is false for half a surrogate pair.
func unescape(dst, text []byte) (out []byte, whole bool) {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			dst = append(dst, text[i])
			continue
		}
		i++
		if text[i] != 'u' {
			dst = append(dst, simple[text[i]])
			continue
		}
		r := hex4(text[i+1:])
		i += 4
		if utf16.IsSurrogate(r) {
			if len(text)-i <= 6 || text[i+1] != '\\' || text[i+2] != 'u' {
				return dst, false
			}
			if r = utf16.DecodeRune(r, hex4(text[i+3:])); r == utf8.RuneError {
				return dst, false
			}
			i += 6
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, true
}

func hex4(b []byte) (r rune) {
	for _, c := range b[:4] {
		r = r<<4 | rune(hexDigit[c])
	}
	return r
}
