package wiretest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/internal/verify"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/fakes3"
	"github.com/lakeweir/lakeweir/store/internal/wiretest"
	"github.com/lakeweir/lakeweir/store/minio"
	"github.com/lakeweir/lakeweir/store/s3"
	"github.com/lakeweir/lakeweir/store/wirefault"
	"github.com/lakeweir/lakeweir/writer"
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
// cost nothing.
func each(t *testing.T, f func(t *testing.T, open func(context.Context, http.RoundTripper) (store.Store, error))) {
	for name, open := range drivers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, open) })
		})
	}
}

// records is the length of the log that the tests write; batchRows cut a batch.
const records, batchRows = 300, 7

// raw is the schema of the tests. Not zstd, whose decoders pass from test to
// test, and cannot from one clock to another.
func raw() (manifest.Schema, error) {
	return manifest.NewSchema(manifest.Declared{
		Value: manifest.RawValue, Layout: manifest.Layout{Compression: manifest.Snappy},
	})
}

// write runs a writer of raw values until the whole log is published.
func write(t *testing.T, s store.Store, log *tape, change func(*writer.Config)) error {
	t.Helper()
	schema, err := raw()
	if err != nil {
		t.Fatal(err)
	}
	c := writer.Config{
		Store: s, Table: "t", Source: log, Schema: schema, Once: true,
		Limits: writer.Limits{MaxRows: batchRows},
	}
	if change != nil {
		change(&c)
	}
	return writer.New(nil).Run(t.Context(), c)
}

// whole checks a finished table by what the server holds: every offset once,
// each published file as it was recorded, and nothing under data/ with rows
// that no range names.
func whole(t *testing.T, objects store.Store, n int64) {
	t.Helper()
	h, err := manifest.Read(t.Context(), objects, 0)
	if err != nil {
		t.Fatal(err)
	}
	if h.Next != n || h.Totals.Rows != n || h.Pending != nil {
		t.Errorf("next %d, %d rows, pending %v, want %d", h.Next, h.Totals.Rows, h.Pending, n)
	}
	var want int64
	for f, err := range h.Files(t.Context(), objects) {
		if err != nil {
			t.Fatal(err)
		}
		o, err := objects.Get(t.Context(), f.Key, store.Span{})
		if err != nil || sha256.Sum256(o.Body) != f.SHA256 {
			t.Fatalf("%s: err %v, or not as it was recorded", f.Key, err)
		}
		file, err := columnar.Open(bytes.NewReader(o.Body), o.Size)
		if err != nil {
			t.Fatal(err)
		}
		for row, err := range file.Read("value") {
			if err != nil || row.Offset != want || strings.TrimLeft(string(row.Value), "0") != strings.TrimLeft(fmt.Sprint(want), "0") {
				t.Fatalf("%s: offset %d, value %.20q, err %v, want %d", f.Key, row.Offset, row.Value, err, want)
			}
			want++
		}
	}
	if want != n {
		t.Errorf("%d rows, want %d", want, n)
	}
	for f, err := range verify.Run(t.Context(), objects, verify.Options{Table: "t", Deep: true}) {
		if err != nil {
			t.Fatal(err)
		}
		t.Error(f)
	}
}

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
	met := map[wirefault.Kind]int{}
	for seed := range uint64(12) {
		each(t, func(t *testing.T, open func(context.Context, http.RoundTripper) (store.Store, error)) {
			srv := &fakes3.Server{}
			tr := &wirefault.Transport{Next: fakes3.Inside{Server: srv}, Pick: wirefault.Seeded(seed, 0.3, wirefault.Kinds...)}
			s, err := open(t.Context(), tr)
			if err != nil {
				t.Fatal(err)
			}
			log := &tape{n: records, wide: 1}
			if err := write(t, s, log, nil); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			tr.Wait()
			whole(t, &srv.Objects, records)
			for _, r := range slices.Concat(srv.Requests(http.MethodPut), srv.Requests(http.MethodPost)) {
				if r.URL.Query().Has("uploads") || r.URL.Query().Has("uploadId") || r.Method == http.MethodPut && r.ContentLength < 0 {
					t.Errorf("%s %s of %d bytes", r.Method, r.URL, r.ContentLength) // (B44, B45)
				}
			}
			t.Logf("seed %d: %d requests, %s", seed, tr.Requests(), sum(tr.Met()))
			total(met, tr.Met())
		})
	}
	t.Log(sum(met))
	for _, k := range wirefault.Kinds {
		if met[k] == 0 {
			t.Errorf("no %q was met", k)
		}
	}
}
