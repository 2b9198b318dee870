package source

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The ways in which brokers are not there.
var (
	refused = func(context.Context) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	// hanging is a host that drops what is sent to it.
	hanging = func(ctx context.Context) (net.Conn, error) {
		t := time.NewTimer(dialTimeout)
		defer t.Stop()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.C:
			return nil, &net.OpError{Op: "dial", Err: errors.New("i/o timeout")}
		}
	}
	// closing is a proxy without anybody behind it.
	closing = func(context.Context) (net.Conn, error) {
		a, b := net.Pipe()
		b.Close()
		return a, nil
	}
)

// While no broker answers for 10 minutes, a process with a hundred partitions
// that all have questions opens at most two connections a second, whether it is
// in a group or not; when brokers are back it goes on within 10 s.
func TestOutage(t *testing.T) {
	const partitions = 100
	f := func(name, group string, fault func(context.Context) (net.Conn, error)) {
		t.Run(name+group, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, p *pipes) {
				p.create(t, "t", partitions)
				var answers atomic.Int32
				cfg, log := p.config("t"), &lines{}
				cfg.Group, cfg.Log = group, logTo(log)
				leave := start(t, cfg, func(ctx context.Context, p *Partition) error {
					for ctx.Err() == nil {
						if _, err := p.Identity(ctx); err == nil {
							answers.Add(1)
						}
						sleep(ctx, time.Second)
					}
					return ctx.Err()
				})
				time.Sleep(5 * time.Second)
				if answers.Load() < partitions {
					t.Fatalf("%d answers before the outage", answers.Load())
				}
				p.breaks(fault)
				time.Sleep(30 * time.Second) // what is left of the time before
				p.breaks(fault)
				answers.Store(0)
				const minutes = 10
				time.Sleep(minutes * time.Minute)
				dials := p.breaks(nil)
				if answers.Load() != 0 {
					t.Errorf("%d answers in the outage", answers.Load())
				}
				t.Logf("%.0f connections a minute", float64(dials)/minutes)
				if dials == 0 || dials > 120*minutes {
					t.Errorf("%d connections in %d minutes", dials, minutes)
				}
				if n := log.count("no broker answers, trying on"); n < minutes-1 || n > minutes+3 {
					t.Errorf("told %d times in %d minutes", n, minutes)
				}
				time.Sleep(10 * time.Second)
				if answers.Load() < partitions {
					t.Errorf("%d answers after the outage", answers.Load())
				}
				if log.count("brokers answer again") != 1 {
					t.Errorf("log:\n%s", log.text.String())
				}
				leave()
			})
		})
	}
	f("refused", "", refused)
	f("refused", "g", refused)
	f("hanging", "", hanging)
	f("closing", "", closing)
	f("closing", "g", closing)
}

// A broker whose fetches fail while it answers everything else is asked again
// ever more slowly: not a hundred times a second.
func TestFailingFetches(t *testing.T) {
	inBubble(t, func(t *testing.T, p *pipes) {
		p.create(t, "t", 10)
		var fetches, looks atomic.Int32
		p.ControlKey(keyFetch, func(kmsg.Request) (kmsg.Response, error, bool) {
			p.KeepControl()
			fetches.Add(1)
			return nil, errors.New("cut"), true
		})
		p.ControlKey(keyMetadata, func(kmsg.Request) (kmsg.Response, error, bool) {
			p.KeepControl()
			looks.Add(1)
			return nil, nil, false
		})
		leave := start(t, p.config("t"), func(ctx context.Context, p *Partition) error {
			_, err := read(ctx, p, 0, 1)
			return err
		})
		time.Sleep(time.Minute)
		fetches.Store(0)
		looks.Store(0)
		time.Sleep(time.Minute)
		if n := fetches.Load(); n == 0 || n > 90 {
			t.Errorf("%d fetches in a minute", n)
		}
		if n := looks.Load(); n > 3*90 {
			t.Errorf("%d looks for leaders in a minute", n)
		}
		leave()
	})
}

// Pauses are spread over half to one and a half of what they are.
func TestJitter(t *testing.T) {
	low, high := time.Hour, time.Duration(0)
	for range 1000 {
		d := jitter(time.Second)
		low, high = min(low, d), max(high, d)
	}
	if low < time.Second/2 || high > 3*time.Second/2 || high-low < time.Second*9/10 {
		t.Errorf("between %v and %v", low, high)
	}
	if d := jitter(0); d != 0 {
		t.Errorf("no pause became %v", d)
	}
}

// Connections that end every 30 s, as a limit of their age makes them, lose and
// repeat nothing.
func TestShortConnections(t *testing.T) {
	for _, group := range []string{"", "g"} {
		inBubble(t, func(t *testing.T, p *pipes) {
			p.create(t, "t", 3)
			cfg := p.config("t")
			cfg.Group = group
			h := newHistory()
			leave := start(t, cfg, h.follow)
			cl, err := kgo.NewClient(kgo.SeedBrokers(p.ListenAddrs()...), kgo.Dialer(p.network.DialContext), kgo.RecordPartitioner(kgo.ManualPartitioner()))
			if err != nil {
				t.Fatal(err)
			}
			for i := range 200 {
				for id := range int32(3) {
					produce(t, cl, "t", id, fmt.Sprint(i))
				}
				if i%30 == 29 {
					p.breaks(nil)
				}
				time.Sleep(time.Second)
			}
			time.Sleep(10 * time.Second)
			cl.Close()
			leave()
			h.check(t, 3, 200)
		}, kfake.NumBrokers(1))
	}
}

// history is what was read of each partition, over all works, from offset 0.
type history struct {
	mu   sync.Mutex
	next map[int32]int64
	seen map[int32]int
}

func newHistory() *history { return &history{next: map[int32]int64{}, seen: map[int32]int{}} }

// follow is a work that goes on where the one before it was.
func (h *history) follow(ctx context.Context, p *Partition) error {
	h.mu.Lock()
	at := h.next[p.ID()]
	h.mu.Unlock()
	if err := p.Seek(ctx, at); err != nil {
		return err
	}
	for {
		b, err := p.Read(ctx)
		if err != nil {
			return err
		}
		h.mu.Lock()
		h.seen[p.ID()] += b.Len()
		h.next[p.ID()] = b.Next
		h.mu.Unlock()
		p.router.c.Room.Release(b.Size())
	}
}

// check fails unless each partition was read to its end, once.
func (h *history) check(t *testing.T, partitions, records int) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range int32(partitions) {
		if h.seen[id] != records || h.next[id] != int64(records) {
			t.Errorf("partition %d: %d records up to offset %d, want %d", id, h.seen[id], h.next[id], records)
		}
	}
}
