package wiretest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/internal/wirefault"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/fakes3"
)

// trickle gives the body of every GET of an object a byte at a time.
type trickle struct {
	next http.RoundTripper
	each time.Duration
}

func (tr trickle) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := tr.next.RoundTrip(r)
	if err == nil {
		resp.Body = &slowBody{ReadCloser: resp.Body, ctx: r.Context(), each: tr.each}
	}
	return resp, err
}

type slowBody struct {
	io.ReadCloser
	ctx  context.Context
	each time.Duration
}

func (s *slowBody) Read(p []byte) (int, error) {
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-time.After(s.each):
		return s.ReadCloser.Read(p[:1])
	}
}

// A call ends in its time whatever it waits for: a connection or the head of an
// answer, the rest of a body, a body that comes a byte in a second, a store
// that does not take a body, the page of a list.
func TestCallsEndInTime(t *testing.T) {
	each(t, func(t *testing.T, open func(context.Context, http.RoundTripper) (store.Store, error)) {
		srv := &fakes3.Server{}
		plain, err := open(t.Context(), fakes3.Inside{Server: srv})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plain.Put(t.Context(), "k", make([]byte, 4<<20), store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
		f := func(what string, tr http.RoundTripper, call func(store.Store) error, want time.Duration) {
			t.Helper()
			s, err := open(t.Context(), tr)
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			err = call(s)
			if took := time.Since(begin); took != want || err == nil || !strings.Contains(err.Error(), "no answer within") {
				t.Errorf("%s: ended after %v, err %v, want %v", what, took, err, want)
			}
		}
		always := func(k wirefault.Kind) http.RoundTripper {
			return &wirefault.Transport{Next: fakes3.Inside{Server: srv}, Pick: chosen(k, func(*http.Request) bool { return true })}
		}
		get := func(s store.Store) error { _, err := s.Get(t.Context(), "k", store.Span{}); return err }
		list := func(s store.Store) error {
			for _, err := range s.List(t.Context(), "", "") {
				return err
			}
			return nil
		}
		f("no answer", always(wirefault.Stall), get, time.Minute)
		f("half a body", always(wirefault.StallAnswer), get, time.Minute+4*time.Second)
		f("a byte in a second", trickle{fakes3.Inside{Server: srv}, time.Second}, get, time.Minute+4*time.Second)
		f("stat", always(wirefault.Stall), func(s store.Store) error { _, err := s.Stat(t.Context(), "k"); return err }, time.Minute)
		f("put", always(wirefault.Stall), func(s store.Store) error {
			_, err := s.Put(t.Context(), "k", make([]byte, 10<<20), store.Blind())
			return err
		}, time.Minute+10*time.Second)
		f("list", always(wirefault.Stall), list, time.Minute)
		f("half a list", always(wirefault.StallAnswer), list, time.Minute)
		f("a list that trickles", trickle{fakes3.Inside{Server: srv}, time.Second}, list, time.Minute)
	})
}
