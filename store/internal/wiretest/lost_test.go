package wiretest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/internal/tabletest"
	"github.com/lakeweir/lakeweir/internal/wirefault"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/fakes3"
)

// chosen meets the requests that which holds for with a fault.
func chosen(kind wirefault.Kind, which func(*http.Request) bool) wirefault.Pick {
	return func(_ int, r *http.Request) wirefault.Kind {
		if which(r) {
			return kind
		}
		return ""
	}
}

// nth holds for the PUTs under a prefix whose number, from 1, is named.
func nth(prefix string, holds func(n int) bool) func(*http.Request) bool {
	seen := 0
	return func(r *http.Request) bool {
		if r.Method != http.MethodPut || !strings.HasPrefix(r.URL.Path, "/"+fakes3.Bucket+"/"+prefix) {
			return false
		}
		seen++
		return holds(seen)
	}
}

// The store takes a write and the writer does not hear of it: the answer is
// lost, is 500 or 412, or the write arrives after the writer has given it up.
// At the claim, at a plan, at a publish, at data, and at every second head, all
// is published once, in the first attempt, and nobody is fenced by himself (B07).
func TestWriteIsNotHeardOf(t *testing.T) {
	const head = "manifest/00000.json"
	f := func(kind wirefault.Kind, prefix, what string, holds func(n int) bool) {
		t.Helper()
		each(t, func(t *testing.T, open func(context.Context, http.RoundTripper) (store.Store, error)) {
			srv := &fakes3.Server{}
			tr := &wirefault.Transport{Next: fakes3.Inside{Server: srv}, Pick: chosen(kind, nth(prefix, holds))}
			s, err := open(t.Context(), tr)
			if err != nil {
				t.Fatal(err)
			}
			if err := tabletest.Write(t.Context(), s, &tabletest.Log{N: 50, Wide: 1}); err != nil {
				t.Errorf("%s, %s: %v", kind, what, err)
			}
			tr.Wait()
			tabletest.Whole(t, &srv.Objects, 50)
			h, err := manifest.Read(t.Context(), &srv.Objects, 0)
			if err != nil || tr.Met()[kind] == 0 {
				t.Fatalf("%s, %s: met %v, err %v", kind, what, tr.Met(), err)
			}
			for r, err := range h.All(t.Context(), &srv.Objects) {
				if err != nil || r.Attempt != 0 {
					t.Errorf("%s, %s: %s was planned %d times, err %v", kind, what, r.Range, r.Attempt+1, err)
				}
			}
			if h.Epoch != 1 {
				t.Errorf("%s, %s: epoch %d", kind, what, h.Epoch)
			}
		})
	}
	first := func(n int) func(int) bool { return func(got int) bool { return got == n } }
	for _, kind := range []wirefault.Kind{
		wirefault.LostAnswer, wirefault.Arrived500, wirefault.OwnConflict, wirefault.FalseOKDone, wirefault.Late,
	} {
		f(kind, head, "claim", first(1))
		f(kind, head, "first plan", first(2))
		f(kind, head, "publish", first(3))
		f(kind, "data/", "data", first(1))
		f(kind, "schema/", "schema", first(1))
		if kind != wirefault.Late { // which the next write overtakes
			f(kind, head, "every second head", func(n int) bool { return n%2 == 0 })
			f(kind, "", "every second write", func(n int) bool { return n%2 == 0 })
		}
	}
}

