package soak

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/gateway"
	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
)

// What a process may hold (bytes), and what it is given to read.
const (
	memoryShare = 1.3               // of the setting memory, and
	memoryOwn   = 100 * 1000 * 1000 // beside it
	backlog     = 200 << 20         // of values
	slowFor     = 6 * time.Second
	slowSpeed   = 4 << 20 // bytes a second, all PUTs together
)

// A process that has a backlog of more than its memory, and a store that takes
// it slowly at first, stays within its bound: with one partition and with many,
// with what compresses to nothing less and with JSON. All of it is published in
// the end (B17, B52).
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		partitions int
		values     string
		memory     int64 // MiB
	}{{1, "raw", 64}, {500, "raw", 128}, {500, "json", 64}} {
		t.Run(fmt.Sprintf("%d partitions, %s, %d MiB", c.partitions, c.values, c.memory), func(t *testing.T) {
			broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(int32(c.partitions), "deep"))
			if err != nil {
				t.Fatal(err)
			}
			defer broker.Close()
			n := fill(t, broker.ListenAddrs()[0], c.partitions, c.values)
			w, tb := newWire(t, nil), newTable(t, "deep")
			road := newRoad(slowSpeed)
			w.set(func(w *wire) { w.hold = road.pass })
			lines := []string{fmt.Sprintf("memory: %dMiB", c.memory)}
			if c.values == "json" {
				lines = append(lines, "topics:\n  deep:\n    value: json\n    columns:\n      - {name: id, path: id, type: int64, required: true}\n      - {name: payload, path: payload, type: string}")
			}
			at := lakeweirtest.Place{Settings: fmt.Sprintf("store: s3://%s/raw\ns3: {endpoint: %q, region: %s}", tb.bucket, "http://"+w.addr(), gateway.Region)}
			p := lakeweirtest.New(t, broker.ListenAddrs()[0], at, "deep", lines...).Start(t, "--batch-max-age", "2s")
			time.Sleep(slowFor)
			slow := p.PeakMemory()
			if tb.next(t, int32(c.partitions)) == n {
				t.Error("all was published while the store was slow: nothing was tried")
			}
			road.open()
			await(t, time.Minute, "rows are not published", func() bool { return p.Ended() || tb.next(t, int32(c.partitions)) == n })
			peak := p.PeakMemory()
			if r := p.Stop(); r.Code != 0 {
				t.Errorf("exit code %d\n%s", r.Code, r.Log)
			}
			bound := int64(memoryShare*float64(c.memory<<20)) + memoryOwn
			t.Logf("%d records; resident at most %d MB while the store was slow, %d MB in all; the bound is %d MB", n, slow/1e6, peak/1e6, bound/1e6)
			if peak > bound {
				t.Errorf("%d MB were resident, %d may be", peak/1e6, bound/1e6)
			}
		})
	}
}

// fill makes the backlog, and returns how many records it has.
func fill(t *testing.T, broker string, partitions int, values string) (n int64) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(20*time.Millisecond), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	random := rand.NewChaCha8([32]byte{1})
	noise := make([]byte, 4<<10)
	for size := 0; size < backlog; n++ {
		_, _ = random.Read(noise) // never fails
		value := append([]byte{}, noise...)
		if values == "json" {
			value = fmt.Appendf(nil, `{"id": %d, "payload": "%s"}`, n, hex.EncodeToString(noise[:150]))
		}
		size += len(value)
		cl.Produce(t.Context(), &kgo.Record{Topic: "deep", Partition: int32(n % int64(partitions)), Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := cl.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

// road lets PUTs pass one behind the other, at a speed.
type road struct {
	mu    sync.Mutex
	speed int64         // bytes a second
	wide  chan struct{} // closed when there is no limit any more
}

func newRoad(speed int64) *road { return &road{speed: speed, wide: make(chan struct{})} }

func (r *road) open() { close(r.wide) }

// pass waits as long as the body of a request takes.
func (r *road) pass(req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.wide:
	case <-time.After(time.Duration(req.ContentLength) * time.Second / time.Duration(r.speed)):
	}
}
