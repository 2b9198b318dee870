package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/store"
)

var place = Place{Driver: "s3", Endpoint: "http://host:9000", Bucket: "lake"}

// Which answers to which calls are errors that callers branch on.
func TestSentinels(t *testing.T) {
	f := func(op string, cond store.Cond, status int, code string, want error) {
		t.Helper()
		ctx := t.Context()
		err := place.Explain(ctx, ctx, Call{Op: op, Key: "k", Cond: cond}, Failure{Status: status, Code: code})
		for _, sentinel := range []error{store.ErrConflict, store.ErrNotExist} {
			if errors.Is(err, sentinel) != (sentinel == want) {
				t.Errorf("%s: %d %s: err %v, want %v", op, status, code, err, want)
			}
		}
	}
	none := store.Cond{}
	f("get", none, 404, "NoSuchKey", store.ErrNotExist)
	// A HEAD has no body to say more.
	f("stat", none, 404, "NotFound", store.ErrNotExist)
	f("stat", none, 404, "", store.ErrNotExist)
	f("get", none, 404, "NoSuchBucket", nil)
	// A key that the store does not know is no object that is not there.
	f("get", none, 404, "InvalidAccessKeyId", nil)
	f("list", none, 404, "InvalidAccessKeyId", nil)
	f("list", none, 404, "NoSuchKey", nil)
	f("put", store.IfMatch("e"), 404, "InvalidAccessKeyId", nil)
	f("get", none, 412, "PreconditionFailed", nil)
	for _, cond := range []store.Cond{store.IfAbsent(), store.IfMatch("e")} {
		f("put", cond, 412, "PreconditionFailed", store.ErrConflict)
		f("put", cond, 409, "ConditionalRequestConflict", store.ErrConflict)
		f("put", cond, 304, "", store.ErrConflict)
		f("put", cond, 404, "NoSuchBucket", nil)
		f("put", cond, 501, "NotImplemented", nil)
		f("put", cond, 500, "InternalError", nil)
	}
	f("put", store.IfMatch("e"), 404, "NoSuchKey", store.ErrConflict)
	f("put", store.IfAbsent(), 404, "NoSuchKey", nil)
	f("put", store.Blind(), 409, "OperationAborted", nil)
	f("put", store.Blind(), 412, "PreconditionFailed", nil)
}

// Without an answer: whose time is over, or what is wrong with the network.
func TestNoAnswer(t *testing.T) {
	live := t.Context()
	over, cancel := context.WithCancel(live)
	cancel()
	late, cancelLate := context.WithCancelCause(live)
	cancelLate(errors.New("no answer within 1m0s"))
	f := func(ctx, call context.Context, err error, want string) {
		t.Helper()
		got := place.Explain(ctx, call, Call{Op: "get", Key: "k"}, Failure{Err: err})
		if !strings.Contains(got.Error(), want) || strings.Contains(got.Error(), "\n") || strings.Contains(got.Error(), "secret") {
			t.Errorf("%v, want one line with %q", got, want)
		}
	}
	f(over, over, io.ErrUnexpectedEOF, context.Canceled.Error())
	f(live, late, io.ErrUnexpectedEOF, "s3 bucket lake at http://host:9000: no answer within 1m0s")
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	f(live, live, &url.Error{Op: "Get", URL: "http://h/?X-Amz-Signature=secret", Err: dial}, "cannot reach it: connection refused")
	f(live, live, &url.Error{Op: "Get", URL: "http://h/?X-Amz-Signature=secret", Err: io.EOF}, "no whole answer: EOF")
	f(live, live, &net.DNSError{Name: "nowhere"}, "cannot find the host nowhere")
	f(live, live, &tls.CertificateVerificationError{Err: errors.New("unknown\nauthority")}, "not trusted: unknown authority")
	f(live, live, tls.RecordHeaderError{Msg: "x"}, "does not speak TLS")
	f(live, live, errors.New(strings.Repeat("long\n", 1000)), "long long ...")
}

// What to do is said where it is known.
func TestAdvice(t *testing.T) {
	f := func(status int, code, want string) {
		t.Helper()
		ctx := t.Context()
		err := place.Explain(ctx, ctx, Call{Op: "list", Key: "p/"}, Failure{Status: status, Code: code, Message: "said\nthis"})
		if !strings.HasPrefix(err.Error(), "list p/: s3 bucket lake at http://host:9000: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%d %s: %v, want %q", status, code, err, want)
		}
		if !strings.Contains(err.Error(), "said this") {
			t.Errorf("%v does not say what the store said", err)
		}
	}
	f(403, "AccessDenied", "access is denied")
	f(401, "", "access is denied")
	f(400, "ExpiredToken", "has expired")
	f(403, "SignatureDoesNotMatch", "the secret key is wrong")
	f(403, "RequestTimeTooSkewed", "clock")
	f(400, "BadDigest", "damaged")
	f(301, "", "check s3.endpoint and s3.region")
	f(413, "EntityTooLarge", "batch.max_bytes")
	f(429, "", "busy")
	f(503, "SlowDown", "busy")
	// Nothing is known of this one, so only what was said.
	f(418, "Teapot", "HTTP 418 Teapot (said this)")
}

