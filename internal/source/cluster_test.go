package source

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/record"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// ports returns the ports of a cluster, to start it again on them.
func ports(t testing.TB, c *kfake.Cluster) []int {
	t.Helper()
	var out []int
	for _, a := range c.ListenAddrs() {
		_, p, err := net.SplitHostPort(a)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

func TestIdentity(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"), kfake.ClusterID("the-cluster"))
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
		first, err := p.Identity(ctx)
		if err != nil {
			return err
		}
		if first.Cluster != "the-cluster" || first.Topic != record.TopicID(c.TopicInfo("t").TopicID) {
			t.Errorf("identity %+v", first)
		}
		if again, err := p.Identity(ctx); again != first || err != nil {
			t.Errorf("a second time: %+v, %v", again, err)
		}
		if err := c.DeleteTopic("t"); err != nil {
			return err
		}
		if _, err := p.Identity(ctx); !errors.Is(err, ErrNoTopic) {
			t.Errorf("deleted: %v", err)
		}
		if err := c.CreateTopic("t", 1, nil); err != nil {
			return err
		}
		if other, err := p.Identity(ctx); other == first || other.Topic == (record.TopicID{}) || err != nil {
			t.Errorf("created again: %+v, %v", other, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Brokers of all ages: old ones have no topic ids, older ones no epochs.
func TestVersions(t *testing.T) {
	f := func(v *kversion.Versions, id bool, end int64) {
		t.Helper()
		c := cluster(t, kfake.SeedTopics(1, "t"), kfake.MaxVersions(v))
		produce(t, producer(t, c), "t", 0, values(3)...)
		err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
			have, err := read(ctx, p, 0, 3)
			if err != nil {
				return err
			}
			equal(t, have, []got{{0, "v0"}, {1, "v1"}, {2, "v2"}})
			who, err := p.Identity(ctx)
			if err != nil || who.Cluster == "" || (who.Topic != record.TopicID{}) != id {
				t.Errorf("identity %+v, %v", who, err)
			}
			if e, err := p.EpochEnd(ctx, 0); e != end || err != nil {
				t.Errorf("epoch end %d, %v, want %d", e, err, end)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	f(kversion.V1_0_0(), false, NoEpochEnd)
	f(kversion.V2_3_0(), false, 3)
	f(kversion.V2_8_0(), true, 3)
	f(kversion.V4_0_0(), true, 3)
}

// A partition whose leader moves is read on, and the new epoch is seen.
func TestLeaderMoves(t *testing.T) {
	c := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(1, "t"))
	cl := producer(t, c)
	cfg := config(c, "t")
	cfg.MetadataInterval = time.Hour
	err := run(t, cfg, func(ctx context.Context, p *Partition) error {
		if err := p.Seek(ctx, 0); err != nil {
			return err
		}
		first := c.LeaderFor("t", 0)
		epochs := map[int32]bool{}
		for i := range int64(4) {
			produce(t, cl, "t", 0, "x")
			if err := each(ctx, p, i, i+1, func(b *record.Batch) { epochs[b.LeaderEpoch] = true }); err != nil {
				return err
			}
			if err := c.MoveTopicPartition("t", 0, (first+int32(i)+1)%3); err != nil {
				return err
			}
			if _, end, err := p.Bounds(ctx); end != i+1 || err != nil {
				t.Errorf("bounds after a move: %d, %v", end, err)
			}
		}
		if len(epochs) != 4 {
			t.Errorf("leader epochs seen: %v, want 4 of them", epochs)
		}
		// kfake knows where an epoch ended once the next one has a record.
		produce(t, cl, "t", 0, "x")
		for e := range epochs {
			if end, err := p.EpochEnd(ctx, e); end < 1 || end > 4 || err != nil {
				t.Errorf("end of epoch %d: %d, %v", e, end, err)
			}
		}
		if end, err := p.EpochEnd(ctx, 1000); end != NoEpochEnd || err != nil {
			t.Errorf("end of an epoch that is not: %d, %v", end, err)
		}
		if end, err := p.EpochEnd(ctx, -1); end != NoEpochEnd || err != nil {
			t.Errorf("end of an unknown epoch: %d, %v", end, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The broker goes away for a while; reading goes on where it was.
func TestBrokerRestart(t *testing.T) {
	dir := t.TempDir()
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(1, "t"), kfake.DataDir(dir)}
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	opts = append(opts, kfake.Ports(ports(t, c)...))
	cfg := config(c, "t")
	err = run(t, cfg, func(ctx context.Context, p *Partition) error {
		who, err := p.Identity(ctx)
		if err != nil {
			return err
		}
		for i := range int64(3) {
			produce(t, producer(t, c), "t", 0, "x", "y")
			if _, err := read(ctx, p, 2*i, 2*i+2); err != nil {
				return err
			}
			c.Close()
			if c, err = kfake.NewCluster(opts...); err != nil {
				return err
			}
		}
		if again, err := p.Identity(ctx); again != who || err != nil {
			t.Errorf("identity after a restart: %+v, %v", again, err)
		}
		return nil
	})
	c.Close()
	if err != nil {
		t.Fatal(err)
	}
}

// Connections break in the middle of everything.
func TestCutConnections(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(2, "t"))
	cl := producer(t, c)
	var fetches atomic.Int32
	c.ControlKey(keyFetch, func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if fetches.Add(1)%3 == 0 {
			return nil, errors.New("cut"), true
		}
		return nil, nil, false
	})
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
		if err := p.Seek(ctx, 0); err != nil {
			return err
		}
		for i := range int64(10) {
			if err := cl.ProduceSync(ctx, &kgo.Record{Topic: "t", Partition: p.ID(), Value: []byte("x")}).FirstErr(); err != nil {
				return err
			}
			if err := each(ctx, p, i, i+1, func(*record.Batch) {}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if fetches.Load() < 3 {
		t.Error("no connection was cut")
	}
}

// counted counts the connections that a Config opens to an address.
func counted(c *Config) *atomic.Int32 {
	var n atomic.Int32
	var d net.Dialer
	c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		n.Add(1)
		return d.DialContext(ctx, network, addr)
	}
	return &n
}

func TestManyPartitions(t *testing.T) {
	const parts, each = 500, 4
	c := cluster(t, kfake.SeedTopics(parts, "t"))
	cl := producer(t, c)
	var rs []*kgo.Record
	for i := range parts * each {
		rs = append(rs, &kgo.Record{Topic: "t", Partition: int32(i % parts), Value: []byte("x")})
	}
	if err := cl.ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	cfg := config(c, "t")
	dials := counted(&cfg)
	var mu sync.Mutex
	seen := map[int32]int{}
	err := run(t, cfg, func(ctx context.Context, p *Partition) error {
		// All ask at once, as writers do when they claim.
		if _, end, err := p.Bounds(ctx); end != each || err != nil {
			t.Errorf("partition %d: end %d, %v", p.ID(), end, err)
		}
		have, err := read(ctx, p, 0, each)
		mu.Lock()
		defer mu.Unlock()
		seen[p.ID()] += len(have)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != parts {
		t.Errorf("%d partitions were read", len(seen))
	}
	for id, n := range seen {
		if n != each {
			t.Errorf("partition %d: %d records", id, n)
		}
	}
	// One to fetch on, one of kafka-go's own, and a few for all the questions.
	// kafka-go answers before it puts a connection back, so some more are opened.
	if n := dials.Load(); n > 5*maxQuestions {
		t.Errorf("%d connections", n)
	}
}

// All of it without a socket, so that others may run it in a synctest bubble.
func TestDial(t *testing.T) {
	var network kfake.VirtualNetwork
	c := cluster(t, kfake.SeedTopics(1, "t"), kfake.ListenFn(network.Listen), kfake.Ports(9092))
	produce(t, producer(t, c, kgo.Dialer(network.DialContext)), "t", 0, values(2)...)
	cfg := config(c, "t")
	cfg.Dial = network.DialContext
	var have []got
	if err := run(t, cfg, only(&have, 0, 2)); err != nil {
		t.Fatal(err)
	}
	equal(t, have, []got{{0, "v0"}, {1, "v1"}})
}
