package s3_test

import (
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/fakes3"
	"github.com/lakeweir/lakeweir/store/s3"
)

// oneLine checks that an error is one line with the words, and without the key.
func oneLine(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", words)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v\nwant %q", err, word)
		}
	}
	if strings.ContainsAny(err.Error(), "\n\r") || strings.Contains(err.Error(), "SECRETTEST") || len(err.Error()) > 600 {
		t.Errorf("%q: want one line without a secret", err)
	}
}

// What a store refuses is said with what to do.
func TestRefused(t *testing.T) {
	f := func(status int, code, want string) {
		t.Helper()
		s := open(t, &fakes3.Server{Meddle: func(w http.ResponseWriter, r *http.Request) bool {
			fakes3.Error(w, status, code, "said by\nthe store")
			return true
		}}, nil)
		_, err := s.Put(t.Context(), "k", nil, store.IfMatch("e"))
		oneLine(t, err, "put k", "bucket lake", code, want)
		_, err = s.Get(t.Context(), "k", store.Span{})
		oneLine(t, err, "get k", "bucket lake", code, want)
	}
	f(http.StatusForbidden, "AccessDenied", "policy")
	f(http.StatusForbidden, "InvalidAccessKeyId", "check the credentials")
	f(http.StatusForbidden, "SignatureDoesNotMatch", "the secret key is wrong")
	f(http.StatusForbidden, "RequestTimeTooSkewed", "clock")
	f(http.StatusBadRequest, "AuthorizationHeaderMalformed", "set s3.region")
	f(http.StatusMovedPermanently, "PermanentRedirect", "set s3.region")
}

// A store without the header says which.
func TestNotImplemented(t *testing.T) {
	s := open(t, &fakes3.Server{Meddle: func(w http.ResponseWriter, r *http.Request) bool {
		fakes3.Error(w, http.StatusNotImplemented, "NotImplemented", "A header you provided implies functionality that is not implemented.")
		return true
	}}, nil)
	_, err := s.Put(t.Context(), "k", nil, store.IfMatch("e"))
	oneLine(t, err, "does not have If-Match", "single_writer")
}

// A bucket that is not there is named by every method that has an answer with a body.
func TestNoSuchBucket(t *testing.T) {
	s := open(t, &fakes3.Server{}, func(c *s3.Config) { c.Bucket = "puddle" })
	_, put := s.Put(t.Context(), "k", nil, store.IfAbsent())
	_, get := s.Get(t.Context(), "k", store.Span{})
	errs := []error{put, get, s.Delete(t.Context(), "k")}
	for _, err := range s.List(t.Context(), "", "") {
		errs = append(errs, err)
	}
	if len(errs) != 4 {
		t.Fatalf("%d errors, want 4", len(errs))
	}
	for _, err := range errs {
		oneLine(t, err, "bucket puddle", "no such bucket", "create it")
	}
}

// Nobody listens at the endpoint.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s := open(t, &fakes3.Server{}, func(c *s3.Config) { c.Endpoint = "http://" + l.Addr().String() })
	_, err = s.Put(t.Context(), "k", nil, store.IfMatch("e"))
	oneLine(t, err, l.Addr().String(), "cannot reach it", "check its address")
}

// A store that does not answer in time.
func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	s := open(t, &fakes3.Server{Meddle: func(http.ResponseWriter, *http.Request) bool { <-release; return true }},
		func(c *s3.Config) { c.Timeout = time.Millisecond })
	_, err := s.Put(t.Context(), "k", nil, store.IfMatch("e"))
	oneLine(t, err, "no answer within 1ms")
	_, err = s.Get(t.Context(), "k", store.Span{})
	oneLine(t, err, "no answer within 1ms")
	for _, err := range s.List(t.Context(), "", "") {
		oneLine(t, err, "no answer within 1ms")
	}
}

// A certificate is trusted when its issuer is named, or any with SkipVerify.
func TestTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(&fakes3.Server{})
	srv.Config.ErrorLog = nil
	srv.TLS = &tls.Config{}
	srv.StartTLS()
	defer srv.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	try := func(change func(*s3.Config)) error {
		s := open(t, &fakes3.Server{}, func(c *s3.Config) { c.Endpoint = srv.URL; change(c) })
		_, err := s.Put(t.Context(), "k", nil, store.Blind())
		return err
	}
	if err := try(func(c *s3.Config) { c.CAFile = ca }); err != nil {
		t.Error(err)
	}
	if err := try(func(c *s3.Config) { c.SkipVerify = true }); err != nil {
		t.Error(err)
	}
	oneLine(t, try(func(*s3.Config) {}), "not trusted", "s3.ca")
}

// Mistakes of the configuration.
func TestNewErrors(t *testing.T) {
	f := func(want string, change func(*s3.Config)) {
		t.Helper()
		c := s3.Config{Endpoint: "http://127.0.0.1:1", Bucket: "lake", AccessKey: "AKIDTEST", SecretKey: "SECRETTEST1234567890"}
		change(&c)
		_, err := s3.New(t.Context(), c)
		oneLine(t, err, want)
	}
	f("bucket", func(c *s3.Config) { c.Bucket = "" })
	f("bucket", func(c *s3.Config) { c.Bucket = "lake/raw" })
	f("prefix", func(c *s3.Config) { c.Prefix = "a/../b" })
	f("host and a port only", func(c *s3.Config) { c.Endpoint = "http://user:SECRETTEST@host" })
	f("host and a port only", func(c *s3.Config) { c.Endpoint = "https://host/lake" })
	f("not like https://host:port", func(c *s3.Config) { c.Endpoint = "ftp://host" })
	f("read certificates", func(c *s3.Config) { c.CAFile = filepath.Join(t.TempDir(), "none") })
	f("no certificates", func(c *s3.Config) { c.CAFile = os.Args[0] })
}
