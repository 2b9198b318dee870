package wirefault

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// server keeps the last body that arrived whole, and answers "0123456789".
type server struct {
	arrived int
	last    string
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.last = string(body)
	}
	s.arrived++
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("0123456789")), ContentLength: 10, Request: r}, nil
}

// What each fault is, to the caller and to the server.
func TestKinds(t *testing.T) {
	f := func(k Kind, method string, arrived, status int, body string, lasts time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			srv := &server{}
			tr := &Transport{Next: srv, Pick: Script(nil, k)}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, method, "http://h/b/k", strings.NewReader("abcdef"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("If-None-Match", "*")
			begin := time.Now()
			resp, err := tr.RoundTrip(r)
			got, code := "", 0
			if err == nil {
				code = resp.StatusCode
				var b []byte
				if b, err = io.ReadAll(resp.Body); int64(len(b)) != resp.ContentLength && err == nil {
					t.Errorf("%s: %d bytes, Content-Length %d", k, len(b), resp.ContentLength)
				}
				got = string(b)
			}
			if err != nil {
				got += "; " + err.Error()
			}
			tr.Wait()
			if srv.arrived != arrived || code != status || !strings.Contains(got, body) || time.Since(begin) != lasts {
				t.Errorf("%s: arrived %d, %d %q after %v, want %d, %d %q after %v", k, srv.arrived, code, got, time.Since(begin), arrived, status, body, lasts)
			}
			if tr.Requests() != 1 || tr.Method(method) != 1 || (k != "") != (tr.Met()[k] == 1) {
				t.Errorf("%s: %d requests, met %v", k, tr.Requests(), tr.Met())
			}
			if srv.arrived > 0 && srv.last != "abcdef" {
				t.Errorf("%s: the body arrived as %q", k, srv.last)
			}
		})
	}
	f("", "PUT", 1, 200, "0123456789", 0)
	f(LostAnswer, "PUT", 1, 0, "connection reset", 0)
	f(ResetRequest, "PUT", 0, 0, "connection reset", 0)
	f(ResetAnswer, "GET", 1, 200, "01234; read tcp: connection reset", 0)
	f(Stall, "PUT", 0, 0, "deadline", time.Minute)
	f(StallAnswer, "GET", 1, 200, "01234; context deadline", time.Minute)
	f(Late, "PUT", 1, 0, "deadline", time.Minute)
	f(Internal, "PUT", 0, 500, "<Code>InternalError<", 0)
	f(Arrived500, "PUT", 1, 500, "<Code>InternalError<", 0)
	f(SlowDown, "GET", 0, 503, "<Code>SlowDown<", 0)
	f(Expired, "GET", 0, 403, "<Code>ExpiredToken<", 0)
	f(Conflict, "PUT", 0, 409, "<Code>ConditionalRequestConflict<", 0)
	f(NotMet, "PUT", 0, 412, "<Code>PreconditionFailed<", 0)
	f(OwnConflict, "PUT", 1, 412, "<Code>PreconditionFailed<", 0)
	f(FalseOK, "PUT", 0, 200, "<Code>InternalError<", 0)
	f(FalseOKDone, "PUT", 1, 200, "<Code>InternalError<", 0)
	f(WrongByte, "GET", 1, 200, "012345678", 0) // the last one, by chance of the place
	f(Shorter, "GET", 1, 200, "01234", 0)
	f(Longer, "GET", 1, 200, "0123456789\n", 0)
	f(SlowDown, "HEAD", 0, 503, "", 0) // which has no body to tell with
}

// A fault that does not suit is none.
func TestSuits(t *testing.T) {
	for _, k := range []Kind{WrongByte, Shorter, Longer, ResetAnswer, StallAnswer, ResetRequest, Conflict, FalseOK} {
		srv := &server{}
		tr := &Transport{Next: srv, Pick: Script(nil, k)}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, "http://h/b/k", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(r)
		if err != nil || resp.StatusCode != 200 || len(tr.Met()) != 0 {
			t.Errorf("%s met a DELETE: %v, err %v", k, tr.Met(), err)
		}
	}
}

// The same seed meets the same requests with the same faults.
func TestSeeded(t *testing.T) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h/b/k", nil)
	if err != nil {
		t.Fatal(err)
	}
	run := func(seed uint64) (picks string, met int) {
		pick := Seeded(seed, 0.3, Kinds...)
		for n := range 1000 {
			k := pick(n, r)
			if k != "" {
				met++
				if !k.Suits(r) {
					t.Errorf("%s does not suit", k)
				}
			}
			picks += string(k) + ","
		}
		return picks, met
	}
	a, met := run(1)
	if again, _ := run(1); again != a || met < 250 || met > 350 {
		t.Errorf("%d faults, equal %v", met, again == a)
	}
	if other, _ := run(2); other == a {
		t.Error("another seed is the same")
	}
}

// A script meets what matches, in order.
func TestScript(t *testing.T) {
	pick := Script(func(r *http.Request) bool { return r.Method == http.MethodPut }, Stall, "", SlowDown)
	var got []Kind
	for _, method := range []string{"GET", "PUT", "PUT", "GET", "PUT", "PUT"} {
		got = append(got, pick(0, &http.Request{Method: method}))
	}
	want := []Kind{"", Stall, "", "", SlowDown, ""}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got, want)
			break
		}
	}
}
