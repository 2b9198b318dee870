package wire

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/store"
)

func TestNewPlace(t *testing.T) {
	f := func(bucket, prefix, want string, ok bool) {
		t.Helper()
		p, err := NewPlace("s3", "", bucket, prefix)
		if (err == nil) != ok || ok && p.Prefix != want {
			t.Errorf("%q, %q: prefix %q, err %v", bucket, prefix, p.Prefix, err)
		}
	}
	f("lake", "", "", true)
	f("lake", "raw", "raw/", true)
	// Slashes at the ends do not count.
	f("lake", "/raw/a b/", "raw/a b/", true)
	f("lake", "raw//a", "", false)
	f("lake", "../raw", "", false)
	f("la", "", "", false)
	f(strings.Repeat("l", 64), "", "", false)
	f("lake/raw", "", "", false)
}

func TestName(t *testing.T) {
	p := Place{Prefix: "raw/"}
	if name, err := p.Name("k"); err != nil || name != "raw/k" {
		t.Errorf("name %q, err %v", name, err)
	}
	// A key that is no key, and one that is too long together with the prefix.
	for _, key := range []string{"", "../k", strings.Repeat("k", store.MaxKey-2)} {
		if _, err := p.Name(key); err == nil {
			t.Errorf("%.10q... passed", key)
		}
	}
}

func TestEndpoint(t *testing.T) {
	f := func(address, want string) {
		t.Helper()
		u, err := Endpoint("s3", address)
		if (err == nil) != (want != "") || err == nil && u.String() != want {
			t.Errorf("%q: %v, err %v, want %q", address, u, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error tells the secret: %v", address, err)
		}
	}
	f("http://localhost:9000", "http://localhost:9000")
	f("https://s3.example.com/", "https://s3.example.com")
	// Without a scheme: TLS.
	f("s3.example.com:9000", "https://s3.example.com:9000")
	f("", "")
	f("http://", "")
	f("ftp://host", "")
	f("http://user:secret@host", "")
	f("http://host/bucket", "")
	f("http://host?x=secret", "")
	f("http://ho st:secret", "")
}

func TestETag(t *testing.T) {
	f := func(etag string, ok bool) {
		t.Helper()
		if got, gotOK := ETag(etag); gotOK != ok || ok && got != etag {
			t.Errorf("%q: %q, %v", etag, got, gotOK)
		}
	}
	f(`"d41d8cd98f00b204e9800998ecf8427e"`, true)
	f(`d41d8cd98f00b204e9800998ecf8427e-2`, true)
	f("", false)
	f(`""`, false)
	f("*", false)
	f(`"*"`, false)
	f("a\r\nx: y", false)
	f(`a", "b`, false)
}

func TestRange(t *testing.T) {
	f := func(span store.Span, want string) {
		t.Helper()
		if got := Range(span); got != want {
			t.Errorf("%+v: %q, want %q", span, got, want)
		}
	}
	f(store.Span{}, "")
	f(store.Span{Offset: 3}, "bytes=3-")
	f(store.Span{Length: 4}, "bytes=0-3")
	f(store.Span{Offset: 3, Length: 4}, "bytes=3-6")
	// From the end; the length is cut off when it has come.
	f(store.Span{Offset: -8}, "bytes=-8")
	f(store.Span{Offset: -8, Length: 4}, "bytes=-8")
	// Lengths whose sum would overflow.
	f(store.Span{Offset: 1, Length: 1<<63 - 1}, "bytes=1-")
	f(store.Span{Offset: -1 << 63}, "bytes=-9223372036854775808")
}

func TestPart(t *testing.T) {
	f := func(body string, length int64, contentRange string, span store.Span, want string, size int64) {
		t.Helper()
		part, n, err := Part(strings.NewReader(body), length, contentRange, span)
		if (err == nil) != (size >= 0) || err == nil && (string(part) != want || n != size) {
			t.Errorf("%q of %d, %q, %+v: %q of %d, err %v; want %q of %d", body, length, contentRange, span, part, n, err, want, size)
		}
	}
	// The whole body, with its length said or not.
	f("0123456789", 10, "", store.Span{}, "0123456789", 10)
	f("0123456789", -1, "", store.Span{}, "0123456789", 10)
	// A part.
	f("345", 3, "bytes 3-5/10", store.Span{Offset: 3, Length: 3}, "345", 10)
	// The end, cut, and cut where the body is shorter.
	f("789", 3, "bytes 7-9/10", store.Span{Offset: -3, Length: 2}, "78", 10)
	f("0123456789", 10, "bytes 0-9/10", store.Span{Offset: -20, Length: 2}, "01", 10)
	// A server that does not know ranges.
	f("0123456789", 10, "", store.Span{Offset: 3, Length: 3}, "345", 10)
	// An empty object.
	f("", 0, "bytes 0--1/0", store.Span{Offset: -8}, "", 0)
	// Another part than the one asked for, or less.
	f("012", 3, "bytes 0-2/10", store.Span{Offset: 3, Length: 3}, "", -1)
	f("34", 2, "bytes 3-4/10", store.Span{Offset: 3, Length: 3}, "", -1)
	// A cut connection.
	f("0123", 10, "", store.Span{}, "", -1)
	// Nonsense, and more than an object can have.
	f("0", 1, "bytes x-y/z", store.Span{Length: 1}, "", -1)
	f("0", 1, "items 0-0/1", store.Span{Length: 1}, "", -1)
	f("0", MaxBody+1, "", store.Span{}, "", -1)
}

// Whatever a server says, a part is the one that was asked for, or an error.
func FuzzPart(f *testing.F) {
	f.Add([]byte("345"), int64(3), "bytes 3-5/10", int64(3), int64(3))
	f.Add([]byte("789"), int64(-1), "bytes 7-9/10", int64(-3), int64(0))
	f.Fuzz(func(t *testing.T, body []byte, length int64, contentRange string, offset, n int64) {
		span := store.Span{Offset: offset, Length: n}
		part, size, err := Part(bytes.NewReader(body), min(length, 1<<20), contentRange, span)
		if err != nil {
			return
		}
		if from, to := span.Bounds(size); int64(len(part)) != to-from {
			t.Fatalf("%d bytes for [%d, %d) of %d", len(part), from, to, size)
		}
	})
}

func TestSum(t *testing.T) {
	a, b := sha256.Sum256([]byte("a")), sha256.Sum256([]byte("b"))
	f := func(checksum, meta string, want *[sha256.Size]byte) {
		t.Helper()
		got := Sum(checksum, meta)
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%q, %q: %x, want %x", checksum, meta, got, want)
		}
	}
	base, hexa := base64.StdEncoding.EncodeToString(a[:]), hex.EncodeToString(b[:])
	f(base, "", &a)
	f("", hexa, &b)
	// What the store checked itself counts more.
	f(base, hexa, &a)
	// A sum of the sums of parts, and nonsense.
	f(base+"-2", "", nil)
	f(base+"-2", hexa, &b)
	f("", "xyz", nil)
	f("", "", nil)
}

