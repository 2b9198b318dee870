// Package network puts the real command on bad networks: Shopify's toxiproxy
// stands between it and a real Kafka, or a real S3 server, and cuts, slows,
// halves and resets the connections. Whatever it was, the command goes on by
// itself when it is over, and the rows are those that were sent.
package network

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
)

func TestMain(m *testing.M) {
	zerolog.SetGlobalLevel(zerolog.Disabled) // toxics log to one of their own
	os.Exit(lakeweirtest.Main(m))
}

// link is a connection between two places that can go bad.
type link struct {
	t     testing.TB
	proxy *toxiproxy.Proxy
}

// newLink listens at an address and passes on to another.
func newLink(t testing.TB, listen, upstream string) *link {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	l := &link{t: t, proxy: toxiproxy.NewProxy(server, "link", listen, upstream)}
	if err := l.proxy.Start(); err != nil {
		t.Fatalf("start the proxy: %v", err)
	}
	t.Cleanup(l.proxy.Stop)
	return l
}

// freeAddr returns an address that nobody listens at.
func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// toxic makes the link bad in one direction until the function that it returns
// is called, which closes connections that hold back data.
func (l *link) toxic(kind, direction, attributes string) (mend func()) {
	l.t.Helper()
	name := kind + direction
	text := fmt.Sprintf(`{"name": %q, "type": %q, "stream": %q, "attributes": {%s}}`, name, kind, direction, attributes)
	if _, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
		l.t.Fatalf("toxic %s: %v", text, err)
	}
	return func() {
		if err := l.proxy.Toxics.RemoveToxic(l.t.Context(), name); err != nil {
			l.t.Errorf("remove toxic %s: %v", name, err)
		}
	}
}

// badness is one way for a network to be bad.
type badness struct {
	name  string
	apply func(*link) (mend func())
	stops bool // nothing gets through
}

// both applies a toxic in both directions.
func both(kind, attributes string) func(*link) func() {
	return func(l *link) func() {
		up, down := l.toxic(kind, "upstream", attributes), l.toxic(kind, "downstream", attributes)
		return func() { up(); down() }
	}
}

var badnesses = []badness{
	// Connections are closed, new ones refused.
	{"cut", func(l *link) func() {
		l.proxy.Stop()
		return func() {
			if err := l.proxy.Start(); err != nil {
				l.t.Errorf("start the proxy again: %v", err)
			}
		}
	}, true},
	// Connections stay, and nothing comes through any more.
	{"half open", both("timeout", `"timeout": 0`), true},
	// Requests arrive, answers do not.
	{"answers lost", func(l *link) func() { return l.toxic("timeout", "downstream", `"timeout": 0`) }, true},
	// Each connection is reset when the first bytes of an answer come.
	{"reset", func(l *link) func() { return l.toxic("reset_peer", "downstream", `"timeout": 0`) }, true},
	// 100 ms more, each way, and 100 KB/s.
	{"slow", func(l *link) func() {
		a := both("latency", `"latency": 100, "jitter": 50`)(l)
		b := both("bandwidth", `"rate": 100`)(l)
		return func() { b(); a() }
	}, false},
	// Packets of some 50 bytes.
	{"sliced", both("slicer", `"average_size": 50, "size_variation": 20, "delay": 100`), false},
}
