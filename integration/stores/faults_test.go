package stores_test

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/lakeweir/lakeweir/integration/gateway"
	"github.com/lakeweir/lakeweir/store"
)

// faulty carries requests to the gateway, but for the first PUT, which meets a
// fault.
type faulty struct {
	lost bool   // it arrives, and the answer does not come
	code string // it does not arrive, and this is the answer, such as "503 SlowDown"

	mu   sync.Mutex
	puts int
}

// RoundTrip implements http.RoundTripper.
func (f *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPut {
		return http.DefaultTransport.RoundTrip(r)
	}
	f.mu.Lock()
	f.puts++
	first := f.puts == 1
	f.mu.Unlock()
	switch {
	case first && f.lost:
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		resp.Body.Close()
		return nil, errors.New("read: connection reset by peer")
	case first && f.code != "":
		return answer(r, f.code)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func answer(r *http.Request, code string) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	status, name, _ := strings.Cut(code, " ")
	n, err := strconv.Atoi(status)
	if err != nil {
		return nil, err
	}
	body := "<Error><Code>" + name + "</Code><Message>injected</Message></Error>"
	return &http.Response{
		StatusCode: n, Status: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/xml"}},
		Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

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

// One fault of the network or the server at one PUT of either kind, under both
// SDKs: what the caller hears, how often it was sent, and what the store holds.
func TestFaults(t *testing.T) {
	type want struct {
		outcome outcome
		puts    int
		holds   string
	}
	f := func(name string, fault *faulty, absent, match want) {
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
				met := &faulty{lost: fault.lost, code: fault.code}
				s := open(t, place{bucket: b, secret: gateway.SecretKey, transport: met})
				_, err := s.Put(t.Context(), key, []byte("new"), cond)
				if got := outcomeOf(err); got != want.outcome || met.puts != want.puts {
					t.Errorf("%s, %s: %s after %d requests, want %s after %d: %v", name, key, got, met.puts, want.outcome, want.puts, err)
				}
				o, err := plain.Get(t.Context(), key, store.Span{})
				if err != nil && !errors.Is(err, store.ErrNotExist) || string(o.Body) != want.holds {
					t.Errorf("%s: %s holds %q, err %v, want %q", name, key, o.Body, err, want.holds)
				}
			}
		})
	}
	// It took effect. What is created once is sent again and meets itself; a
	// head is not, and must be read.
	f("answer lost", &faulty{lost: true}, want{conflict, 2, "new"}, want{unknown, 1, "new"})
	// The store is busy: only what is created once is sent again.
	f("503", &faulty{code: "503 SlowDown"}, want{success, 2, "new"}, want{unknown, 1, "old"})
	f("500", &faulty{code: "500 InternalError"}, want{success, 2, "new"}, want{unknown, 1, "old"})
	// The loser of a race, and the plain no: neither is sent again.
	f("409", &faulty{code: "409 ConditionalRequestConflict"}, want{conflict, 1, ""}, want{conflict, 1, "old"})
	f("412", &faulty{code: "412 PreconditionFailed"}, want{conflict, 1, ""}, want{conflict, 1, "old"})
	// A head that is gone; a name that cannot be created because of 404 is no conflict.
	f("404", &faulty{code: "404 NoSuchKey"}, want{unknown, 1, ""}, want{conflict, 1, "old"})
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
