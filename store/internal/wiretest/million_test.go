package wiretest_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/lakeweir/lakeweir/internal/tabletest"
	"github.com/lakeweir/lakeweir/internal/wirefault"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/fakes3"
)

// million gives partition 0 a head that has published n ranges of one row and
// one file each. Its lists are referred to and not there, so that whoever reads
// one fails.
func million(t *testing.T, s store.Store, n int64) {
	t.Helper()
	h := manifest.Head{Table: "t", Identity: tabletest.Identity, LeaderEpoch: -1, Version: uint64(n), Epoch: 1, Owner: manifest.Owner{ID: "x"}, Next: n}
	at := int64(0)
	for level, size := 3, int64(64*64*64*64); level >= 0; level, size = level-1, size/64 {
		for ; n-at >= size; at += size {
			totals := manifest.Totals{Ranges: size, Files: size, Bytes: size, Counts: manifest.Counts{Rows: size}}
			h.Sealed = append(h.Sealed, manifest.ListRef{Level: level, Range: manifest.Range{Start: at, Next: at + size}, Random: fmt.Sprintf("%016x", at), Totals: totals})
			h.Totals = h.Totals.Add(totals)
		}
	}
	for ; at < n; at++ {
		r := manifest.Range{Start: at, Next: at + 1}
		file := manifest.File{Key: manifest.Name{Range: r}.Data(), Rows: 1, Bytes: 1}
		h.Ranges = append(h.Ranges, manifest.RangeRecord{Range: r, Schema: 1, Counts: manifest.Counts{Rows: 1}, Data: []manifest.File{file}})
		h.Totals = h.Totals.Add(h.Ranges[len(h.Ranges)-1].Totals())
	}
	body, err := manifest.EncodeHead(h)
	if err != nil {
		t.Fatal(err)
	}
	if len(body) > 64<<10 {
		t.Errorf("the head has %d bytes", len(body))
	}
	if _, err := s.Put(t.Context(), h.HeadKey(), body, store.IfAbsent()); err != nil {
		t.Fatal(err)
	}
}

// A writer resumes in a handful of requests and lists nothing, and its first
// commit costs the same, after ten files and after a million (B53).
func TestResumeAfterAMillionFiles(t *testing.T) {
	each(t, func(t *testing.T, open func(context.Context, http.RoundTripper) (store.Store, error)) {
		cost := map[int64][2]int{}
		for _, n := range []int64{10, 1_000_000} {
			srv := &fakes3.Server{}
			tr := &wirefault.Transport{Next: fakes3.Inside{Server: srv}}
			s, err := open(t.Context(), tr)
			if err != nil {
				t.Fatal(err)
			}
			million(t, s, n)
			before := tr.Requests()
			if err := tabletest.Write(t.Context(), s, &tabletest.Log{N: n}); err != nil {
				t.Fatal(err)
			}
			// The first schema of a table is written once in its life.
			resumed := tr.Requests() - before - schemaRequests(srv)
			before = tr.Requests()
			if err := tabletest.Write(t.Context(), s, &tabletest.Log{N: n + 1}); err != nil {
				t.Fatal(err)
			}
			cost[n] = [2]int{resumed, tr.Requests() - before}
			for _, r := range srv.Requests(http.MethodGet) {
				// The versions of the schema are few.
				if r.URL.Query().Has("list-type") && r.URL.Query().Get("prefix") != "schema/" {
					t.Errorf("%d files: listed %s", n, r.URL.Query().Get("prefix"))
				}
			}
			if h, err := manifest.Read(t.Context(), s, 0); err != nil || h.Next != n+1 || h.Totals.Files != n+1 {
				t.Errorf("%d files: next %d, %d files, err %v", n, h.Next, h.Totals.Files, err)
			}
		}
		t.Logf("requests of a resume, and of a resume and a commit: %v", cost)
		if cost[10] != cost[1_000_000] || cost[10][0] > 5 {
			t.Errorf("requests %v", cost)
		}
	})
}

// schemaRequests counts the requests for schemas that the first writer of a
// table makes.
func schemaRequests(srv *fakes3.Server) int {
	n := 0
	for _, method := range []string{http.MethodPut, http.MethodHead} {
		for _, r := range srv.Requests(method) {
			if len(r.URL.Path) > 13 && r.URL.Path[:13] == "/lake/schema/" {
				n++
			}
		}
	}
	return n
}
