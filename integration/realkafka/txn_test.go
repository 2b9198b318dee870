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
		x, y := b.Transactor(t, topic, topic+"-x", opt), b.Transactor(t, topic, topic+"-y", opt)
		x.Begin()
		x.Send("kept-a", 3)
		x.Commit()
		// An abort with another producer's records between its own.
		x.Begin()
		y.Begin()
		x.Send("lost-a", 3)
		y.Send("kept-b", 2)
		x.Send("lost-b", 2)
		x.Abort()
		b.Produce(t, []*kgo.Record{{Topic: topic, Value: []byte("kept-plain")}}, opt)
		y.Send("kept-c", 2)
		y.Commit()
		// The same producer commits after its abort, and aborts at the end.
		x.Begin()
		x.Send("kept-d", 1)
		x.Commit()
		x.Begin()
		x.Send("lost-c", 1)
		x.Abort()

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
	x := b.Transactor(t, topic, topic)
	b.Produce(t, []*kgo.Record{{Topic: topic, Value: []byte("before")}})
	x.Begin()
	x.Send("open", 2)
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
		x.Commit()
		return <-next
	})
}
