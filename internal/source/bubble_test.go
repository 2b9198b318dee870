package source

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// pipes is a cluster whose connections are in memory, so that a bubble of
// testing/synctest holds all of it and its clock is the test's.
type pipes struct {
	*kfake.Cluster
	network kfake.VirtualNetwork

	mu    sync.Mutex
	fault func(ctx context.Context) (net.Conn, error) // in place of connections
	dials int
	open  map[net.Conn]bool
}

// inBubble runs a test with a cluster in memory and a clock of its own.
func inBubble(t *testing.T, do func(t *testing.T, p *pipes), opts ...kfake.Opt) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{open: map[net.Conn]bool{}}
		opts := append([]kfake.Opt{
			kfake.NumBrokers(1), kfake.ListenFn(p.network.Listen), kfake.Ports(9092), kfake.GroupMinSessionTimeout(time.Second),
		}, opts...)
		var err error
		if p.Cluster, err = kfake.NewCluster(opts...); err != nil {
			t.Fatal(err)
		}
		do(t, p)
		p.Close()
	})
}

// config is one with the default clocks.
func (p *pipes) config(patterns ...string) Config {
	c := Config{Brokers: p.ListenAddrs(), Room: &room{}, Dial: p.dial}
	for _, expr := range patterns {
		c.Patterns = append(c.Patterns, pattern(expr))
	}
	return c
}

func (p *pipes) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	p.mu.Lock()
	fault := p.fault
	p.dials++
	p.mu.Unlock()
	if fault != nil {
		return fault(ctx)
	}
	c, err := p.network.DialContext(ctx, network, addr)
	if err == nil {
		p.mu.Lock()
		p.open[c] = true
		p.mu.Unlock()
	}
	return c, err
}

// breaks cuts all connections, and makes new ones what fault says; nil makes
// them whole again. It returns how many were asked for since the last call.
func (p *pipes) breaks(fault func(ctx context.Context) (net.Conn, error)) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range maps.Clone(p.open) {
		c.Close()
		delete(p.open, c)
	}
	n := p.dials
	p.fault, p.dials = fault, 0
	return n
}

// admin sends a request and returns its response.
func admin[T kmsg.Response](t *testing.T, p *pipes, req kmsg.Request, opts ...kgo.Opt) T {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(p.ListenAddrs()...), kgo.Dialer(p.network.DialContext))...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	res, err := cl.Request(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res.(T)
}

func (p *pipes) create(t *testing.T, name string, partitions int) {
	t.Helper()
	if err := p.CreateTopic(name, int32(partitions), nil); err != nil {
		t.Fatal(err)
	}
}

func (p *pipes) grow(t *testing.T, name string, count int32) {
	t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = name, count
	req.Topics = append(req.Topics, rt)
	if res := admin[*kmsg.CreatePartitionsResponse](t, p, req); res.Topics[0].ErrorCode != 0 {
		t.Fatal(res)
	}
}

func (p *pipes) remove(t *testing.T, name string) {
	t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames = []string{name}
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.Topic = &name
	req.Topics = append(req.Topics, rt)
	if res := admin[*kmsg.DeleteTopicsResponse](t, p, req); res.Topics[0].ErrorCode != 0 {
		t.Fatal(res)
	}
}

// lines is a log that tests read.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

func logTo(l *lines) *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
