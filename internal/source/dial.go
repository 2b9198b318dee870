package source

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/lakeweir/lakeweir/internal/turns"
)

const (
	// dialTimeout bounds the way to one address, so that a host that drops
	// packets leaves time for the next one.
	dialTimeout = 3 * time.Second
	// connectTimeout bounds a connection with its handshake and login.
	connectTimeout = 8 * time.Second
	// idleTimeout closes connections of questions that were asked at once, as
	// when many partitions are claimed. Those of fetches are never idle so long.
	idleTimeout = 15 * time.Second
	// layoutTTL is how long kafka-go keeps the addresses of the brokers.
	// Leaders are our own knowledge, so this only delays meeting new brokers.
	layoutTTL = 2 * time.Second
	// maxQuestions is how many requests but for fetches run at once. kafka-go
	// opens a connection for each, and hundreds of partitions ask at their start.
	maxQuestions = 4
)

// client is one way to the cluster: connections, logins and versions.
type client struct {
	id        string
	addr      net.Addr
	transport *kafka.Transport
	dialer    *kafka.Dialer // for the group, with the same TLS and login
	kafka     *kafka.Client
	explain   explainer
	gate      chan struct{} // of questions under way

	mu       sync.Mutex
	versions map[int16]int16                    // highest by request, as brokers know them
	layouts  map[string]*turns.Question[layout] // by topic
}

func newClient(c Config) (*client, error) {
	login, err := c.SASL.mechanism()
	if err != nil {
		return nil, err
	}
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	tr := &kafka.Transport{
		Dial: dial, DialTimeout: connectTimeout, IdleTimeout: idleTimeout, MetadataTTL: layoutTTL,
		MetadataTopics: append([]string{}, c.Topics...), // nil would be all of the cluster
		ClientID:       c.ClientID, TLS: c.TLS, SASL: login,
	}
	addr := kafka.TCP(c.Brokers...)
	return &client{
		id: c.ClientID, addr: addr, transport: tr,
		dialer: &kafka.Dialer{
			ClientID: c.ClientID, DialFunc: dial, Timeout: connectTimeout, TLS: c.TLS, SASLMechanism: login,
		},
		kafka:   &kafka.Client{Addr: addr, Transport: tr},
		gate:    make(chan struct{}, maxQuestions),
		explain: explainer{brokers: strings.Join(c.Brokers, ","), tls: c.TLS != nil, sasl: c.SASL},
	}, nil
}

// enter waits for a place among the questions under way; exit leaves it.
func (c *client) enter(ctx context.Context) error {
	select {
	case c.gate <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *client) exit() { <-c.gate }

// close lets go of all connections. kafka-go keeps a goroutine until then.
func (c *client) close() { c.transport.CloseIdleConnections() }

// truth returns the error behind a failed routing: while kafka-go has never
// reached the cluster it knows no broker, and only its own Metadata call tells
// why.
func (c *client) truth(ctx context.Context, err error) error {
	if !errors.Is(err, errNoBroker) {
		return err
	}
	if _, why := c.kafka.Metadata(ctx, &kafka.MetadataRequest{}); why != nil {
		return why
	}
	return err
}

// check asks for topics until a broker answers, for at most StartTimeout. What
// no retry can cure, such as a refused login, is returned at once.
func (c *client) check(ctx context.Context, cfg Config) (layout, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()
	var last error
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		l, err := c.survey(ctx, cfg)
		if err == nil {
			return l, nil
		}
		// The end of our patience says less than what failed before it.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if why, final := c.explain.final(err); final {
			return layout{}, why
		}
		if !sleep(ctx, jitter(pause)) {
			return layout{}, c.explain.unreachable(last)
		}
	}
}

// jitter spreads a pause over half of it to one and a half, so that many who
// wait for the same do not come back at once.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d+1) }

// sleep waits, and reports whether the context let it.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
