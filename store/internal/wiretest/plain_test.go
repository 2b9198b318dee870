package wiretest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/fakes3"
	"github.com/lakeweir/lakeweir/store/internal/wiretest"
	"github.com/lakeweir/lakeweir/store/minio"
	"github.com/lakeweir/lakeweir/store/s3"
)

// newest opens a bucket at an endpoint, over the network.
var newest = map[string]func(ctx context.Context, c wiretest.Config) (store.Store, error){
	"s3": func(ctx context.Context, c wiretest.Config) (store.Store, error) {
		return s3.New(ctx, s3.Config{
			Endpoint: c.Endpoint, Bucket: c.Bucket, Region: c.Region, SkipVerify: c.SkipVerify, Transport: c.Transport,
			AccessKey: wiretest.AccessKey, SecretKey: wiretest.SecretKey,
		})
	},
	"minio": func(ctx context.Context, c wiretest.Config) (store.Store, error) {
		return minio.New(ctx, minio.Config{
			Endpoint: c.Endpoint, Bucket: c.Bucket, Region: c.Region, SkipVerify: c.SkipVerify, Transport: c.Transport,
			AccessKey: wiretest.AccessKey, SecretKey: wiretest.SecretKey,
		})
	},
}

// simple is a store that knows PUT, conditions and user metadata, and refuses
// every newer way to send a checksum. It keeps hashes, no bytes.
type simple struct {
	mu      sync.Mutex
	sums    map[string]string // of what arrived, by path
	meta    map[string]string
	refused int
	strange []string // what no request may have
}

func (s *simple) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := sha256.New()
	n, err := io.Copy(h, r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Amz-Checksum-") && name != "X-Amz-Checksum-Mode" {
			s.refused++
			fakes3.Error(w, http.StatusBadRequest, "InvalidArgument", "unknown header "+name)
			return
		}
	}
	if r.Header.Get("Content-Encoding") != "" || r.Header.Get("X-Amz-Trailer") != "" || len(r.TransferEncoding) > 0 ||
		strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING") || r.URL.Query().Has("uploads") || n != max(r.ContentLength, 0) {
		s.strange = append(s.strange, fmt.Sprint(r.Method, r.URL, r.Header, n))
	}
	old, there := s.sums[r.URL.Path]
	switch {
	case err != nil:
	case r.Method == http.MethodHead && there:
		w.Header().Set("ETag", `"`+old+`"`)
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		w.Header().Set("X-Amz-Meta-Sha256", s.meta[r.URL.Path])
	case r.Method != http.MethodPut:
		w.WriteHeader(http.StatusNotFound)
	case there && r.Header.Get("If-None-Match") == "*", r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != `"`+old+`"`:
		fakes3.Error(w, http.StatusPreconditionFailed, "PreconditionFailed", "")
	default:
		s.sums[r.URL.Path] = hex.EncodeToString(h.Sum(nil))
		s.meta[r.URL.Path] = r.Header.Get("X-Amz-Meta-Sha256")
		w.Header().Set("ETag", `"`+s.sums[r.URL.Path]+`"`)
	}
}

// A store that knows nothing of aws-chunked, trailers and checksum headers is
// written to all the same, small and large, under both conditions, over http
// and https, and the SHA-256 is kept as user metadata (B39). Nothing is sent in
// parts (B44).
func TestSimpleStore(t *testing.T) {
	const large = 200 << 20
	body := bytes.Repeat([]byte("0123456789abcdef"), large/16)
	f := func(t *testing.T, tls bool, open func(context.Context, wiretest.Config) (store.Store, error)) {
		body := body
		if tls {
			body = body[:20<<20] // still above the part size of minio-go
		}
		srv := &simple{sums: map[string]string{}, meta: map[string]string{}}
		server := httptest.NewUnstartedServer(srv)
		if server.Start(); tls {
			server.Close()
			server = httptest.NewTLSServer(srv)
		}
		defer server.Close()
		s, err := open(t.Context(), wiretest.Config{Endpoint: server.URL, Bucket: "lake", SkipVerify: tls})
		if err != nil {
			t.Fatal(err)
		}
		for key, body := range map[string][]byte{"small": body[:1000], "empty": {}, "large": body} {
			i, err := s.Put(t.Context(), key, body, store.IfAbsent())
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			if _, err := s.Put(t.Context(), key, []byte("again"), store.IfAbsent()); !errors.Is(err, store.ErrConflict) {
				t.Errorf("%s again: %v", key, err)
			}
			sum := sha256.Sum256(body)
			got, err := s.Stat(t.Context(), key)
			if err != nil || got.SHA256 == nil || *got.SHA256 != sum || srv.sums["/lake/"+key] != hex.EncodeToString(sum[:]) {
				t.Errorf("%s: sha256 %x, err %v, want %x", key, got.SHA256, err, sum)
			}
			if _, err := s.Put(t.Context(), key, []byte("new"), store.IfMatch(i.ETag)); err != nil {
				t.Errorf("%s changed: %v", key, err)
			}
			if _, err := s.Put(t.Context(), key, []byte("newer"), store.IfMatch(i.ETag)); !errors.Is(err, store.ErrConflict) {
				t.Errorf("%s, stale: %v", key, err)
			}
		}
		// It was tried once.
		if srv.refused != 1 || len(srv.strange) > 0 {
			t.Errorf("%d refused, %v", srv.refused, srv.strange)
		}
	}
	for name, open := range newest {
		t.Run(name+"/http", func(t *testing.T) { f(t, false, open) })
		t.Run(name+"/https", func(t *testing.T) { f(t, true, open) })
	}
}

