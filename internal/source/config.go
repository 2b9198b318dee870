package source

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"
)

// Config says which partitions of which brokers are read, and how. Brokers and
// Topics are required; the zero value of everything else is its default.
type Config struct {
	// Brokers are the addresses (host:port) asked for the rest of the cluster.
	Brokers []string
	// ClientID is what brokers log and count quotas by. Default "lakeweir".
	ClientID string
	// TLS encrypts every connection; nil is plain TCP. The name that a
	// broker's certificate must carry is its host unless ServerName is set.
	TLS *tls.Config
	// SASL logs in on every connection; the zero value does not.
	SASL SASL
	// Dial opens connections in place of TCP, for tests and tunnels.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// Topics are the topics read. None is ever created by asking for it. With
	// Patterns there need not be any.
	Topics []string
	// WaitForTopics waits for a topic that does not exist; else it is
	// ErrNoTopic at the start.
	WaitForTopics bool
	// Patterns take further topics, those that come later included. A pattern
	// that takes none is waited for.
	Patterns []Pattern
	// Settled makes patterns wait for nothing: Run ends when every work has
	// returned, and a pattern that takes no topic is ErrNoTopic at the start,
	// unless WaitForTopics.
	Settled bool

	// Group is the consumer group that assigns partitions. Without one all
	// partitions of Topics are read.
	Group string
	// Member names this process in the group. A name that survives a restart
	// gets most of its partitions back. Default: host name and a random part.
	Member string
	// Partitions are read whatever a group says, by topic; a topic of Topics
	// that is not listed is then not read. Group only names where Commit
	// writes, and may be empty.
	Partitions map[string][]int32
	// Heartbeat, Session and Rebalance are the clocks of the group, by default
	// 1 s, 10 s and 30 s. A process that is silent for Session, or whose work
	// takes longer than Rebalance to end, loses its partitions.
	Heartbeat, Session, Rebalance time.Duration

	// ReadUncommitted also delivers records of open and aborted transactions.
	ReadUncommitted bool
	// MaxWait is how long a broker may hold a fetch that finds nothing; it is
	// also the delay after which a partition joins a running fetch. Both are
	// twice as long while nothing comes at all. Default 500 ms.
	MaxWait time.Duration
	// FetchBytes bounds the answer to one fetch, but for one larger batch.
	// Must be below what Room can give. Default 8 MiB.
	FetchBytes int32
	// PartitionBytes bounds what one fetch brings for one partition; as much
	// unread data stops the fetching of that partition. Default 1 MiB, or
	// FetchBytes if that is less.
	PartitionBytes int32
	// BatchBytes is the size up to which one compressed batch may inflate;
	// a larger one stops its partition. Default 256 MiB.
	BatchBytes int32
	// MetadataInterval is how often new partitions and topics are looked for.
	// Default 5 s: records wait that long in a new one, and for the group on top.
	MetadataInterval time.Duration
	// StartTimeout is how long Run tries to reach any broker before it gives
	// up. Default 10 s.
	StartTimeout time.Duration

	// Room is the memory that batches are charged to; nil is unlimited.
	Room Room
	// Progress is kept up to date by Run; nil is none.
	Progress *Progress
	// Log receives changes of state; nil discards them.
	Log *slog.Logger
}

// Room accounts for memory. The source charges what it fetches; whoever gets a
// batch from Read owes Release(batch.Size()).
type Room interface {
	// Acquire blocks until n bytes are free, then charges them.
	Acquire(ctx context.Context, n int64) error
	// Take charges n bytes whether free or not: what is already in memory.
	Take(n int64)
	// Release gives n bytes back.
	Release(n int64)
}

// unlimited is the Room of a Config without one.
type unlimited struct{}

func (unlimited) Acquire(ctx context.Context, _ int64) error { return ctx.Err() }
func (unlimited) Take(int64)                                 {}
func (unlimited) Release(int64)                              {}

// withDefaults returns c with its defaults filled in, or what is wrong with it.
func (c Config) withDefaults() (Config, error) {
	if len(c.Brokers) == 0 {
		return c, errors.New("no brokers: give at least one address as host:port")
	}
	if len(c.Topics) == 0 {
		for t := range c.Partitions {
			c.Topics = append(c.Topics, t)
		}
	}
	if len(c.Topics) == 0 && len(c.Patterns) == 0 {
		return c, errors.New("no topics: list at least one")
	}
	c.Topics = slices.Compact(slices.Sorted(slices.Values(c.Topics)))
	for t := range c.Partitions {
		if !slices.Contains(c.Topics, t) {
			return c, fmt.Errorf("partitions of topic %q: the topic is not listed", t)
		}
	}
	c.ClientID = cmp.Or(c.ClientID, "lakeweir")
	c.Heartbeat = cmp.Or(c.Heartbeat, time.Second)
	c.Session = cmp.Or(c.Session, 10*time.Second)
	c.Rebalance = cmp.Or(c.Rebalance, 30*time.Second)
	c.MaxWait = cmp.Or(c.MaxWait, 500*time.Millisecond)
	c.FetchBytes = cmp.Or(c.FetchBytes, 8<<20)
	c.PartitionBytes = cmp.Or(c.PartitionBytes, min(1<<20, c.FetchBytes))
	c.BatchBytes = cmp.Or(c.BatchBytes, 256<<20)
	c.MetadataInterval = cmp.Or(c.MetadataInterval, 5*time.Second)
	c.StartTimeout = cmp.Or(c.StartTimeout, 10*time.Second)
	if c.FetchBytes < 0 || c.PartitionBytes < 0 || c.BatchBytes < 0 || c.MaxWait < 0 || c.MetadataInterval < 0 {
		return c, errors.New("fetch sizes and times must not be negative")
	}
	if c.Member == "" {
		host, _ := os.Hostname()
		c.Member = host + "-" + strings.ToLower(rand.Text()[:8])
	}
	if c.Room == nil {
		c.Room = unlimited{}
	}
	if c.Progress == nil {
		c.Progress = &Progress{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
