package soak

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// kind is what happens to a PUT.
type kind string

const (
	refused kind = "refused" // 503 or 500, and the store has not seen it
	busy    kind = "busy"    // 409, and the store has not seen it
	unheard kind = "unheard" // the store has taken it, the connection is cut before the answer
	denied  kind = "denied"  // the store has taken it, the answer is 500
	slow    kind = "slow"    // held for a while, then passed on
	late    kind = "late"    // the connection is cut at once, the store gets it later
)

// kinds are all of them, in the order that a seed picks from.
var kinds = []kind{refused, busy, unheard, denied, slow, late}

// wire stands between the processes and the gateway.
type wire struct {
	server *httptest.Server
	proxy  *httputil.ReverseProxy
	target *url.URL

	mu     sync.Mutex
	random *rand.Rand
	share  float64             // of the PUTs that fail
	pause  time.Duration       // of every request
	hold   func(*http.Request) // sees a PUT before the store does, and may take its time
	seen   int                 // requests of any kind
	puts   int                 // of them
	faults map[kind]int        // injected
	late   sync.WaitGroup      // PUTs still on their way
}

func newWire(t *testing.T, random *rand.Rand) *wire {
	t.Helper()
	target, err := url.Parse(gate.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{target: target, random: random, faults: map[kind]int{}}
	w.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // the signature of a request covers it
		},
		// A process that was killed cuts its requests.
		ErrorHandler: func(rw http.ResponseWriter, _ *http.Request, _ error) { rw.WriteHeader(http.StatusBadGateway) },
		Transport:    &http.Transport{MaxIdleConnsPerHost: 64},
	}
	w.server = httptest.NewServer(w)
	t.Cleanup(func() {
		w.server.CloseClientConnections() // of processes that are stopped
		w.server.Close()
		w.late.Wait()
	})
	return w
}

func (w *wire) addr() string { return w.server.Listener.Addr().String() }

// set changes how the store behaves.
func (w *wire) set(f func(w *wire)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w)
}

// count returns how many PUTs came, and how many failed of each kind.
func (w *wire) count() (puts int, faults map[kind]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.puts, maps.Clone(w.faults)
}

// requests returns how many came, of any kind.
func (w *wire) requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

// fate decides what happens to a request.
func (w *wire) fate(r *http.Request) (k kind, wait time.Duration, hold func(*http.Request)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen++
	if r.Method != http.MethodPut {
		return "", w.pause, nil
	}
	w.puts++
	if w.random == nil || w.random.Float64() >= w.share {
		return "", w.pause, w.hold
	}
	k = kinds[w.random.IntN(len(kinds))]
	w.faults[k]++
	return k, w.pause + time.Duration(w.random.IntN(2000))*time.Millisecond, w.hold
}

func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	k, wait, hold := w.fate(r)
	// Whoever has not read a request does not notice that its sender gave up.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the process was killed in the middle of it
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if hold != nil {
		hold(r)
	}
	switch k {
	case refused:
		fail(rw, []int{http.StatusServiceUnavailable, http.StatusInternalServerError}[wait%2])
	case busy:
		fail(rw, http.StatusConflict)
	case unheard:
		w.proxy.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case denied:
		w.proxy.ServeHTTP(httptest.NewRecorder(), r)
		fail(rw, http.StatusInternalServerError)
	case late:
		w.postpone(r, body, wait)
		panic(http.ErrAbortHandler)
	default:
		if k == "" {
			w.mu.Lock()
			wait = w.pause
			w.mu.Unlock()
		}
		if wait > 0 && !rest(r, wait) {
			panic(http.ErrAbortHandler)
		}
		w.proxy.ServeHTTP(rw, r)
	}
}

// rest waits, and reports whether the client did too.
func rest(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// codes are the errors of S3 by status.
var codes = map[int]string{
	http.StatusServiceUnavailable: "SlowDown", http.StatusInternalServerError: "InternalError",
	http.StatusConflict: "ConditionalRequestConflict",
}

// fail answers as a store does.
func fail(rw http.ResponseWriter, status int) {
	rw.Header().Set("Content-Type", "application/xml")
	rw.WriteHeader(status)
	fmt.Fprintf(rw, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>injected</Message></Error>`, codes[status])
}

// postpone sends a request later, when nobody waits for it any more.
func (w *wire) postpone(r *http.Request, body []byte, wait time.Duration) {
	out, err := http.NewRequest(r.Method, w.target.String()+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return // not a request that a client of ours makes
	}
	out.Header, out.Host, out.ContentLength = r.Header.Clone(), r.Host, int64(len(body))
	w.late.Go(func() {
		time.Sleep(wait)
		if res, err := w.proxy.Transport.RoundTrip(out); err == nil {
			_ = res.Body.Close()
		}
	})
}

// told returns the faults as text.
func told(faults map[kind]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(faults)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, faults[k]))
	}
	return strings.Join(parts, ", ")
}
