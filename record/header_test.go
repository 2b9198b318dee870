package record

import (
	"bytes"
	"errors"
	"testing"
)

func TestHeaders(t *testing.T) {
	f := func(hs ...Header) {
		t.Helper()
		h := NewHeaders(hs...)
		if err := h.Validate(); err != nil {
			t.Errorf("%q: %v", hs, err)
		}
		if h.Len() != len(hs) {
			t.Errorf("%q: length %d", hs, h.Len())
		}
		i := 0
		for got := range h.All() {
			want := hs[i]
			if !bytes.Equal(got.Key, want.Key) || !bytes.Equal(got.Value, want.Value) || (got.Value == nil) != (want.Value == nil) {
				t.Errorf("header %d is %q, want %q", i, got, want)
			}
			i++
		}
		if i != len(hs) {
			t.Errorf("%d of %d headers", i, len(hs))
		}
	}
	f()                                             // none
	f(Header{Key: []byte("k"), Value: []byte("v")}) // one
	f(Header{Key: []byte("k")})                     // a null value
	f(Header{Key: []byte("k"), Value: []byte{}})    // an empty value, which is not null
	f(Header{Key: []byte{}, Value: []byte("v")})    // an empty key
	// A key that repeats, in order; a value whose length takes two bytes.
	f(Header{Key: []byte("k"), Value: []byte("2")}, Header{Key: []byte("k"), Value: []byte("1")},
		Header{Key: []byte("long"), Value: bytes.Repeat([]byte("x"), 300)})
}

// No headers are nil, so that none and none are equal.
func TestNoHeaders(t *testing.T) {
	if h := NewHeaders(); h != nil {
		t.Errorf("got %x", []byte(h))
	}
}

// An iteration may stop early.
func TestHeadersStop(t *testing.T) {
	n := 0
	for range NewHeaders(Header{Key: []byte("a")}, Header{Key: []byte("b")}).All() {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d iterations", n)
	}
}

func TestMalformedHeaders(t *testing.T) {
	f := func(name string, h Headers, want string) {
		t.Helper()
		err := h.Validate()
		if !errors.Is(err, ErrHeaders) || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		for range h.All() { // must end, whatever it yields
		}
	}
	f("count without end", Headers{0x80}, "count: malformed record headers")
	f("negative count", Headers{0x01}, "count: malformed record headers")
	f("more than there are bytes", Headers{0x08, 0x00}, "count: malformed record headers")
	f("no key", Headers{0x02}, "key of header 0: malformed record headers")
	f("null key", Headers{0x02, 0x01, 0x01}, "key of header 0: malformed record headers")
	f("key cut off", Headers{0x02, 0x04, 'k'}, "key of header 0: malformed record headers")
	f("no value", Headers{0x02, 0x02, 'k'}, "value of header 0: malformed record headers")
	f("value shorter than null", Headers{0x02, 0x02, 'k', 0x03}, "value of header 0: malformed record headers")
	f("second header cut off", Headers{0x04, 0x02, 'k', 0x00, 0x02}, "key of header 1: malformed record headers")
	f("bytes after the last", Headers{0x00, 0x00}, "1 bytes after the last: malformed record headers")
}

// Headers that pass Validate are read whole, and encode to the same headers.
func FuzzHeaders(f *testing.F) {
	f.Add([]byte(NewHeaders(Header{Key: []byte("k"), Value: []byte("v")}, Header{Key: []byte{}})))
	f.Add([]byte{0x02, 0x01, 0x01})
	f.Add([]byte{0x00})
	f.Add([]byte{0xfe, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, data []byte) {
		h := Headers(data)
		var hs []Header
		for x := range h.All() {
			hs = append(hs, x)
		}
		if h.Validate() != nil {
			return
		}
		if len(hs) != h.Len() {
			t.Fatalf("%d headers, length says %d", len(hs), h.Len())
		}
		again := NewHeaders(hs...)
		if again.Validate() != nil || again.Len() != len(hs) {
			t.Fatalf("%x became %x", data, []byte(again))
		}
		i := 0
		for x := range again.All() {
			if !bytes.Equal(x.Key, hs[i].Key) || !bytes.Equal(x.Value, hs[i].Value) || (x.Value == nil) != (hs[i].Value == nil) {
				t.Fatalf("header %d: %q became %q", i, hs[i], x)
			}
			i++
		}
	})
}
