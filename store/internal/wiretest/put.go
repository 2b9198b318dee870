package wiretest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/fakes3"
)

// onlyPut puts once and returns the one request of it.
func (d driver) onlyPut(t *testing.T, body string, cond store.Cond) *http.Request {
	t.Helper()
	f := &fakes3.Server{}
	s := d.open(t, f, nil)
	_, err := s.Put(t.Context(), "k", []byte(body), cond)
	if _, match := cond.ETag(); err != nil && !match {
		t.Fatal(err)
	}
	puts := f.Requests(http.MethodPut)
	if len(puts) != 1 {
		t.Fatalf("%d requests for one put", len(puts))
	}
	return puts[0]
}

// What a PUT is on the wire: its condition, one checksum, a plain body.
func (d driver) putOnTheWire(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 17<<16) // above the part size of minio-go
	f := func(name, body string, cond store.Cond, want map[string]string) {
		t.Helper()
		r := d.onlyPut(t, body, cond)
		sum := sha256.Sum256([]byte(body))
		want["X-Amz-Checksum-Sha256"] = base64.StdEncoding.EncodeToString(sum[:])
		want["X-Amz-Meta-Sha256"] = hex.EncodeToString(sum[:])
		want["X-Amz-Content-Sha256"] = "UNSIGNED-PAYLOAD"
		for _, header := range []string{
			"If-None-Match", "If-Match", "X-Amz-Checksum-Sha256", "X-Amz-Meta-Sha256", "X-Amz-Content-Sha256",
			"Content-Encoding", "X-Amz-Trailer", "X-Amz-Checksum-Crc32", "X-Amz-Checksum-Crc32c", "X-Amz-Decoded-Content-Length",
		} {
			if got := strings.Join(r.Header.Values(header), ", "); got != want[header] {
				t.Errorf("%s: %s is %q, want %q", name, header, got, want[header])
			}
		}
		if r.ContentLength != int64(len(body)) || len(r.TransferEncoding) > 0 || r.URL.Path != "/"+fakes3.Bucket+"/k" {
			t.Errorf("%s: %d bytes, encoding %v, path %s", name, r.ContentLength, r.TransferEncoding, r.URL.Path)
		}
		if r.URL.Query().Has("uploads") || r.URL.Query().Has("uploadId") {
			t.Errorf("%s: a multipart upload", name)
		}
	}
	// Created once.
	f("absent", "body", store.IfAbsent(), map[string]string{"If-None-Match": "*"})
	// A head, with the ETag as the store gave it.
	f("match", "body", store.IfMatch(`"abc"`), map[string]string{"If-Match": `"abc"`})
	// No condition.
	f("blind", "body", store.Blind(), map[string]string{})
	// An empty body has a checksum too.
	f("empty", "", store.IfAbsent(), map[string]string{"If-None-Match": "*"})
	// A large one keeps the condition, in one request.
	f("large", large, store.IfAbsent(), map[string]string{"If-None-Match": "*"})
}

// What cannot be an ETag of an object is a conflict and is never sent: the
// header would be left out, or match any object.
func (d driver) noETag(t *testing.T) {
	f := &fakes3.Server{}
	s := d.open(t, f, nil)
	for _, etag := range []string{"", `""`, "*", `"*"`, "a\r\nIf-Match: b"} {
		if _, err := s.Put(t.Context(), "k", nil, store.IfMatch(etag)); !errors.Is(err, store.ErrConflict) {
			t.Errorf("etag %q: err %v, want %v", etag, err, store.ErrConflict)
		}
	}
	if n := len(f.Requests(http.MethodPut)); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// A head is sent once, whatever is answered, but for 501: it did not take
// effect, and is sent once more without the header of the checksum. What is
// created once may be sent again. 409, 412 and 304 say that the condition does not hold, 404 too under
// If-Match; after anything else it is unknown what was written.
func (d driver) putAnswers(t *testing.T) {
	f := func(status int, code string, cond store.Cond, conflict bool) {
		t.Helper()
		srv := &fakes3.Server{Meddle: func(w http.ResponseWriter, r *http.Request) bool {
			fakes3.Error(w, status, code, "injected")
			return true
		}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := d.open(t, srv, func(c *Config) { c.Transport = stopAfter(2, cancel) })
		_, err := s.Put(ctx, "k", nil, cond)
		if err == nil || errors.Is(err, store.ErrConflict) != conflict {
			t.Errorf("%d %s: err %v, conflict %v", status, code, err, conflict)
		}
		_, match := cond.ETag()
		most := 1
		if status == http.StatusNotImplemented {
			most = 2
		}
		if n := len(srv.Requests(http.MethodPut)); n > most && (match || conflict) {
			t.Errorf("%d %s: sent %d times", status, code, n)
		}
	}
	match := store.IfMatch("e")
	for _, cond := range []store.Cond{match, store.IfAbsent()} {
		f(http.StatusPreconditionFailed, "PreconditionFailed", cond, true)
		f(http.StatusConflict, "ConditionalRequestConflict", cond, true)
		f(http.StatusNotModified, "NotModified", cond, true)
		f(http.StatusNotFound, "NoSuchBucket", cond, false)
		f(http.StatusServiceUnavailable, "SlowDown", cond, false)
		f(http.StatusInternalServerError, "InternalError", cond, false)
		f(http.StatusNotImplemented, "NotImplemented", cond, false)
		f(http.StatusForbidden, "AccessDenied", cond, false)
	}
	f(http.StatusNotFound, "NoSuchKey", match, true)
	f(http.StatusNotFound, "NoSuchKey", store.IfAbsent(), false)
	f(http.StatusConflict, "OperationAborted", store.Blind(), false)
}

// The answer to a head that took effect is lost: the caller must hear neither
// success nor conflict. What is created once is sent again and meets itself.
func (d driver) lostAnswer(t *testing.T) {
	f := &fakes3.Server{}
	first, err := d.open(t, f, nil).Put(t.Context(), "head", []byte("1"), store.IfAbsent())
	if err != nil {
		t.Fatal(err)
	}
	s := d.open(t, f, func(c *Config) { c.Transport = lose() })
	_, err = s.Put(t.Context(), "head", []byte("2"), store.IfMatch(first.ETag))
	if err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("if match: err %v, want unknown", err)
	}
	if o, err := s.Get(t.Context(), "head", store.Span{}); err != nil || string(o.Body) != "2" {
		t.Errorf("the head is %q, err %v", o.Body, err)
	}
	s = d.open(t, f, func(c *Config) { c.Transport = lose() })
	if _, err := s.Put(t.Context(), "data", nil, store.IfAbsent()); !errors.Is(err, store.ErrConflict) {
		t.Errorf("if absent: err %v, want the conflict with itself", err)
	}
}

// The SHA-256 comes from the store, or else from our metadata.
func (d driver) statSHA256(t *testing.T) {
	sum := sha256.Sum256([]byte("body"))
	for _, none := range []bool{false, true} {
		s := d.open(t, &fakes3.Server{NoChecksum: none}, nil)
		if _, err := s.Put(t.Context(), "k", []byte("body"), store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
		i, err := s.Stat(t.Context(), "k")
		if err != nil || i.SHA256 == nil || *i.SHA256 != sum {
			t.Errorf("no checksum %v: sha256 %x, err %v, want %x", none, i.SHA256, err, sum)
		}
	}
}
