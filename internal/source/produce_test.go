package source

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/record"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// publisher makes a Producer of a topic of c.
func publisher(t testing.TB, c *kfake.Cluster, topic string, change func(*Config)) *Producer {
	t.Helper()
	cfg := Config{Brokers: c.ListenAddrs(), StartTimeout: 5 * time.Second}
	if change != nil {
		change(&cfg)
	}
	p, err := NewProducer(cfg, topic)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// of returns records of values.
func of(values ...string) (rs []record.Record) {
	for _, v := range values {
		rs = append(rs, record.Record{Value: []byte(v)})
	}
	return rs
}

// contents reads a partition from its start to its end.
func contents(t testing.TB, c *kfake.Cluster, topic string, partition int32, change func(*Config)) (all []record.Record) {
	t.Helper()
	cfg := config(c, topic)
	cfg.Partitions = map[string][]int32{topic: {partition}}
	if change != nil {
		change(&cfg)
	}
	err := run(t, cfg, func(ctx context.Context, p *Partition) error {
		start, end, err := p.Bounds(ctx)
		if err != nil {
			return err
		}
		if err := p.Seek(ctx, start); err != nil {
			return err
		}
		return each(ctx, p, start, end, func(b *record.Batch) {
			for r := range b.All() {
				r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
				r.Headers = record.Headers(bytes.Clone(r.Headers))
				all = append(all, r)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What is published is what is read, null and empty apart, with all headers,
// and it has the time of now.
func TestPublish(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	p := publisher(t, c, "t", nil)
	want := []record.Record{
		{},
		{Key: []byte{}, Value: []byte{}},
		{Key: []byte("k\x00\xff"), Value: bytes.Repeat([]byte("v"), 200_000), Headers: record.NewHeaders(
			record.Header{Key: []byte("b"), Value: []byte("1")}, record.Header{Key: []byte("a")}, record.Header{Key: []byte("b"), Value: []byte{}})},
		{Key: bytes.Repeat([]byte("k"), 64), Value: bytes.Repeat([]byte("v"), 63)}, // where a length takes a byte more
	}
	if err := p.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now().UnixMilli()
	for _, rs := range [][]record.Record{want[:1], nil, want[1:]} {
		if err := p.Publish(t.Context(), 0, rs); err != nil {
			t.Fatal(err)
		}
	}
	got := contents(t, c, "t", 0, nil)
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i, r := range got {
		if r.Timestamp < began || r.Timestamp > time.Now().UnixMilli() {
			t.Errorf("record %d has the time %d", i, r.Timestamp)
		}
		if len(r.Headers) > 0 && r.Headers.Len() == 0 {
			r.Headers = nil
		}
		r.Offset, r.Timestamp = 0, 0
		if !reflect.DeepEqual(r, want[i]) {
			t.Errorf("got  %#v\nwant %#v", r, want[i])
		}
	}
}

// All replicas in sync must have what is published.
func TestPublishAcknowledged(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	acks := make(chan int16, 1)
	c.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		acks <- req.(*kmsg.ProduceRequest).Acks
		return nil, nil, false
	})
	if err := publisher(t, c, "t", nil).Publish(t.Context(), 0, of("v")); err != nil {
		t.Fatal(err)
	}
	if got := <-acks; got != -1 {
		t.Errorf("acks %d, want -1", got)
	}
}

// The partition is the one that is asked for, modulo those that there are.
func TestPublishPartition(t *testing.T) {
	c := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(3, "t"))
	p := publisher(t, c, "t", nil)
	for from := range int32(7) {
		if err := p.Publish(t.Context(), from, of(fmt.Sprint(from))); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"0 3 6", "1 4", "2 5"} {
		var got []string
		for _, r := range contents(t, c, "t", int32(i), nil) {
			got = append(got, string(r.Value))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("partition %d has %v, want %s", i, got, want)
		}
	}
}

// A batch that the topic does not take is told from other errors, and a
// smaller one is taken after it.
func TestPublishTooLarge(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"), kfake.BrokerConfigs(map[string]string{"message.max.bytes": "1000"}))
	p := publisher(t, c, "t", nil)
	if err := p.Publish(t.Context(), 0, of(strings.Repeat("x", 1000))); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "t/0") {
		t.Errorf("got %v, want %v", err, ErrTooLarge)
	}
	if err := p.Publish(t.Context(), 0, of("x")); err != nil {
		t.Error(err)
	}
	// What no broker would read to its end is not sent.
	big := []record.Record{{Value: make([]byte, maxProduce)}}
	if err := p.Publish(t.Context(), 0, big); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want %v", err, ErrTooLarge)
	}
}

// A topic that is not there is never created, neither by the check nor by the
// publishing; once it is there, it is used.
func TestPublishNoTopic(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "other"), kfake.AllowAutoTopicCreation())
	p := publisher(t, c, "t", nil)
	if err := p.Check(t.Context()); !errors.Is(err, ErrNoTopic) || strings.Contains(err.Error(), "\n") {
		t.Errorf("check: %v", err)
	}
	if err := p.Publish(t.Context(), 0, of("v")); !errors.Is(err, ErrNoTopic) {
		t.Errorf("publish: %v", err)
	}
	if err := publisher(t, c, "t", func(c *Config) { c.WaitForTopics = true }).Check(t.Context()); err != nil {
		t.Errorf("check of one that is waited for: %v", err)
	}
	if c.TopicInfo("t") != nil {
		t.Error("the topic was created")
	}
	if err := c.CreateTopic("t", 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Publish(t.Context(), 0, of("v")); err != nil {
		t.Errorf("publish once it is there: %v", err)
	}
}

// Brokers that do not answer are told of in one line.
func TestPublishUnreachable(t *testing.T) {
	p, err := NewProducer(Config{Brokers: []string{closedPort(t)}, StartTimeout: time.Second}, "t")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "no broker answers") || strings.Contains(err.Error(), "\n") {
		t.Errorf("check: %v", err)
	}
	if err := p.Publish(t.Context(), 0, of("v")); err == nil {
		t.Error("published to nobody")
	}
	if _, err := NewProducer(Config{}, "t"); err == nil || !strings.Contains(err.Error(), "no brokers") {
		t.Errorf("got %v", err)
	}
}