// A store that answers conditions in its own way: 409 once and then normal, 304
// or 409 for what is there, 404, 412 or 409 for If-Match without an object. A
// lost race is no crash (B08 b, c, d).
func TestConditionsInOtherWords(t *testing.T) {
	f := func(status int, code string) {
		t.Helper()
		each(t, func(t *testing.T, open func(context.Context, http.RoundTripper) (store.Store, error)) {
			srv := &fakes3.Server{}
			s, err := open(t.Context(), &reworded{next: fakes3.Inside{Server: srv}, status: status, code: code})
			if err != nil {
				t.Fatal(err)
			}
			// Two claims race for the first head, and both go on: the second is
			// on top of the first.
			errs := make(chan error, 2)
			for range 2 {
				go func() {
					_, err := manifest.Claim(t.Context(), s, claimant)
					errs <- err
				}()
			}
			for range 2 {
				if err := <-errs; err != nil {
					t.Errorf("%d %s: %v", status, code, err)
				}
			}
			h, err := manifest.Read(t.Context(), s, 0)
			if err != nil || h.Epoch != 2 {
				t.Errorf("%d %s: epoch %d, err %v", status, code, h.Epoch, err)
			}
			if err := tabletest.Write(t.Context(), s, &tabletest.Log{N: 30, Wide: 1}); err != nil {
				t.Errorf("%d %s: %v", status, code, err)
			}
			tabletest.Whole(t, &srv.Objects, 30)
		})
	}
	f(http.StatusPreconditionFailed, "PreconditionFailed")
	f(http.StatusConflict, "ConditionalRequestConflict")
	f(http.StatusNotModified, "NotModified")
	// 409 to a create that nobody races with, once.
	each(t, func(t *testing.T, open func(context.Context, http.RoundTripper) (store.Store, error)) {
		srv := &fakes3.Server{}
		tr := &wirefault.Transport{Next: fakes3.Inside{Server: srv}, Pick: wirefault.Script(
			func(r *http.Request) bool { return r.Method == http.MethodPut }, wirefault.Conflict, wirefault.Conflict, wirefault.Conflict)}
		s, err := open(t.Context(), tr)
		if err != nil {
			t.Fatal(err)
		}
		if err := tabletest.Write(t.Context(), s, &tabletest.Log{N: 30, Wide: 1}); err != nil || tr.Met()[wirefault.Conflict] != 3 {
			t.Errorf("%v, met %v", err, tr.Met())
		}
		tabletest.Whole(t, &srv.Objects, 30)
	})
}

// claimant claims partition 0 of the tape.
var claimant = manifest.Claimant{
	Table: "t", Identity: tabletest.Identity, First: func(context.Context) (int64, error) { return 0, nil },
}

// reworded says that a condition does not hold in other words.
type reworded struct {
	next   http.RoundTripper
	status int
	code   string
}

func (c *reworded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err == nil && r.Method == http.MethodPut && resp.StatusCode == http.StatusPreconditionFailed {
		w := httptest.NewRecorder()
		fakes3.Error(w, c.status, c.code, "in other words")
		return w.Result(), nil
	}
	return resp, err
}

// Two processes create the first head of a partition at the same moment: each
// time one of them does, and the other claims on top of it (B08 e).
func TestFirstHeadRaces(t *testing.T) {
	const rounds, atATime = 1000, 50 // in a store: lists of a fuller one cost more
	each(t, func(t *testing.T, open func(context.Context, http.RoundTripper) (store.Store, error)) {
		var both [2]store.Store
		for n := range rounds {
			if n%atATime == 0 {
				srv := &fakes3.Server{}
				for i := range both {
					var err error
					if both[i], err = open(t.Context(), fakes3.Inside{Server: srv}); err != nil {
						t.Fatal(err)
					}
				}
			}
			created, claimed := make(chan bool, 2), make(chan uint64, 2)
			for _, s := range both {
				go func() {
					_, err := s.Put(t.Context(), fmt.Sprint("race/", n), []byte{'x'}, store.IfAbsent())
					created <- err == nil
					c := claimant
					c.Partition = int32(n)
					l, err := manifest.Claim(t.Context(), s, c)
					if err != nil {
						t.Errorf("round %d: %v", n, err)
						claimed <- 0
						return
					}
					claimed <- l.Head().Epoch
				}()
			}
			if x, y := <-created, <-created; x == y {
				t.Fatalf("round %d: created %v and %v", n, x, y)
			}
			if x, y := <-claimed, <-claimed; x+y != 3 || x == 0 || y == 0 {
				t.Fatalf("round %d: epochs %d and %d, want 1 and 2", n, x, y)
			}
		}
	})
}
