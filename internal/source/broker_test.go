package source

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/record"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// cluster starts a fake cluster for the length of a test.
func cluster(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// producer returns a franz-go client that writes to the partition and with the
// options named.
func producer(t testing.TB, c *kfake.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// produce writes the values as one batch of a partition.
func produce(t testing.TB, cl *kgo.Client, topic string, partition int32, values ...string) {
	t.Helper()
	var rs []*kgo.Record
	for _, v := range values {
		rs = append(rs, &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)})
	}
	if err := cl.ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// values returns n values that name themselves.
func values(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("v%d", i))
	}
	return out
}

// room is a Room that counts, and has a limit when limit > 0, which one alone
// may exceed.
type room struct {
	limit int64

	mu   sync.Mutex
	used int64
	peak int64
	free chan struct{}
}

func (r *room) Acquire(ctx context.Context, n int64) error {
	for {
		r.mu.Lock()
		if r.limit == 0 || r.used == 0 || r.used+n <= r.limit {
			r.add(n)
			r.mu.Unlock()
			return nil
		}
		if r.free == nil {
			r.free = make(chan struct{})
		}
		free := r.free
		r.mu.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *room) add(n int64) {
	r.used += n
	r.peak = max(r.peak, r.used)
}

func (r *room) Take(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(n)
}

func (r *room) Release(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
	if r.free != nil {
		close(r.free)
		r.free = nil
	}
}

func (r *room) now() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}

// over fails unless all memory was given back.
func (r *room) over(t testing.TB) {
	t.Helper()
	if n := r.now(); n != 0 {
		t.Errorf("%d bytes are still charged at the end", n)
	}
}

// config reads all partitions of the topics of a cluster, fast.
func config(c *kfake.Cluster, topics ...string) Config {
	return Config{
		Brokers: c.ListenAddrs(), Topics: topics, MaxWait: 50 * time.Millisecond,
		Room: &room{}, MetadataInterval: time.Second,
	}
}

// run calls work for each partition until all have returned, and checks that
// all memory was given back.
func run(t testing.TB, c Config, work Work) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := Run(ctx, c, work)
	if ctx.Err() != nil {
		t.Fatal("not done in time")
	}
	if r, ok := c.Room.(*room); ok {
		r.over(t)
	}
	return err
}

// got is a record without its bytes.
type got struct {
	offset int64
	value  string
}

// read reads batches from offset on until the position is end. It fails unless
// they are contiguous, and gives their memory back.
func read(ctx context.Context, p *Partition, from, end int64) ([]got, error) {
	var out []got
	if err := p.Seek(ctx, from); err != nil {
		return nil, err
	}
	return out, each(ctx, p, from, end, func(b *record.Batch) {
		for r := range b.All() {
			out = append(out, got{r.Offset, string(r.Value)})
		}
	})
}

// each calls do for each batch from the position to end.
func each(ctx context.Context, p *Partition, at, end int64, do func(*record.Batch)) error {
	for at < end {
		b, err := p.Read(ctx)
		if err != nil {
			return err
		}
		if b.Start != at || b.Next <= at {
			return fmt.Errorf("at position %d came a batch of [%d, %d)", at, b.Start, b.Next)
		}
		at = b.Next
		do(b)
		p.router.c.Room.Release(b.Size())
	}
	if at != end {
		return fmt.Errorf("position is %d, not %d", at, end)
	}
	return nil
}

// equal fails unless the records are these.
func equal(t testing.TB, have, want []got) {
	t.Helper()
	if fmt.Sprint(have) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", have, want)
	}
}

// only is the work of a test with one partition: its result is kept.
func only(out *[]got, from, end int64) Work {
	return func(ctx context.Context, p *Partition) (err error) {
		*out, err = read(ctx, p, from, end)
		return err
	}
}

// until waits for a condition that other goroutines bring about.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for !ok() {
		if !sleep(ctx, 5*time.Millisecond) {
			t.Fatalf("%s: not in time", what)
		}
	}
}

var errTest = errors.New("work failed")