// An error of the broker is returned, and the next try is made anew: at the
// leader that there is then.
func TestPublishAgain(t *testing.T) {
	c := cluster(t, kfake.NumBrokers(2), kfake.SeedTopics(1, "t"))
	p := publisher(t, c, "t", nil)
	if err := p.Publish(t.Context(), 0, of("a")); err != nil {
		t.Fatal(err)
	}
	if err := c.MoveTopicPartition("t", 0, 1-c.LeaderFor("t", 0)); err != nil {
		t.Fatal(err)
	}
	// It asks the leader of before, and knows better then.
	if err := p.Publish(t.Context(), 0, of("b")); err == nil || !strings.Contains(err.Error(), "t/0") {
		t.Errorf("at the old leader: %v", err)
	}
	if err := p.Publish(t.Context(), 0, of("c")); err != nil {
		t.Errorf("at the new leader: %v", err)
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: 1})
	if err := p.Publish(t.Context(), 0, of("d")); err == nil || errors.Is(err, ErrTooLarge) {
		t.Errorf("without replicas: %v", err)
	}
	if err := p.Publish(t.Context(), 0, of("e")); err != nil {
		t.Error(err)
	}
	if got := contents(t, c, "t", 0, nil); len(got) != 3 {
		t.Errorf("%d records", len(got))
	}
}

// The topic is created anew with fewer partitions: the next try but one uses
// those that there are.
func TestPublishFewerPartitions(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(4, "t"))
	p := publisher(t, c, "t", nil)
	if err := p.Publish(t.Context(), 3, of("a")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.DeleteTopic("t"), c.CreateTopic("t", 2, nil)); err != nil {
		t.Fatal(err)
	}
	if err := p.Publish(t.Context(), 3, of("b")); err == nil {
		t.Error("published to a partition that is not there")
	}
	if err := p.Publish(t.Context(), 3, of("b")); err != nil {
		t.Error(err)
	}
	if got := contents(t, c, "t", 1, nil); len(got) != 1 {
		t.Errorf("%d records", len(got))
	}
}

// The login and the encryption are those of the reading.
func TestPublishSecure(t *testing.T) {
	ca := newAuthority(t)
	c := cluster(t, append(users(), kfake.SeedTopics(1, "t"), kfake.TLS(&tls.Config{
		Certificates: []tls.Certificate{ca.sign(t, net.IPv4(127, 0, 0, 1))},
	}))...)
	secure := func(cfg *Config) {
		cfg.TLS, cfg.SASL = &tls.Config{RootCAs: ca.pool}, SASL{Mechanism: "scram-sha-512", User: "b", Password: "secret3"}
	}
	p := publisher(t, c, "t", secure)
	if err := p.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Publish(t.Context(), 0, of("v")); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, c, "t", 0, secure); len(got) != 1 {
		t.Errorf("%d records", len(got))
	}
}

// A user without the right to write is told so at the start, by name of the
// topic and of the right; by brokers that do not tell rights, at the first try.
func TestPublishDenied(t *testing.T) {
	may := func(topic string, ops ...kmsg.ACLOperation) (acls []kfake.ACL) {
		for _, op := range ops {
			acls = append(acls, kfake.ACL{
				Resource: kmsg.ACLResourceTypeTopic, Name: topic, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: op, Allow: true,
			})
		}
		return acls
	}
	f := func(v *kversion.Versions, user string, check, publish bool) {
		t.Helper()
		c := cluster(t, kfake.SeedTopics(1, "t"), kfake.EnableSASL(), kfake.EnableACLs(), kfake.MaxVersions(v),
			kfake.User("PLAIN", "reader", "pass1", may("t", kmsg.ACLOperationDescribe, kmsg.ACLOperationRead)...),
			kfake.User("PLAIN", "writer", "pass1", may("t", kmsg.ACLOperationWrite, kmsg.ACLOperationDescribe)...))
		p := publisher(t, c, "t", func(c *Config) { c.SASL = SASL{Mechanism: "plain", User: user, Password: "pass1"} })
		for what, ok := range map[string]bool{"check": check, "publish": publish} {
			err := p.Check(t.Context())
			if what == "publish" {
				err = p.Publish(t.Context(), 0, of("v"))
			}
			if ok && err != nil || !ok && !errors.Is(err, kafka.TopicAuthorizationFailed) {
				t.Errorf("%s by %s: %v", what, user, err)
			} else if !ok {
				told(t, err, `topic "t": this user may not write to it: grant WRITE`)
			}
		}
	}
	f(kversion.V4_0_0(), "reader", false, false)
	f(kversion.V4_0_0(), "writer", true, true)
	f(kversion.V1_0_0(), "reader", true, false)
	f(kversion.V1_0_0(), "writer", true, true)
}

// A context that ends ends the publishing.
func TestPublishStops(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	ctx, cancel := context.WithCancel(t.Context())
	hold := make(chan struct{})
	defer close(hold)
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		cancel()
		c.SleepControl(func() { <-hold })
		return nil, nil, false
	})
	if err := publisher(t, c, "t", nil).Publish(ctx, 0, of("v")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
