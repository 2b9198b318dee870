package network

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

const (
	partitions = 3
	each       = 600             // records to a partition, in every phase
	lasts      = 8 * time.Second // how long a network is bad
	recovers   = 30 * time.Second
	hangs      = time.Minute // until a call that hangs counts as trouble, at the most
)

// stream is a topic that is written all the time, and the command that reads it.
type stream struct {
	broker  *realkafka.Broker
	topic   string
	options []kgo.Opt // of the producer
	sink    *lakeweirtest.Sink
	process *lakeweirtest.Process
	address string // of its pages
	sent    int    // to each partition
}

// ready returns whether the command says that it is ready, and what it says.
func (s *stream) ready(t *testing.T) (bool, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.address+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK, string(body)
}

// open writes the configuration of the command.
func (s *stream) open(t *testing.T, broker string, at lakeweirtest.Place) {
	t.Helper()
	s.address = freeAddr(t)
	s.sink = lakeweirtest.New(t, broker, at, s.topic, "group: "+s.topic, "http: "+s.address, "batch: {max_rows: 200, max_age: 1s}")
}

// send produces each records to every partition.
func (s *stream) send(t *testing.T) {
	t.Helper()
	var records []*kgo.Record
	for p := range partitions {
		for i := range each {
			records = append(records, &kgo.Record{Topic: s.topic, Partition: int32(p), Value: fmt.Appendf(nil, "event-%d", s.sent+i)})
		}
	}
	s.broker.Produce(t, records, append(s.options, kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	s.sent += each
}

// heads returns the next offsets of all partitions, and their epochs.
func (s *stream) heads(t *testing.T) (next, epochs [partitions]int64) {
	t.Helper()
	for p := range partitions {
		next[p], epochs[p] = -1, -1
		if h := s.sink.Head(t, p); h != nil {
			next[p], epochs[p] = h.Next, int64(h.Epoch)
		}
	}
	return next, epochs
}

// published waits until all that was sent is published.
func (s *stream) published(t *testing.T, limit time.Duration, what string) {
	t.Helper()
	lakeweirtest.Await(t, limit, what, func() bool {
		if s.process.Ended() {
			t.Fatalf("%s: the command has ended", what)
		}
		next, _ := s.heads(t)
		return next == [partitions]int64{int64(s.sent), int64(s.sent), int64(s.sent)}
	})
}

// through lets the network be bad in each way, one after the other, while
// records come, and looks at the rows in the end. during is told before the
// network is mended.
func (s *stream) through(t *testing.T, l *link, during func(b badness, epochs [partitions]int64)) {
	t.Helper()
	s.process = s.sink.Start(t)
	for _, b := range badnesses {
		s.send(t)
		s.published(t, time.Minute, "published before the network is "+b.name)
		_, epochs := s.heads(t)
		mend := b.apply(l)
		begun := time.Now()
		s.send(t)
		if b.stops {
			time.Sleep(lasts) // the bad time itself; what comes of it is awaited
		} else {
			s.published(t, time.Minute, "published while the network is "+b.name)
		}
		during(b, epochs)
		t.Logf("%s for %v", b.name, time.Since(begun).Round(time.Millisecond))
		mend()
		begin := time.Now()
		s.published(t, recovers, "published after the network was "+b.name)
		took := time.Since(begin)
		lakeweirtest.Await(t, recovers, "ready after the network was "+b.name, func() bool { ok, _ := s.ready(t); return ok })
		t.Logf("%s: all is published %v after its end, ready after %v", b.name, took.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
	}
	if r := s.process.Stop(); r.Code != 0 {
		t.Errorf("exit %d", r.Code)
	}
	s.sink.Must(t, "verify", s.topic, "--deep")
	var want []string
	for p := range partitions {
		for i := range s.sent {
			want = append(want, fmt.Sprintf("%d/%d event-%d", p, i, i))
		}
	}
	if got := s.sink.Rows(t); !slices.Equal(got, want) {
		t.Errorf("%d rows, or others than the %d that were sent", len(got), len(want))
	}
}

// The way to the store is bad: nothing is published while nothing gets through,
// the requests are few, the partitions stay where they are, and all goes on by
// itself (B42).
func TestStoreBehindBadNetwork(t *testing.T) {
	for _, scheme := range []string{"s3", "minio"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			broker := realkafka.Shared(t)
			topic := "store-behind-" + scheme
			broker.CreateTopic(t, topic, partitions, nil)
			proxy, place := lakeweirtest.NewProxy(t)
			var arrived atomic.Int64
			proxy.Refuse(func(lakeweirtest.Call) int { arrived.Add(1); return 0 })
			_, after, _ := strings.Cut(place.Settings, `"http://`)
			direct, _, _ := strings.Cut(after, `"`)
			l := newLink(t, "127.0.0.1:0", direct)
			place.Settings = strings.Replace(place.Settings, direct, l.proxy.Listen, 1)
			if scheme == "minio" {
				_, bucket, _ := strings.Cut(place.Settings, "s3://")
				bucket, _, _ = strings.Cut(bucket, "\n")
				place.Settings = fmt.Sprintf("store: minio://%s/%s\ns3: {region: us-east-1}", l.proxy.Listen, bucket)
			}
			s := &stream{broker: broker, topic: topic}
			s.open(t, broker.Addr(), place)
			var before int64
			s.through(t, l, func(b badness, epochs [partitions]int64) {
				why := ""
				if b.stops { // what fails is told at once, what hangs after 30 s
					lakeweirtest.Await(t, hangs, "not ready while the network is "+b.name, func() (ready bool) {
						ready, why = s.ready(t)
						return !ready
					})
					if !strings.Contains(why, topic) {
						t.Errorf("%s: not ready because %q", b.name, why)
					}
				}
				if _, now := s.heads(t); now != epochs {
					t.Errorf("%s: claimed anew: epochs %v, were %v", b.name, now, epochs)
				}
				now := arrived.Load()
				if n := now - before; b.stops && n > 300 {
					t.Errorf("%s: %d requests", b.name, n)
				}
				t.Logf("%s: %d requests since the last one ended; not ready because %q", b.name, now-before, why)
				before = now
			})
		})
	}
}

// The way to the brokers is bad. A member that is gone for too long is put out
// of its group and comes back.
func TestKafkaBehindBadNetwork(t *testing.T) {
	t.Parallel()
	listen := freeAddr(t)
	broker := realkafka.Start(t, realkafka.Options{Properties: map[string]string{"advertised.listeners": "PLAINTEXT://" + listen}})
	l := newLink(t, listen, broker.Addr())
	direct := kgo.Dialer(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, broker.Addr())
	})
	s := &stream{broker: broker, topic: "kafka-behind", options: []kgo.Opt{direct}}
	broker.CreateTopic(t, s.topic, partitions, nil)
	s.open(t, listen, lakeweirtest.Dir(t))
	s.through(t, l, func(b badness, _ [partitions]int64) {
		next, _ := s.heads(t)
		if b.stops && next == [partitions]int64{int64(s.sent), int64(s.sent), int64(s.sent)} {
			t.Errorf("%s: all came through", b.name)
		}
	})
}
