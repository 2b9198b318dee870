package realkafka_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/realkafka"
	"github.com/lakeweir/lakeweir/internal/source"
)

// transactor is a transactional producer whose steps a test orders.
type transactor struct {
	t      *testing.T
	ctx    context.Context
	client *kgo.Client
	topic  string
}

func newTransactor(t *testing.T, b *realkafka.Broker, topic, id string, opts ...kgo.Opt) *transactor {
	t.Helper()
	c := b.Client(t, append([]kgo.Opt{kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	return &transactor{t, within(t), c, topic}
}

func (x *transactor) begin() {
	x.t.Helper()
	if err := x.client.BeginTransaction(); err != nil {
		x.t.Fatalf("begin: %v", err)
	}
}

// send writes n records and waits for them, so that the order of two producers
// in the log is that of the calls.
func (x *transactor) send(text string, n int) {
	x.t.Helper()
	var records []*kgo.Record
	for i := range n {
		records = append(records, &kgo.Record{Topic: x.topic, Value: fmt.Appendf(nil, "%s%d", text, i)})
	}
	if err := x.client.ProduceSync(x.ctx, records...).FirstErr(); err != nil {
		x.t.Fatalf("send %s: %v", text, err)
	}
}

func (x *transactor) end(how kgo.TransactionEndTry) {
	x.t.Helper()
	if err := x.client.EndTransaction(x.ctx, how); err != nil {
		x.t.Fatalf("end: %v", err)
	}
}

// awaitEnd waits until the log ends at an offset: Kafka 4 answers the end of a
// transaction before it has written the marker.
func awaitEnd(t *testing.T, b *realkafka.Broker, topic string, want int64) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for ctx := within(t); ; {
		got := endOffsets(t, b, topic)[0]
		if got == want {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%s ends at %d, want %d", topic, got, want)
		}
	}
}

// Two producers interleave committed and aborted transactions with plain
// records, in every codec. Under read_committed exactly what was committed is
// read, and the position passes every marker.
func TestTransactions(t *testing.T) {
	b := realkafka.Shared(t)
	f := func(topic string, codec kgo.CompressionCodec) {
		t.Helper()
		b.CreateTopic(t, topic, 1, nil)
		opt := kgo.ProducerBatchCompression(codec)
		x, y := newTransactor(t, b, topic, topic+"-x", opt), newTransactor(t, b, topic, topic+"-y", opt)
		x.begin()
		x.send("kept-a", 3)
		x.end(kgo.TryCommit)
		// An abort with another producer's records between its own.
		x.begin()
		y.begin()
		x.send("lost-a", 3)
		y.send("kept-b", 2)
		x.send("lost-b", 2)
		x.end(kgo.TryAbort)
		b.Produce(t, []*kgo.Record{{Topic: topic, Value: []byte("kept-plain")}}, opt)
		y.send("kept-c", 2)
		y.end(kgo.TryCommit)
		// The same producer commits after its abort, and aborts at the end.
		x.begin()
		x.send("kept-d", 1)
		x.end(kgo.TryCommit)
		x.begin()
		x.send("lost-c", 1)
		x.end(kgo.TryAbort)

		end := int64(3 + 1 + 3 + 2 + 2 + 1 + 1 + 2 + 1 + 1 + 1 + 1 + 1) // with five markers
		awaitEnd(t, b, topic, end)
		got := readAll(t, plainConfig(b), topic)
		same(t, topic, got, reference(t, b, topic, end))
		if want := 3 + 2 + 1 + 2 + 1; len(got) != want {
			t.Errorf("%s: got %d records, want the %d committed ones", topic, len(got), want)
		}
		// Uncommitted reading gives all records and still no marker.
		loose := plainConfig(b)
		loose.ReadUncommitted = true
		if got, want := len(readAll(t, loose, topic)), int(end)-5; got != want {
			t.Errorf("%s: uncommitted: got %d records, want %d", topic, got, want)
		}
	}
	f("txn-none", kgo.NoCompression())
	f("txn-gzip", kgo.GzipCompression())
	f("txn-snappy", kgo.SnappyCompression())
	f("txn-lz4", kgo.Lz4Compression())
	f("txn-zstd", kgo.ZstdCompression())
}

// An open transaction holds the end of the log at its first record: nothing
// behind it is delivered until it ends.
func TestOpenTransaction(t *testing.T) {
	b := realkafka.Shared(t)
	topic := "txn-open"
	b.CreateTopic(t, topic, 1, nil)
	x := newTransactor(t, b, topic, topic)
	b.Produce(t, []*kgo.Record{{Topic: topic, Value: []byte("before")}})
	x.begin()
	x.send("open", 2)
	b.Produce(t, []*kgo.Record{{Topic: topic, Value: []byte("after")}})
	with(t, plainConfig(b), topic, 0, func(ctx context.Context, p *source.Partition) error {
		if _, end, err := p.Bounds(ctx); err != nil || end != 1 {
			t.Errorf("end while the transaction is open: got %d, %v, want 1", end, err)
		}
		got, err := readTo(ctx, p, 0, 1)
		if err != nil || len(got) != 1 {
			t.Errorf("before the transaction: got %v, %v", got, err)
		}
		next := make(chan error, 1)
		go func() {
			got, err := readTo(ctx, p, 1, 5)
			if err == nil && len(got) != 3 {
				err = fmt.Errorf("got %v, want two records of the transaction and the plain one", got)
			}
			next <- err
		}()
		x.end(kgo.TryCommit)
		return <-next
	})
}