// Twenty small objects at once need little memory: the size is known, so nobody
// makes room for a part of the largest kind (B45).
func TestSmallUploadsAtOnce(t *testing.T) {
	for name, open := range newest {
		t.Run(name, func(t *testing.T) {
			srv := &fakes3.Server{}
			s, err := open(t.Context(), wiretest.Config{Endpoint: srv.Start(t), Bucket: fakes3.Bucket})
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var all sync.WaitGroup
			for n := range 20 {
				all.Go(func() {
					body := bytes.Repeat([]byte{byte(n)}, 10<<10)
					if _, err := s.Put(t.Context(), fmt.Sprint("k", n), body, store.IfAbsent()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			runtime.ReadMemStats(&after)
			// All that was ever allocated, which is more than the growth.
			if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
				t.Errorf("%d MiB", n>>20)
			} else {
				t.Logf("%d KiB allocated by client and server", n>>10)
			}
			for _, r := range srv.Requests(http.MethodPut) {
				if r.ContentLength != 10<<10 {
					t.Errorf("%d bytes are said to come", r.ContentLength)
				}
			}
		})
	}
}

// Where a store may be: by address, by name, with a slash at the end, with dots
// in the name of the bucket, without a region. What cannot be is one sentence
// at the first request, which the probe makes before anything is read (B41).
func TestPlaces(t *testing.T) {
	f := func(what string, change func(*wiretest.Config, *simple), words ...string) {
		t.Helper()
		for name, open := range newest {
			srv := &simple{sums: map[string]string{}, meta: map[string]string{}}
			server := httptest.NewServer(srv)
			c := wiretest.Config{Endpoint: server.URL, Bucket: "lake"}
			change(&c, srv)
			s, err := open(t.Context(), c)
			if err == nil {
				_, err = s.Put(t.Context(), "k", nil, store.Blind())
			}
			server.Close()
			if len(words) > 0 {
				wiretest.OneLine(t, err, words...)
			} else if err != nil || srv.sums["/"+c.Bucket+"/k"] == "" {
				t.Errorf("%s, %s: err %v, got %v", name, what, err, srv.sums)
			}
		}
	}
	f("by address", func(*wiretest.Config, *simple) {})
	f("by name", func(c *wiretest.Config, _ *simple) {
		c.Endpoint = strings.Replace(c.Endpoint, "127.0.0.1", "localhost", 1)
	})
	f("a slash", func(c *wiretest.Config, _ *simple) { c.Endpoint += "/" })
	f("dots in the bucket", func(c *wiretest.Config, _ *simple) { c.Bucket = "lake.example.com" })
	f("a region", func(c *wiretest.Config, _ *simple) { c.Region = "eu-west-7" })
	f("a path", func(c *wiretest.Config, _ *simple) { c.Endpoint += "/s3" }, "host and a port only")
	// Without a scheme it is https.
	f("no scheme", func(c *wiretest.Config, _ *simple) { c.Endpoint = strings.TrimPrefix(c.Endpoint, "http://") }, "does not speak TLS", "http://")
	f("no such host", func(c *wiretest.Config, _ *simple) { c.Endpoint = "http://store.invalid:9000" }, "store.invalid", "check the address")
}

// A bucket in another region, as services say it. The SDKs pause and try again,
// on a clock that costs nothing.
func TestWrongRegion(t *testing.T) {
	f := func(status int, code string) {
		t.Helper()
		for name, open := range newest {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					srv := &fakes3.Server{Meddle: func(w http.ResponseWriter, r *http.Request) bool {
						w.Header().Set("x-amz-bucket-region", "eu-west-1")
						w.Header().Set("Location", "http://elsewhere.invalid/")
						fakes3.Error(w, status, code, "the region 'us-east-1' is wrong; expecting 'eu-west-1'")
						return true
					}}
					s, err := open(t.Context(), wiretest.Config{Endpoint: "http://store", Bucket: fakes3.Bucket, Transport: fakes3.Inside{Server: srv}})
					if err != nil {
						t.Fatal(err)
					}
					_, err = store.Probe(t.Context(), s)
					wiretest.OneLine(t, err, "another region", "s3.region", code)
				})
			})
		}
	}
	f(http.StatusMovedPermanently, "PermanentRedirect")
	f(http.StatusBadRequest, "AuthorizationHeaderMalformed")
}
