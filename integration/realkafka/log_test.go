package realkafka_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/realkafka"
	"github.com/lakeweir/lakeweir/internal/source"
)

// numbered returns n records with the values text0, text1, ...
func numbered(topic, text string, n int) []*kgo.Record {
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "%s%d", text, i)}
	}
	return records
}

// compacted makes a topic that the real cleaner has worked on: whole batches
// gone, batches kept empty for the state of their producer, and one whose last
// record is gone. It returns the end of the log.
func compacted(t *testing.T, b *realkafka.Broker, topic string, codec kgo.CompressionCodec) int64 {
	t.Helper()
	opt := kgo.ProducerBatchCompression(codec)
	b.CreateTopic(t, topic, 1, map[string]string{
		"cleanup.policy": "compact", "segment.bytes": "1048576", // the least that Kafka 4 takes
		"min.cleanable.dirty.ratio": "0.0001", "min.compaction.lag.ms": "0", "delete.retention.ms": "0",
	})
	for round := range 5 { // each from a producer of its own; all but the last round are superseded
		records := numbered(topic, fmt.Sprintf("round%d-", round), 10)
		for i, r := range records {
			r.Key = fmt.Appendf(nil, "k%d", i)
		}
		b.Produce(t, records, opt)
	}
	pair := numbered(topic, "pair", 2)
	pair[0].Key, pair[1].Key = []byte("first"), []byte("second")
	b.Produce(t, pair, opt)
	b.Produce(t, []*kgo.Record{{Topic: topic, Key: []byte("second"), Value: []byte("newer")}}, opt)
	// The cleaner leaves the active segment alone: fill it, so that a new one begins.
	for i := range 14 {
		filler := &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "filler%d", i), Value: make([]byte, 100<<10)}
		b.Produce(t, []*kgo.Record{filler}, kgo.ProducerBatchCompression(kgo.NoCompression()))
	}
	end := endOffsets(t, b, topic)[0]
	again := time.NewTicker(300 * time.Millisecond)
	defer again.Stop()
	for ctx := within(t); len(reference(t, b, topic, end)) > 10+1+1+14; {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%s: the cleaner has not come", topic)
		}
	}
	return end
}

// oddities returns an error unless the log has what makes compacted logs hard:
// a batch kept without records, and one that goes on behind its last record.
func oddities(ctx context.Context, p *source.Partition, end int64) error {
	if err := p.Seek(ctx, 0); err != nil {
		return err
	}
	empty, cut := 0, 0
	for at := int64(0); at < end; {
		b, err := p.Read(ctx)
		if err != nil {
			return err
		}
		if b.Len() == 0 {
			empty++
		} else if b.At(b.Len()-1).Offset+1 < b.Next {
			cut++
		}
		at = b.Next
	}
	if empty == 0 || cut == 0 {
		return fmt.Errorf("the cleaner left %d empty batches and %d with a cut end, want some of both", empty, cut)
	}
	return nil
}

// A log with holes made by the real cleaner is read to its end, every position
// accounted for, with the records that another client sees.
func TestCompaction(t *testing.T) {
	b := realkafka.Shared(t)
	f := func(topic string, codec kgo.CompressionCodec) {
		t.Helper()
		end := compacted(t, b, topic, codec)
		want := reference(t, b, topic, end)
		same(t, topic, readAll(t, plainConfig(b), topic), want)
		with(t, plainConfig(b), topic, 0, func(ctx context.Context, p *source.Partition) error {
			if err := oddities(ctx, p, end); err != nil {
				t.Errorf("%s: %v", topic, err)
			}
			// A start in the middle of a hole, and right behind the record
			// that is the last one left of its batch.
			for _, from := range []int64{7, 51} {
				got, err := readTo(ctx, p, from, end)
				if err != nil {
					return err
				}
				var rest []string
				for _, r := range want {
					var offset int64
					if _, err := fmt.Sscan(r, &offset); err != nil {
						return err
					}
					if offset >= from {
						rest = append(rest, r)
					}
				}
				same(t, fmt.Sprintf("%s from %d", topic, from), got, rest)
			}
			return nil
		})
	}
	f("compact-none", kgo.NoCompression())
	f("compact-zstd", kgo.ZstdCompression())
}

// Positions that the log does not hold are errors that name its bounds, below
// as above; Seek mends them.
func TestOutOfRange(t *testing.T) {
	b := realkafka.Shared(t)
	topic := "range"
	b.CreateTopic(t, topic, 1, nil)
	b.Produce(t, numbered(topic, "v", 10))
	cut := kadm.Offsets{}
	cut.AddOffset(topic, 0, 4, -1)
	if _, err := kadm.NewClient(b.Client(t)).DeleteRecords(within(t), cut); err != nil {
		t.Fatalf("delete records: %v", err)
	}
	with(t, plainConfig(b), topic, 0, func(ctx context.Context, p *source.Partition) error {
		if start, end, err := p.Bounds(ctx); err != nil || start != 4 || end != 10 {
			t.Errorf("bounds after DeleteRecords: got [%d, %d), %v, want [4, 10)", start, end, err)
		}
		for _, from := range []int64{0, 3, 11, 1 << 40} {
			_, err := readTo(ctx, p, from, from+1)
			var out *source.OutOfRangeError
			if !errors.As(err, &out) || out.Start != 4 || out.End != 10 || out.Position != from {
				t.Errorf("read at %d: got %v, want it out of [4, 10)", from, err)
			}
		}
		got, err := readTo(ctx, p, 4, 10)
		if len(got) != 6 {
			t.Errorf("read at the new start: got %d records, want 6", len(got))
		}
		return err
	})
}

