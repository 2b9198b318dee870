// Package wiretest is the suite that every driver of the S3 protocol passes,
// whatever library sends its requests: the contract of a store, what a request
// is on the wire, what an answer means, and which words an operator reads.
// What a driver does in its own way (addresses, where credentials come from)
// is tested beside it, with Sent and OneLine.
package wiretest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/fakes3"
	"github.com/lakeweir/lakeweir/store/storetest"
)

// AccessKey and SecretKey are the credentials of the suite. No error may hold
// the secret one.
const (
	AccessKey = "AKIDTEST"
	SecretKey = "SECRETTEST1234567890"
)

// Store is what a driver gives: a store that can make its bucket.
type Store interface {
	store.Store
	CreateBucket(ctx context.Context) error
}

// Config is what the configurations of the drivers have in common. A field
// means what it means there, and so does its zero value.
type Config struct {
	Endpoint, Bucket, Prefix, Region string
	AccessKey, SecretKey             string
	CAFile                           string
	SkipVerify                       bool
	Timeout                          time.Duration
	Transport                        http.RoundTripper
}

// Open is the New of a driver.
type Open func(ctx context.Context, c Config) (Store, error)

// Run runs the suite.
func Run(t *testing.T, open Open) {
	d := driver{open}
	for _, part := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"Contract", d.contract},
		{"ContractPrefix", d.contractPrefix},
		{"PutOnTheWire", d.putOnTheWire},
		{"NoETag", d.noETag},
		{"PutAnswers", d.putAnswers},
		{"LostAnswer", d.lostAnswer},
		{"StatSHA256", d.statSHA256},
		{"Refused", d.refused},
		{"NotImplemented", d.notImplemented},
		{"NoSuchBucket", d.noSuchBucket},
		{"Unreachable", d.unreachable},
		{"Timeout", d.timeout},
		{"TLS", d.trust},
		{"NewErrors", d.newErrors},
		{"CreateBucket", d.createBucket},
	} {
		t.Run(part.name, part.run)
	}
}

// driver is what is tested.
type driver struct{ new Open }

// open opens the bucket of a fake server, with changes to the configuration.
func (d driver) open(t *testing.T, f *fakes3.Server, change func(*Config)) Store {
	t.Helper()
	c := Config{
		Endpoint: f.Start(t), Bucket: fakes3.Bucket, Region: "us-east-1",
		AccessKey: AccessKey, SecretKey: SecretKey,
	}
	if change != nil {
		change(&c)
	}
	s, err := d.new(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The whole contract, with lists in small pages.
func (d driver) contract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		return d.open(t, &fakes3.Server{PageSize: 7}, nil)
	})
}

// The same under a prefix, on a server that keeps no checksums.
func (d driver) contractPrefix(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		return d.open(t, &fakes3.Server{NoChecksum: true}, func(c *Config) { c.Prefix = "raw data/x/" })
	})
}

// OneLine checks that an error is one line with the words, and without the key.
func OneLine(t *testing.T, err error, words ...string) {
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

// Sent opens a store over a transport that sends nothing, puts once and returns
// the request. It is for what open alone decides: address, headers, signature.
func Sent(t *testing.T, open func(http.RoundTripper) (store.Store, error)) *http.Request {
	t.Helper()
	var r *http.Request
	s, err := open(roundTripper(func(got *http.Request) (*http.Response, error) {
		r = got
		return nil, errors.New("not sent")
	}))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = s.Put(t.Context(), "k", nil, store.IfMatch("e"))
	if r == nil {
		t.Fatal("no request")
	}
	return r
}

// roundTripper is a function that carries a request.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// stopAfter ends a context with the n-th request, so that no test waits for the
// back-off of an SDK to come to its end.
func stopAfter(n int, cancel func()) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if n--; n == 0 {
			cancel()
		}
		return resp, err
	})
}

// lose carries requests and loses the answer of the first PUT.
func lose() http.RoundTripper {
	lost := false
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || r.Method != http.MethodPut || lost {
			return resp, err
		}
		lost = true
		resp.Body.Close()
		return nil, errors.New("connection reset by peer")
	})
}
