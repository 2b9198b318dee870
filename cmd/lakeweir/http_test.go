package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
)

// watchedSink is a sink that runs and is looked at from outside.
type watchedSink struct {
	root    *memory.Store
	failing atomic.Pointer[string] // part of the keys whose PUTs fail; "" is none
	signals chan os.Signal
	done    chan error
	log     *safeBuffer
	base    string // URL
}

// errStore is what a store says that is down, with what an operator may read.
var errStore = errors.New("s3 bucket lake: HTTP 503 SlowDown: the store is busy or failing")

// watchSink runs a sink whose pages are served on a free port. PUTs of keys
// that hold failing fail from the start, unless it is "".
func watchSink(t *testing.T, s *settings.Settings, failing string) *watchedSink {
	t.Helper()
	s.HTTP = "127.0.0.1:0"
	w := &watchedSink{root: &memory.Store{}, signals: make(chan os.Signal, 2), done: make(chan error, 1), log: &safeBuffer{}}
	w.fail(failing)
	faulty := fault.Wrap(w.root, func(_ context.Context, c fault.Call) fault.Action {
		if part := *w.failing.Load(); part != "" && c.Op == fault.Put && strings.Contains(c.Key, part) {
			return fault.Fail(errStore)
		}
		return fault.Action{}
	})
	o := runOptions{settings: s, signals: w.signals, open: func(context.Context) (store.Store, error) { return faulty, nil }}
	go func() { w.done <- runRun(t.Context(), o, w.log) }()
	address := regexp.MustCompile(`address=(\S+)`)
	w.until(t, "an address", func() bool {
		m := address.FindStringSubmatch(w.log.String())
		if m != nil {
			w.base = "http://" + m[1]
		}
		return m != nil
	})
	return w
}

// fail makes PUTs of keys that hold part fail; "" makes them pass.
func (w *watchedSink) fail(part string) { w.failing.Store(&part) }

// until waits for a condition that only shows from outside.
func (w *watchedSink) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); !is(); {
		select {
		case <-tick.C:
		case err := <-w.done:
			t.Fatalf("the sink ended before %s: %v, %s", what, err, w.log)
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("no %s in a minute: %s", what, w.log)
		}
	}
}

