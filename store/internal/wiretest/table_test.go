package wiretest_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/lakeweir/lakeweir/internal/tabletest"
	"github.com/lakeweir/lakeweir/internal/wirefault"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/fakes3"
	"github.com/lakeweir/lakeweir/store/internal/wiretest"
	"github.com/lakeweir/lakeweir/store/minio"
	"github.com/lakeweir/lakeweir/store/s3"
)

// drivers open the bucket of a fake server over a transport.
var drivers = map[string]func(ctx context.Context, tr http.RoundTripper) (store.Store, error){
	"s3": func(ctx context.Context, tr http.RoundTripper) (store.Store, error) {
		return s3.New(ctx, s3.Config{
			Endpoint: "http://store", Bucket: fakes3.Bucket, Region: "us-east-1",
			AccessKey: wiretest.AccessKey, SecretKey: wiretest.SecretKey, Transport: tr,
		})
	},
	"minio": func(ctx context.Context, tr http.RoundTripper) (store.Store, error) {
		return minio.New(ctx, minio.Config{
			Endpoint: "http://store", Bucket: fakes3.Bucket, Region: "us-east-1",
			AccessKey: wiretest.AccessKey, SecretKey: wiretest.SecretKey, Transport: tr,
		})
	},
}

// each runs f with each driver, on a clock of its own: time-outs and pauses
// cost nothing. They run side by side when the test that calls it has ended.
func each(t *testing.T, f func(t *testing.T, open func(context.Context, http.RoundTripper) (store.Store, error))) {
	for name, open := range drivers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { f(t, open) })
		})
	}
}

// records is the length of the log that the tests write.
const records = 150

// total sums what transports met.
func total(into, met map[wirefault.Kind]int) {
	for k, n := range met {
		into[k] += n
	}
}

// sum writes counts in the order of their names.
func sum(met map[wirefault.Kind]int) string {
	var b strings.Builder
	all := 0
	for _, k := range slices.Sorted(maps.Keys(met)) {
		fmt.Fprintf(&b, ", %s %d", k, met[k])
		all += met[k]
	}
	return fmt.Sprint(all, " faults", b.String())
}

// Three of ten requests meet a fault of any kind: all rows are published, once,
// as they were written, and the writer never gives up (B42).
func TestFaultsOfEveryKind(t *testing.T) {
	var mu sync.Mutex
	met := map[wirefault.Kind]int{}
	f := func(t *testing.T, seed uint64) {
		each(t, func(t *testing.T, open func(context.Context, http.RoundTripper) (store.Store, error)) {
			srv := &fakes3.Server{}
			tr := &wirefault.Transport{Next: fakes3.Inside{Server: srv}, Pick: wirefault.Seeded(seed, 0.3, wirefault.Kinds...)}
			s, err := open(t.Context(), tr)
			if err != nil {
				t.Fatal(err)
			}
			log := &tabletest.Log{N: records, Wide: 1}
			if err := tabletest.Write(t.Context(), s, log); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			tr.Wait()
			tabletest.Whole(t, &srv.Objects, records)
			for _, r := range slices.Concat(srv.Requests(http.MethodPut), srv.Requests(http.MethodPost)) {
				if r.URL.Query().Has("uploads") || r.URL.Query().Has("uploadId") || r.Method == http.MethodPut && r.ContentLength < 0 {
					t.Errorf("%s %s of %d bytes", r.Method, r.URL, r.ContentLength) // (B44, B45)
				}
			}
			t.Logf("seed %d: %d requests, %s", seed, tr.Requests(), sum(tr.Met()))
			mu.Lock()
			defer mu.Unlock()
			total(met, tr.Met())
		})
	}
	t.Run("seeds", func(t *testing.T) {
		for seed := range uint64(12) {
			f(t, seed)
		}
	})
	t.Log(sum(met))
	for _, k := range wirefault.Kinds {
		if met[k] == 0 {
			t.Errorf("no %q was met", k)
		}
	}
}
