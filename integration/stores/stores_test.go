// Package stores_test holds both S3 drivers to the contract of a store on the
// wire of a real server.
package stores_test

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/integration/gateway"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/minio"
	"github.com/lakeweir/lakeweir/store/s3"
	"github.com/lakeweir/lakeweir/store/storetest"
)

// server is the one gateway of this process; every test has its own bucket.
var server *gateway.Gateway

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "lakeweir-gateway-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if server, err = gateway.Start(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer server.Stop()
	return m.Run()
}

func bucket(t *testing.T) string {
	t.Helper()
	name, err := server.Bucket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// place is where a driver is opened.
type place struct {
	bucket, prefix, secret string
	transport              http.RoundTripper // nil is the network
	timeout                time.Duration     // of a call; 0 is the default
}

// drivers open a place through each of the SDKs.
var drivers = map[string]func(*testing.T, place) store.Store{
	"s3": func(t *testing.T, p place) store.Store {
		s, err := s3.New(t.Context(), s3.Config{
			Endpoint: server.Endpoint, Bucket: p.bucket, Prefix: p.prefix, Region: gateway.Region,
			AccessKey: gateway.AccessKey, SecretKey: p.secret, Transport: p.transport, Timeout: p.timeout,
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	},
	"minio": func(t *testing.T, p place) store.Store {
		s, err := minio.New(t.Context(), minio.Config{
			Endpoint: server.Endpoint, Bucket: p.bucket, Prefix: p.prefix, Region: gateway.Region,
			AccessKey: gateway.AccessKey, SecretKey: p.secret, Transport: p.transport, Timeout: p.timeout,
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	},
}

// each runs f with each driver.
func each(t *testing.T, f func(t *testing.T, open func(*testing.T, place) store.Store)) {
	for name, open := range drivers {
		t.Run(name, func(t *testing.T) { f(t, open) })
	}
}

func TestContract(t *testing.T) {
	each(t, func(t *testing.T, open func(*testing.T, place) store.Store) {
		storetest.Run(t, func(t *testing.T) store.Store {
			return open(t, place{bucket: bucket(t), secret: gateway.SecretKey})
		})
	})
}

// Under a prefix the rest of the bucket is out of sight.
func TestContractPrefix(t *testing.T) {
	each(t, func(t *testing.T, open func(*testing.T, place) store.Store) {
		storetest.Run(t, func(t *testing.T) store.Store {
			b := bucket(t)
			whole := open(t, place{bucket: b, secret: gateway.SecretKey})
			for _, key := range []string{"aaa", "raw/x0", "zzz"} {
				if _, err := whole.Put(t.Context(), key, nil, store.IfAbsent()); err != nil {
					t.Fatal(err)
				}
			}
			return open(t, place{bucket: b, prefix: "raw/x", secret: gateway.SecretKey})
		})
	})
}

// What one SDK writes the other reads, by the same ETag and checksum.
func TestDriversAgree(t *testing.T) {
	p := place{bucket: bucket(t), secret: gateway.SecretKey}
	a, b := drivers["s3"](t, p), drivers["minio"](t, p)
	for n, pair := range [][2]store.Store{{a, b}, {b, a}} {
		key := fmt.Sprintf("data/x=%%2F/%d", n)
		if _, err := pair[0].Put(t.Context(), key, []byte("1"), store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
		i, err := pair[1].Stat(t.Context(), key)
		if err != nil || i.SHA256 == nil {
			t.Fatalf("stat: sha256 %v, err %v", i.SHA256, err)
		}
		if _, err := pair[1].Put(t.Context(), key, []byte("2"), store.IfMatch(i.ETag)); err != nil {
			t.Error(err)
		}
	}
}

func TestProbe(t *testing.T) {
	each(t, func(t *testing.T, open func(*testing.T, place) store.Store) {
		s := open(t, place{bucket: bucket(t), prefix: "raw", secret: gateway.SecretKey})
		r, err := store.Probe(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Checks {
			if !c.OK || c.Detail != "" {
				t.Errorf("%+v", c)
			}
		}
		for i := range s.List(t.Context(), "", "") {
			t.Errorf("the probe left %s", i.Key)
		}
	})
}