// get returns the status and the text of a page.
func (w *watchedSink) get(t *testing.T, path string) (int, string) {
	t.Helper()
	resp, err := http.Get(w.base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// says waits until /readyz has a status and a line that matches.
func (w *watchedSink) says(t *testing.T, status int, line string) {
	t.Helper()
	want, last := regexp.MustCompile(line), ""
	defer func() {
		if t.Failed() {
			t.Logf("the last answer of /readyz: %s", last)
		}
	}()
	w.until(t, line, func() bool {
		got, body := w.get(t, "/readyz")
		last = body
		return got == status && slices.ContainsFunc(strings.Split(body, "\n"), want.MatchString)
	})
}

// stop ends the sink by a signal.
func (w *watchedSink) stop(t *testing.T) {
	t.Helper()
	w.signals <- os.Interrupt
	if err := <-w.done; err != nil {
		t.Errorf("%v, %s", err, w.log)
	}
	if resp, err := http.Get(w.base + "/healthz"); err == nil {
		resp.Body.Close()
		t.Error("the pages are served after the end")
	}
}

// Readiness is false while the store takes nothing, says which partition waits
// for what in words, and is true again by itself; the process is healthy all
// the time, and nothing is lost (B42).
func TestReadiness(t *testing.T) {
	t.Parallel()
	f := func(part, line string) {
		t.Helper()
		c := broker(t)
		s := sinkSettings(c)
		w := watchSink(t, s, "")
		w.says(t, 200, "^ok: 2 partitions$")
		w.fail(part)
		// A store that is down hurts nobody while there is nothing to write.
		w.says(t, 200, "^ok: 2 partitions$")
		produce(t, c, 0, 10)
		for p := range 2 {
			w.says(t, 503, fmt.Sprintf(`^quakes/%d: %s for \d+s, tried \d+ times: .*HTTP 503 SlowDown`, p, line))
		}
		if status, body := w.get(t, "/healthz"); status != 200 || body != "ok\n" {
			t.Errorf("/healthz: %d %q", status, body)
		}
		if m := w.metrics(t); m[`lakeweir_can_publish{quakes,0}`] != 0 || m["lakeweir_ready{}"] != 0 || m[`lakeweir_lag_records{quakes,1}`] != 10 {
			t.Errorf("metrics while the store is down: %v", m)
		}
		w.fail("")
		w.says(t, 200, "^ok: 2 partitions$")
		w.until(t, "lag 0", func() bool { return w.metrics(t)["lakeweir_lag_records{quakes,0}"] == 0 })
		w.stop(t)
		for p := range int32(2) {
			if h, err := manifest.Read(t.Context(), store.Sub(w.root, "quakes/"), p); err != nil || h.Totals.Rows != 10 {
				t.Errorf("partition %d: %d rows, %v", p, h.Totals.Rows, err)
			}
		}
	}
	f("/data/", "the store has not taken an object")
	f("/manifest/", "the plan of a range is not in the head")
}

// A head that cannot be claimed is told from the first moment on.
func TestReadinessOfAClaim(t *testing.T) {
	t.Parallel()
	c := broker(t)
	s := sinkSettings(c)
	s.SingleWriter = true // the probe would fail before
	w := watchSink(t, s, "/manifest/")
	w.says(t, 503, `^quakes/1: no claim for \d+s, tried \d+ times: .*SlowDown`)
	w.fail("")
	w.says(t, 200, "^ok: 2 partitions$")
	w.stop(t)
}

// A partition that another process took is named, and stays not ready.
func TestReadinessOfAFencedPartition(t *testing.T) {
	t.Parallel()
	c := broker(t)
	produce(t, c, 0, 10)
	w := watchSink(t, sinkSettings(c), "")
	w.says(t, 200, "^ok: 2 partitions$")
	root := store.Sub(w.root, "quakes/")
	w.until(t, "10 rows", func() bool {
		h, err := manifest.Read(t.Context(), root, 0)
		return err == nil && h.Totals.Rows == 10
	})
	h, err := manifest.Read(t.Context(), root, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manifest.Claim(t.Context(), root, manifest.Claimant{
		Table: "quakes", Host: "another", Identity: record.Identity{Cluster: h.Identity.Cluster, Topic: h.Identity.Topic},
	}); err != nil {
		t.Fatal(err)
	}
	produce(t, c, 10, 10)
	w.says(t, 503, "^quakes/0: no claim for .*another")
	w.says(t, 503, "^quakes/0: stopped: .*another")
	m := w.metrics(t)
	if m["lakeweir_fences_total{quakes,0}"] != 1 || m["lakeweir_fences_total{quakes,1}"] != 0 || m["lakeweir_can_publish{quakes,0}"] != 0 || m["lakeweir_can_publish{quakes,1}"] != 1 {
		t.Errorf("metrics: %v", m)
	}
	w.stop(t)
}

// gate is a listener that a test can close and open again, as a network does.
type gate struct {
	net.Listener
	mu     sync.Mutex
	closed bool
	conns  []net.Conn
}

func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		g.mu.Lock()
		if !g.closed {
			g.conns = append(g.conns, c)
			g.mu.Unlock()
			return c, nil
		}
		g.mu.Unlock()
		c.Close()
	}
}

// set closes or opens the gate.
func (g *gate) set(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
	for _, c := range g.conns {
		c.Close()
	}
	g.conns = nil
}

// Brokers that do not answer are told, though nothing waits to be published,
// and so is that they are back.
func TestReadinessWithoutBrokers(t *testing.T) {
	t.Parallel()
	g := &gate{}
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "quakes"),
		kfake.ListenFn(func(network, address string) (net.Listener, error) {
			l, err := net.Listen(network, address)
			g.Listener = l
			return g, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := watchSink(t, sinkSettings(c), "")
	w.says(t, 200, "^ok: 2 partitions$")
	g.set(true)
	w.says(t, 503, `^no broker answers for \d+s: `)
	g.set(false)
	w.says(t, 200, "^ok: 2 partitions$")
	w.stop(t)
}

// What is waited for at the start is said: topics, and the group.
func TestReadinessAtTheStart(t *testing.T) {
	t.Parallel()
	c := broker(t)
	s := sinkSettings(c)
	s.Topics = append(s.Topics, settings.Topic{Name: "later"})
	s.WaitForTopics, s.Group = true, "lakeweir"
	w := watchSink(t, s, "")
	w.says(t, 503, "^waiting for topic later: it does not exist$")
	w.stop(t)
}

// An address that is in use, or none, ends the start with one line.
func TestListen(t *testing.T) {
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	path := t.TempDir()
	f := func(address, want string) {
		t.Helper()
		file := write(t, fmt.Sprintf("brokers: [\"127.0.0.1:1\"]\nstore: \"dir:%s\"\nhttp: %q\n%s", path, address, quakes))
		fails(t, exitError, want, "run", "-c", file, "--once")
	}
	f(l.Addr().String(), "http: "+l.Addr().String()+" is in use: stop what listens there, or give another address")
	f("192.0.2.1:1", "http: cannot listen on 192.0.2.1:1: ")
	f("nonsense", "http: cannot listen on nonsense: ")
	if none, err := listen(""); none != nil || err != nil {
		t.Errorf("no address: %v, %v", none, err)
	}
}
