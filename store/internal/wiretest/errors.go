package wiretest

import (
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/fakes3"
)

// What a store refuses is said with what to do.
func (d driver) refused(t *testing.T) {
	f := func(status int, code, want string) {
		t.Helper()
		s := d.open(t, &fakes3.Server{Meddle: func(w http.ResponseWriter, r *http.Request) bool {
			fakes3.Error(w, status, code, "said by\nthe store")
			return true
		}}, nil)
		_, err := s.Put(t.Context(), "k", nil, store.IfMatch("e"))
		OneLine(t, err, "put k", "bucket lake", code, want)
		_, err = s.Get(t.Context(), "k", store.Span{})
		OneLine(t, err, "get k", "bucket lake", code, want)
	}
	f(http.StatusForbidden, "AccessDenied", "policy")
	f(http.StatusForbidden, "InvalidAccessKeyId", "check the credentials")
	f(http.StatusForbidden, "SignatureDoesNotMatch", "the secret key is wrong")
	f(http.StatusForbidden, "RequestTimeTooSkewed", "clock")
	f(http.StatusBadRequest, "AuthorizationHeaderMalformed", "set s3.region")
	f(http.StatusMovedPermanently, "PermanentRedirect", "set s3.region")
}

// A store without the header says which.
func (d driver) notImplemented(t *testing.T) {
	s := d.open(t, &fakes3.Server{Meddle: func(w http.ResponseWriter, r *http.Request) bool {
		fakes3.Error(w, http.StatusNotImplemented, "NotImplemented", "A header you provided implies functionality that is not implemented.")
		return true
	}}, nil)
	_, err := s.Put(t.Context(), "k", nil, store.IfMatch("e"))
	OneLine(t, err, "does not have If-Match", "single_writer")
}

// A bucket that is not there is named by every method that has an answer with a body.
func (d driver) noSuchBucket(t *testing.T) {
	s := d.open(t, &fakes3.Server{}, func(c *Config) { c.Bucket = "puddle" })
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
		OneLine(t, err, "bucket puddle", "no such bucket", "create it")
	}
}

// Nobody listens at the endpoint.
func (d driver) unreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s := d.open(t, &fakes3.Server{}, func(c *Config) { c.Endpoint = "http://" + l.Addr().String() })
	_, err = s.Put(t.Context(), "k", nil, store.IfMatch("e"))
	OneLine(t, err, l.Addr().String(), "cannot reach it", "check its address")
}

// A store that does not answer in time.
func (d driver) timeout(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	s := d.open(t, &fakes3.Server{Meddle: func(http.ResponseWriter, *http.Request) bool { <-release; return true }},
		func(c *Config) { c.Timeout = time.Millisecond })
	_, err := s.Put(t.Context(), "k", nil, store.IfMatch("e"))
	OneLine(t, err, "no answer within 1ms")
	_, err = s.Get(t.Context(), "k", store.Span{})
	OneLine(t, err, "no answer within 1ms")
	for _, err := range s.List(t.Context(), "", "") {
		OneLine(t, err, "no answer within 1ms")
	}
}

// A certificate is trusted when its issuer is named, or any with SkipVerify.
func (d driver) trust(t *testing.T) {
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
	try := func(change func(*Config)) error {
		s := d.open(t, &fakes3.Server{}, func(c *Config) { c.Endpoint = srv.URL; change(c) })
		_, err := s.Put(t.Context(), "k", nil, store.Blind())
		return err
	}
	if err := try(func(c *Config) { c.CAFile = ca }); err != nil {
		t.Error(err)
	}
	if err := try(func(c *Config) { c.SkipVerify = true }); err != nil {
		t.Error(err)
	}
	OneLine(t, try(func(*Config) {}), "not trusted", "s3.ca")
}

// Mistakes of the configuration.
func (d driver) newErrors(t *testing.T) {
	f := func(want string, change func(*Config)) {
		t.Helper()
		c := Config{Endpoint: "http://127.0.0.1:1", Bucket: "lake", AccessKey: AccessKey, SecretKey: SecretKey}
		change(&c)
		_, err := d.new(t.Context(), c)
		OneLine(t, err, want)
	}
	f("bucket", func(c *Config) { c.Bucket = "" })
	f("bucket", func(c *Config) { c.Bucket = "lake/raw" })
	f("prefix", func(c *Config) { c.Prefix = "a/../b" })
	f("host and a port only", func(c *Config) { c.Endpoint = "http://user:SECRETTEST@host" })
	f("host and a port only", func(c *Config) { c.Endpoint = "https://host/lake" })
	f("not like https://host:port", func(c *Config) { c.Endpoint = "ftp://host" })
	f("read certificates", func(c *Config) { c.CAFile = filepath.Join(t.TempDir(), "none") })
	f("no certificates", func(c *Config) { c.CAFile = os.Args[0] })
}