func TestLister(t *testing.T) {
	l := &Lister{Place: Place{Prefix: "raw/"}, Prefix: "a", After: "a1"}
	if got := l.StartAfter(); got != "raw/a1" {
		t.Errorf("starts after %q", got)
	}
	f := func(name, key string, ok, good bool) {
		t.Helper()
		gotKey, gotOK, err := l.Key(name)
		if gotOK != ok || (err == nil) != good || ok && gotKey != key {
			t.Errorf("%q: %q, %v, err %v", name, gotKey, gotOK, err)
		}
	}
	// Servers that ignore where to begin.
	f("raw/a0", "", false, true)
	f("raw/a1", "", false, true)
	f("raw/a2", "a2", true, true)
	// The mark of a folder, made by a console.
	f("raw/a3/", "", false, true)
	// Out of order, or twice, or not asked for.
	f("raw/a2", "", false, false)
	f("raw/a3/", "", false, false)
	f("raw/b", "", false, false)
	f("other/a4", "", false, false)
	if (&Lister{Place: Place{Prefix: "raw/"}}).StartAfter() != "" {
		t.Error("a list from the beginning starts after something")
	}
}

// A whole body is compared with its SHA-256, if there is one.
func TestCheck(t *testing.T) {
	sum := sha256.Sum256([]byte("body"))
	f := func(body string, span store.Span, sum *[sha256.Size]byte, ok bool) {
		t.Helper()
		err := Check([]byte(body), span, sum)
		if (err == nil) != ok || err != nil && !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%q %v: err %v, want ok %v", body, span, err, ok)
		}
	}
	f("body", store.Span{}, &sum, true)
	f("bodz", store.Span{}, &sum, false)
	f("", store.Span{}, &sum, false)
	// A part, and an object of somebody else.
	f("od", store.Span{Offset: 1, Length: 2}, &sum, true)
	f("bodz", store.Span{}, nil, true)
}

// Only a body that did not come whole is asked for again, once.
func TestAgain(t *testing.T) {
	p, call := Place{Driver: "s3", Bucket: "lake"}, Call{Op: "get", Key: "k"}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	f := func(ctx context.Context, err error, want int) {
		t.Helper()
		calls := 0
		_, got := Again(ctx, func() (store.Object, error) { calls++; return store.Object{}, err })
		if calls != want || got != err {
			t.Errorf("%v: %d calls, err %v, want %d", err, calls, got, want)
		}
	}
	ctx := t.Context()
	f(ctx, nil, 1)
	f(ctx, store.ErrNotExist, 1)
	f(ctx, p.BadBody(ctx, ctx, call, io.ErrUnexpectedEOF), 2)
	// The time of the call is over, or the caller has gone.
	f(ctx, p.BadBody(ctx, gone, call, io.ErrUnexpectedEOF), 1)
	f(gone, p.BadBody(ctx, ctx, call, io.ErrUnexpectedEOF), 1)
	if err := p.BadBody(ctx, ctx, call, io.ErrUnexpectedEOF); err.Error() != "get k: s3 bucket lake: no whole answer: unexpected EOF" {
		t.Error(err)
	}
}
