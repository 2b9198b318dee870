package wiretest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/internal/tabletest"
	"github.com/lakeweir/lakeweir/internal/verify"
	"github.com/lakeweir/lakeweir/internal/wirefault"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/fakes3"
)

// onlyGet matches the reads of objects.
func onlyGet(r *http.Request) bool {
	return r.Method == http.MethodGet && !r.URL.Query().Has("list-type")
}

// flip changes one byte of the body of every GET.
type flip struct {
	next http.RoundTripper
	at   int
	to   byte
}

func (f *flip) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := f.next.RoundTrip(r)
	if err == nil && onlyGet(r) && resp.StatusCode == http.StatusOK {
		body := make([]byte, resp.ContentLength)
		if n, _ := resp.Body.Read(body); n != len(body) {
			return nil, errors.New("read in parts")
		}
		body[f.at] = f.to
		resp.Body = readCloser{strings.NewReader(string(body))}
	}
	return resp, err
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// A head whose digits were changed on the way is not a head: each digit of it,
// each in turn, is refused, also where the JSON stays valid and adds up.
func TestNoDigitOfAHeadIsTaken(t *testing.T) {
	each(t, func(t *testing.T, open func(context.Context, http.RoundTripper) (store.Store, error)) {
		srv := &fakes3.Server{}
		tr := &flip{next: fakes3.Inside{Server: srv}}
		plain, err := open(t.Context(), tr.next)
		if err != nil {
			t.Fatal(err)
		}
		if err := tabletest.Write(t.Context(), plain, &tabletest.Log{N: 20, Wide: 1}); err != nil {
			t.Fatal(err)
		}
		s, err := open(t.Context(), tr)
		if err != nil {
			t.Fatal(err)
		}
		o, err := plain.Get(t.Context(), "manifest/00000.json", store.Span{})
		if err != nil {
			t.Fatal(err)
		}
		digits := 0
		for at, c := range o.Body {
			if c < '0' || c > '9' {
				continue
			}
			digits++
			tr.at, tr.to = at, '0'+(c-'0'+1)%10
			if h, err := manifest.Read(t.Context(), s, 0); !errors.Is(err, store.ErrDamaged) {
				t.Fatalf("byte %d: next %d, err %v", at, h.Next, err)
			}
		}
		if digits < 200 {
			t.Errorf("%d digits", digits)
		}
	})
}

// One bad answer is asked again at once; two are told, and a part of a body
// that broke off too.
func TestReadsAreTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, open func(context.Context, http.RoundTripper) (store.Store, error)) {
		f := func(k wirefault.Kind, times int, span store.Span, want error, gets int) {
			t.Helper()
			srv := &fakes3.Server{}
			kinds := make([]wirefault.Kind, times)
			for i := range kinds {
				kinds[i] = k
			}
			tr := &wirefault.Transport{Next: fakes3.Inside{Server: srv}, Pick: wirefault.Script(onlyGet, kinds...)}
			s, err := open(t.Context(), tr)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Put(t.Context(), "k", []byte("0123456789"), store.IfAbsent()); err != nil {
				t.Fatal(err)
			}
			o, err := s.Get(t.Context(), "k", span)
			if (err == nil) != (want == nil) || want != errAny && !errors.Is(err, want) || tr.Method(http.MethodGet) != gets {
				t.Errorf("%d x %s: err %v after %d gets, want %v after %d", times, k, err, tr.Method(http.MethodGet), want, gets)
			}
			if err == nil && string(o.Body) != "0123456789"[span.Offset:] {
				t.Errorf("%d x %s: body %q", times, k, o.Body)
			}
		}
		all, part := store.Span{}, store.Span{Offset: 4}
		for _, k := range []wirefault.Kind{wirefault.WrongByte, wirefault.Shorter, wirefault.Longer} {
			f(k, 1, all, nil, 2)
			f(k, 2, all, store.ErrDamaged, 2)
		}
		f(wirefault.ResetAnswer, 1, all, nil, 2)
		f(wirefault.ResetAnswer, 2, all, errAny, 2)
		f(wirefault.ResetAnswer, 1, part, nil, 2)
		// Not as long as the answer says that it is.
		f(wirefault.Shorter, 1, part, nil, 2)
		// A stall is the end of the call's time, and no reason to ask again.
		f(wirefault.StallAnswer, 1, all, errAny, 1)
	})
}

// errAny stands for an error of any kind.
var errAny = errors.New("any")

// What lies damaged in the store is damage to verify, and to a claim a store
// that cannot be read yet: it writes nothing and waits for the operator.
func TestDamagedWhereItLies(t *testing.T) {
	each(t, func(t *testing.T, open func(context.Context, http.RoundTripper) (store.Store, error)) {
		srv := &fakes3.Server{}
		s, err := open(t.Context(), fakes3.Inside{Server: srv})
		if err != nil {
			t.Fatal(err)
		}
		if err := tabletest.Write(t.Context(), s, &tabletest.Log{N: 14, Wide: 1}); err != nil {
			t.Fatal(err)
		}
		h, err := manifest.Read(t.Context(), s, 0)
		if err != nil {
			t.Fatal(err)
		}
		key := h.Ranges[0].Data[0].Key
		for _, key := range []string{key, h.HeadKey()} {
			o, err := srv.Objects.Get(t.Context(), key, store.Span{})
			if err != nil {
				t.Fatal(err)
			}
			o.Body[len(o.Body)/2] ^= 1
			if _, err := srv.Objects.Put(t.Context(), key, o.Body, store.Blind()); err != nil {
				t.Fatal(err)
			}
			kind := verify.BadHash
			if key == h.HeadKey() {
				kind = verify.BadHead
			}
			found := false
			for f, err := range verify.Run(t.Context(), s, verify.Options{Deep: true}) {
				if err != nil {
					t.Fatalf("%s: %v", key, err)
				}
				found = found || f.Kind == kind && f.Key == key
			}
			if !found {
				t.Errorf("verify does not find %s at %s", kind, key)
			}
		}
		puts := len(srv.Requests(http.MethodPut))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := manifest.Claim(ctx, s, manifest.Claimant{Table: "t"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("claim: %v", err)
		}
		if n := len(srv.Requests(http.MethodPut)); n != puts {
			t.Errorf("%d writes over a damaged head", n-puts)
		}
	})
}