// The offset for a time is that of the first record not older, and the end of
// the log when all are older.
func TestOffsetFor(t *testing.T) {
	b := realkafka.Shared(t)
	topic := "times"
	b.CreateTopic(t, topic, 1, nil)
	records := numbered(topic, "v", 5)
	for i, r := range records {
		r.Timestamp = time.UnixMilli(int64(1000 * (i + 1)))
	}
	b.Produce(t, records)
	with(t, plainConfig(b), topic, 0, func(ctx context.Context, p *source.Partition) error {
		for at, want := range map[int64]int64{0: 0, 1000: 0, 1001: 1, 5000: 4, 5001: 5} {
			if got, err := p.OffsetFor(ctx, time.UnixMilli(at)); err != nil || got != want {
				t.Errorf("offset at %d ms: got %d, %v, want %d", at, got, err, want)
			}
		}
		return nil
	})
}

// A topic that is deleted and created again has another id and the same
// cluster, while the source goes on running.
func TestRecreatedTopic(t *testing.T) {
	b := realkafka.Shared(t)
	topic := "phoenix"
	b.CreateTopic(t, topic, 1, nil)
	b.Produce(t, numbered(topic, "old", 3))
	with(t, plainConfig(b), topic, 0, func(ctx context.Context, p *source.Partition) error {
		if _, err := readTo(ctx, p, 0, 3); err != nil {
			return err
		}
		before, err := p.Identity(ctx)
		if err != nil {
			return err
		}
		b.DeleteTopic(t, topic)
		if _, err := p.Identity(ctx); !errors.Is(err, source.ErrNoTopic) {
			t.Errorf("identity of a deleted topic: got %v, want %v", err, source.ErrNoTopic)
		}
		b.CreateTopic(t, topic, 1, nil)
		b.Produce(t, numbered(topic, "new", 10))
		after, err := p.Identity(ctx)
		if err != nil {
			return err
		}
		if before.Cluster == "" || before.Cluster != after.Cluster {
			t.Errorf("cluster: got %q, then %q", before.Cluster, after.Cluster)
		}
		if before.Topic == after.Topic || after.Topic == [16]byte{} {
			t.Errorf("topic id: got %x, then %x, want two ids", before.Topic, after.Topic)
		}
		// What makes the id needed: the position is a legal one of the new log.
		got, err := readTo(ctx, p, 3, 10)
		if err == nil && (len(got) != 7 || !strings.Contains(got[0], "new3")) {
			t.Errorf("after the change: got %v", got)
		}
		return err
	})
}

// Restarts, in good order and after a crash, raise the leader epoch; the reader
// goes on by itself and can ask where each epoch ended.
func TestRestart(t *testing.T) {
	b := realkafka.Start(t, realkafka.Options{})
	topic := "epochs"
	b.CreateTopic(t, topic, 1, nil)
	with(t, plainConfig(b), topic, 0, func(ctx context.Context, p *source.Partition) error {
		before, err := p.Identity(ctx)
		if err != nil {
			return err
		}
		var epochs []int32
		for i, again := range []func(){func() {}, func() { b.Restart(t) }, func() { b.Kill9(); b.Up(t) }} {
			again()
			b.Produce(t, numbered(topic, "v", 5))
			if err := p.Seek(ctx, int64(i*5)); err != nil {
				return err
			}
			batch, err := p.Read(ctx)
			if err != nil {
				return fmt.Errorf("after restart %d: %w", i, err)
			}
			if batch.Len() != 5 || batch.Next != int64(i*5+5) {
				t.Errorf("after restart %d: got %d records, next %d", i, batch.Len(), batch.Next)
			}
			epochs = append(epochs, batch.LeaderEpoch)
		}
		for i, epoch := range epochs {
			if i > 0 && epoch <= epochs[i-1] {
				t.Errorf("leader epochs: got %v, want them to rise", epochs)
			}
			if end, err := p.EpochEnd(ctx, epoch); err != nil || end != int64(i*5+5) {
				t.Errorf("end of epoch %d: got %d, %v, want %d", epoch, end, err, i*5+5)
			}
		}
		// An epoch that is yet to come has no end.
		if end, err := p.EpochEnd(ctx, epochs[2]+10); err != nil || end != source.NoEpochEnd {
			t.Errorf("end of an epoch to come: got %d, %v, want %d", end, err, source.NoEpochEnd)
		}
		after, err := p.Identity(ctx)
		if err == nil && after != before {
			t.Errorf("identity after restarts: got %v, want %v", after, before)
		}
		return err
	})
}
