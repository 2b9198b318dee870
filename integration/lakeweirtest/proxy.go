package lakeweirtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lakeweir/lakeweir/integration/gateway"
)

// gate is the one gateway of a test binary: a process can run no second one.
var gate struct {
	sync.Mutex
	gateway *gateway.Gateway
	dir     string // its buckets are folders of it, objects plain files
}

// Gateway returns the gateway of this test binary, which Main ends, and the
// folder that its buckets are folders of.
func Gateway() (*gateway.Gateway, string, error) {
	g, err := sharedGate()
	return g, gate.dir, err
}

func sharedGate() (*gateway.Gateway, error) {
	gate.Lock()
	defer gate.Unlock()
	if gate.gateway != nil {
		return gate.gateway, nil
	}
	dir := filepath.Join(scratch, "buckets")
	err := os.Mkdir(dir, 0o755)
	if err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	gate.dir = dir
	gate.gateway, err = gateway.Start(dir)
	return gate.gateway, err
}

func stopGate() {
	gate.Lock()
	defer gate.Unlock()
	if gate.gateway != nil {
		gate.gateway.Stop()
	}
}

// Call is a request to the store: the key is relative to the folder of the table.
type Call struct {
	Method, Key string
	Body        []byte
}

// Proxy stands between the command and an S3 server.
type Proxy struct {
	mu     sync.Mutex
	before func(Call) int // a status other than 0 is the answer instead
	after  func(Call)     // told when the server has taken the request, before the answer goes back

	server *httptest.Server
	target http.Handler
	prefix string // of paths: bucket and table folder
}

// NewProxy returns a proxy with a new bucket behind it, and that as a place.
func NewProxy(t testing.TB) (*Proxy, Place) {
	t.Helper()
	g, err := sharedGate()
	if err != nil {
		t.Fatalf("start the gateway: %v", err)
	}
	bucket, err := g.Bucket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(g.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{prefix: "/" + bucket + "/raw/"}
	p.target = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // the signature of a request covers it
	}}
	p.server = httptest.NewServer(p)
	t.Cleanup(p.server.Close)
	settings := fmt.Sprintf("store: s3://%s/raw\ns3: {endpoint: %q, region: %s}", bucket, p.server.URL, gateway.Region)
	return p, Place{Settings: settings, Root: filepath.Join(gate.dir, bucket, "raw")}
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process has died
	}
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, p.prefix), "/") // behind the topic
	call := Call{Method: r.Method, Key: key, Body: body}
	before, after := p.hooks()
	if before != nil {
		if status := before(call); status != 0 {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<Error><Code>SlowDown</Code><Message>injected</Message></Error>")
			return
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	p.target.ServeHTTP(answer, r)
	if after != nil && answer.Code < http.StatusMultipleChoices {
		after(call)
	}
	for k, v := range answer.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// Refuse asks f about each request before it is passed on: a status other than 0
// is the answer instead. It is called from many goroutines; nil passes all.
func (p *Proxy) Refuse(f func(Call) int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = f
}

func (p *Proxy) setAfter(f func(Call)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = f
}

func (p *Proxy) hooks() (before func(Call) int, after func(Call)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.before, p.after
}

// Crash starts `lakeweir run` with flags and kills it with SIGKILL when the
// store has taken the n-th request that match likes, before the answer goes back.
func (p *Proxy) Crash(t testing.TB, s *Sink, n int, match func(Call) bool, flags ...string) {
	t.Helper()
	var mu sync.Mutex // held until the victim is known
	var victim *Process
	mu.Lock()
	p.setAfter(func(c Call) {
		mu.Lock()
		defer mu.Unlock()
		if n == 0 || !match(c) {
			return
		}
		if n--; n == 0 {
			victim.Kill()
		}
	})
	victim = s.Start(t, flags...)
	mu.Unlock()
	r := victim.Wait()
	mu.Lock()
	defer mu.Unlock()
	p.setAfter(nil)
	if n > 0 || r.Code != -1 {
		t.Fatalf("the command ended with %d before it was killed:\n%s", r.Code, r.Log)
	}
}

// PutsData matches the PUT of a data file.
func PutsData(c Call) bool {
	return c.Method == http.MethodPut && strings.HasPrefix(c.Key, "data/")
}

// Plans matches the PUT of a head that has a pending plan.
func Plans(c Call) bool {
	var h Head
	return c.Method == http.MethodPut && strings.HasPrefix(c.Key, "manifest/") && json.Unmarshal(c.Body, &h) == nil && h.Pending != nil
}