func TestIgnoreAbsent(t *testing.T) {
	ctx := t.Context()
	absent := place.Explain(ctx, ctx, Call{Op: "delete", Key: "k"}, Failure{Status: 404, Code: "NoSuchKey"})
	if err := IgnoreAbsent(absent); err != nil {
		t.Error(err)
	}
	if err := IgnoreAbsent(io.EOF); err != io.EOF {
		t.Errorf("err %v", err)
	}
}

func TestNoCredentials(t *testing.T) {
	err := place.NoCredentials(Call{Op: "put", Key: "k"}, "set X")
	if want := "put k: s3 bucket lake at http://host:9000: there are no credentials: set X"; err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// endless is an answer that does not end.
type endless struct{ status int }

func (e endless) Read(p []byte) (int, error) { return len(p), nil }
func (e endless) Close() error               { return nil }

func (e endless) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: e.status, Body: e}, nil
}

// Lists and errors are cut, objects are not.
func TestGuardBounds(t *testing.T) {
	f := func(method, url string, status int, limited bool) {
		t.Helper()
		r, err := http.NewRequest(method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := Guard(endless{status}).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer+1))
		if (err != nil) != limited || (n == maxAnswer) != limited {
			t.Errorf("%s %s %d: %d bytes, err %v, want limited %v", method, url, status, n, err, limited)
		}
	}
	f("GET", "http://h/b/k", 200, false)
	f("GET", "http://h/b/k?x-id=GetObject", 206, false)
	f("GET", "http://h/b/k?x-id=GetObject", 404, true)
	f("GET", "http://h/b?list-type=2&prefix=p", 200, true)
	f("PUT", "http://h/b/k", 200, true)
}

// said is a transport that answers one thing.
type said struct {
	status     int
	etag, body string
}

func (s said) RoundTrip(*http.Request) (*http.Response, error) {
	h := http.Header{}
	if s.etag != "" {
		h.Set("ETag", s.etag)
	}
	return &http.Response{StatusCode: s.status, Header: h, Body: io.NopCloser(strings.NewReader(s.body)), ContentLength: int64(len(s.body))}, nil
}

// A PUT of an object counts as done on a clear answer only (B42).
func TestGuardClear(t *testing.T) {
	f := func(method, meta string, answer said, status int, body string) {
		t.Helper()
		r, err := http.NewRequest(method, "http://h/b/k", nil)
		if err != nil {
			t.Fatal(err)
		}
		if meta != "" {
			r.Header.Set("x-amz-meta-sha256", meta)
		}
		resp, err := Guard(answer).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status || !strings.Contains(string(got), body) || int64(len(got)) != resp.ContentLength {
			t.Errorf("%s %+v: %d %q, %d bytes, err %v, want %d %q", method, answer, resp.StatusCode, got, resp.ContentLength, err, status, body)
		}
	}
	const failed = "<Error><Code>InternalError</Code></Error>"
	f("PUT", "00", said{200, `"e"`, ""}, 200, "")
	// Some stores say something all the same.
	f("PUT", "00", said{200, `"e"`, "<PutObjectResult/>"}, 200, "<PutObjectResult/>")
	// The error in the body, whatever the header says.
	f("PUT", "00", said{200, "", failed}, 502, failed)
	f("PUT", "00", said{200, `"e"`, "<?xml version=\"1.0\"?>\n" + failed}, 502, failed)
	// Nothing at all, or the page of a proxy.
	f("PUT", "00", said{200, "", ""}, 502, "no ETag")
	f("PUT", "00", said{204, "", "<html>"}, 502, "no ETag")
	// What is an error stays that error.
	f("PUT", "00", said{412, "", failed}, 412, failed)
	// A bucket is made, an object read or removed without an ETag.
	f("PUT", "", said{200, "", ""}, 200, "")
	f("GET", "", said{200, "", failed}, 200, failed)
	f("DELETE", "", said{204, "", ""}, 204, "")
}

// Which answers may be about the header of the checksum, and which are about
// credentials that were good once.
func TestFailureKinds(t *testing.T) {
	f := func(status int, code string, noChecksum, expired bool) {
		t.Helper()
		got := Failure{Status: status, Code: code}
		if got.NoChecksum() != noChecksum || got.Expired() != expired {
			t.Errorf("%d %s: no checksum %v, expired %v", status, code, got.NoChecksum(), got.Expired())
		}
	}
	f(400, "InvalidArgument", true, false)
	f(400, "XAmzContentSHA256Mismatch", true, false)
	f(400, "", true, false)
	f(501, "NotImplemented", true, false)
	// The body is not what the header says: it must not pass without it.
	f(400, "BadDigest", false, false)
	f(400, "XAmzContentChecksumMismatch", false, false)
	f(400, "InvalidDigest", false, false)
	f(403, "SignatureDoesNotMatch", false, false)
	f(500, "InternalError", false, false)
	f(412, "PreconditionFailed", false, false)
	f(0, "", false, false)
	f(400, "ExpiredToken", false, true)
	f(403, "ExpiredToken", false, true)
	f(403, "TokenRefreshRequired", false, true)
}
