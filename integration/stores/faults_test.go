package stores_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/integration/gateway"
	"github.com/lakeweir/lakeweir/internal/wirefault"
	"github.com/lakeweir/lakeweir/store"
)

// outcome is what the caller of Put hears.
type outcome string

const (
	success  outcome = "success"
	conflict outcome = "conflict"
	unknown  outcome = "unknown"
)

func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return success
	case errors.Is(err, store.ErrConflict):
		return conflict
	}
	return unknown
}

// aPut matches every PUT.
func aPut(r *http.Request) bool { return r.Method == http.MethodPut }

// One fault of the network or the server at the first PUT of either kind, under
// both SDKs: what the caller hears, how often it was sent, and what the store
// holds (B07, B42).
func TestFaults(t *testing.T) {
	type want struct {
		outcome outcome
		puts    int
		holds   string
	}
	f := func(kind wirefault.Kind, absent, match want) {
		t.Helper()
		each(t, func(t *testing.T, open func(*testing.T, place) store.Store) {
			b := bucket(t)
			plain := open(t, place{bucket: b, secret: gateway.SecretKey})
			head, err := plain.Put(t.Context(), "match", []byte("old"), store.IfAbsent())
			if err != nil {
				t.Fatal(err)
			}
			for key, cond := range map[string]store.Cond{"absent": store.IfAbsent(), "match": store.IfMatch(head.ETag)} {
				want := map[string]want{"absent": absent, "match": match}[key]
				met := &wirefault.Transport{Pick: wirefault.Script(aPut, kind)}
				s := open(t, place{bucket: b, secret: gateway.SecretKey, transport: met})
				_, err := s.Put(t.Context(), key, []byte("new"), cond)
				if got, puts := outcomeOf(err), met.Method(http.MethodPut); got != want.outcome || puts != want.puts || met.Met()[kind] != 1 {
					t.Errorf("%s, %s: %s after %d requests, want %s after %d: %v", kind, key, got, puts, want.outcome, want.puts, err)
				}
				o, err := plain.Get(t.Context(), key, store.Span{})
				if err != nil && !errors.Is(err, store.ErrNotExist) || string(o.Body) != want.holds {
					t.Errorf("%s: %s holds %q, err %v, want %q", kind, key, o.Body, err, want.holds)
				}
			}
		})
	}
	// It took effect. What is created once is sent again and meets itself; a
	// head is not, and must be read.
	f(wirefault.LostAnswer, want{conflict, 2, "new"}, want{unknown, 1, "new"})
	f(wirefault.Arrived500, want{conflict, 2, "new"}, want{unknown, 1, "new"})
	f(wirefault.FalseOKDone, want{conflict, 2, "new"}, want{unknown, 1, "new"})
	f(wirefault.OwnConflict, want{conflict, 1, "new"}, want{conflict, 1, "new"})
	// It did not: only what is created once is sent again.
	f(wirefault.SlowDown, want{success, 2, "new"}, want{unknown, 1, "old"})
	f(wirefault.Internal, want{success, 2, "new"}, want{unknown, 1, "old"})
	f(wirefault.FalseOK, want{success, 2, "new"}, want{unknown, 1, "old"})
	f(wirefault.ResetRequest, want{success, 2, "new"}, want{unknown, 1, "old"})
	// The loser of a race, and the plain no: neither is sent again.
	f(wirefault.Conflict, want{conflict, 1, ""}, want{conflict, 1, "old"})
	f(wirefault.NotMet, want{conflict, 1, ""}, want{conflict, 1, "old"})
}

// tampered spoils the body of a PUT on its way.
type tampered struct{}

// RoundTrip implements http.RoundTripper.
func (tampered) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPut {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body[0] ^= 1
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(strings.NewReader(string(body)))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// A body that was damaged on its way is refused by the store, in words.
func TestDamagedBody(t *testing.T) {
	each(t, func(t *testing.T, open func(*testing.T, place) store.Store) {
		s := open(t, place{bucket: bucket(t), secret: gateway.SecretKey, transport: tampered{}})
		_, err := s.Put(t.Context(), "k", []byte("body"), store.IfAbsent())
		if outcomeOf(err) != unknown || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("err %v, want it damaged", err)
		}
		if _, err := s.Stat(t.Context(), "k"); !errors.Is(err, store.ErrNotExist) {
			t.Errorf("the damaged body was kept: err %v", err)
		}
	})
}

// The mistakes of an operator, as a real server answers them: one line that
// says what to do, no secret in it.
func TestOperatorErrors(t *testing.T) {
	each(t, func(t *testing.T, open func(*testing.T, place) store.Store) {
		f := func(p place, want ...string) {
			t.Helper()
			_, err := store.Probe(t.Context(), open(t, p))
			if err == nil {
				t.Errorf("%+v: no error", p)
				return
			}
			for _, word := range want {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%v\nwant %q", err, word)
				}
			}
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), p.secret) {
				t.Errorf("%q: want one line without a secret", err)
			}
		}
		// Wrong bucket.
		f(place{bucket: "puddle", secret: gateway.SecretKey}, "bucket puddle", "no such bucket", "create it")
		// Wrong secret.
		f(place{bucket: bucket(t), secret: "WRONGSECRET123456"}, "the secret key is wrong")
	})
}
