package logs

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// compactedTopic makes a topic that the cleaner works on at once. A segment
// ends where a record is an hour younger, so a test ends one when it likes.
func compactedTopic(t testing.TB, b *realkafka.Broker, topic, policy string) {
	t.Helper()
	b.CreateTopic(t, topic, 1, map[string]string{
		"cleanup.policy": policy, "segment.ms": "600000", "min.cleanable.dirty.ratio": "0.01",
		"min.compaction.lag.ms": "0", "delete.retention.ms": "0", "retention.ms": "-1",
	})
}

// keyed writes a batch of n records with the keys k<from>, ..., an hour after
// the one before.
func keyed(t testing.TB, b *realkafka.Broker, topic, text string, hour, from, n int, opts ...kgo.Opt) {
	t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{
			Topic: topic, Key: fmt.Appendf(nil, "k%d", from+i), Value: fmt.Appendf(nil, "%s%d", text, from+i),
			Timestamp: time.Now().Add(time.Duration(hour-24) * time.Hour),
		}
	}
	b.Produce(t, records, opts...)
}

// reference reads a partition with another client, from its start to its end.
func reference(t testing.TB, b *realkafka.Broker, topic string) []string {
	t.Helper()
	end, _ := endOf(t, b, topic)
	c := b.Client(t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}), kgo.KeepControlRecords())
	defer c.Close()
	var all []string
	ctx := within(t)
	for at := int64(0); at < end; {
		f := c.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatalf("read %s: %v", topic, err)
		}
		f.EachRecord(func(r *kgo.Record) {
			at = r.Offset + 1
			if !r.Attrs.IsControl() {
				all = append(all, fmt.Sprintf("0/%d %s", r.Offset, r.Value))
			}
		})
	}
	return all
}

// awaitCleaner waits until the cleaner has left so many records.
func awaitCleaner(t testing.TB, b *realkafka.Broker, topic string, left int) []string {
	t.Helper()
	var got []string
	lakeweirtest.Await(t, limit, fmt.Sprintf("the cleaner leaves %d records in %s", left, topic), func() bool {
		got = reference(t, b, topic)
		return len(got) == left
	})
	return got
}

// Holes that the real cleaner made, in every codec: a batch without records at
// the start of the log, many in a row, and one that begins where a batch of 110
// rows is cut. All is passed, each position is accounted for, and a restart
// reads none of it again (B04).
func TestCompactedHoles(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	f := func(name string, codec kgo.CompressionCodec) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := topicOf(t)
			opt := kgo.ProducerBatchCompression(codec)
			compactedTopic(t, b, topic, "compact")
			for hour := range 8 { // all but the last are superseded: 0 to 699
				keyed(t, b, topic, fmt.Sprintf("round%d-", hour), hour, 0, 100, opt)
			}
			keyed(t, b, topic, "last", 8, 1000, 10, opt)  // 800 to 809
			keyed(t, b, topic, "gone", 9, 2000, 300, opt) // 810 to 1109: behind the cut at 110 rows
			keyed(t, b, topic, "newer", 10, 2000, 300, opt)
			keyed(t, b, topic, "end", 11, 9000, 1, opt) // the cleaner leaves the newest segment alone
			const left, end = 100 + 10 + 300 + 1, 8*100 + 10 + 300 + 300 + 1
			want := awaitCleaner(t, b, topic, left)

			s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic, "batch: {max_rows: 110}")
			s.Once(t)
			same(t, "rows", s.Rows(t), want)
			h := s.Head(t, 0)
			if c := h.Totals.Counts; h.First != 0 || h.Next != end || c.Absent != end-left || c.Lost != 0 {
				t.Errorf("head [%d,%d), %+v; want [0,%d) with %d absent", h.First, h.Next, c, end, end-left)
			}
			contiguous(t, h)
			s.Once(t)
			if again := s.Head(t, 0); again.Next != end || again.Totals != h.Totals {
				t.Errorf("a restart changed %+v to %+v", h.Totals, again.Totals)
			}
		})
	}
	f("none", kgo.NoCompression())
	f("gzip", kgo.GzipCompression())
	f("snappy", kgo.SnappyCompression())
	f("lz4", kgo.Lz4Compression())
	f("zstd", kgo.ZstdCompression())
}

// contiguous fails the test unless the ranges of a head that has no sealed ones
// follow each other, each with counts that add up to its positions.
func contiguous(t testing.TB, h *lakeweirtest.Head) {
	t.Helper()
	at := h.First
	for _, r := range h.Ranges {
		c := r.Counts
		if r.Start != at || c.Rows+c.Dead+c.Absent+c.Lost != r.Next-r.Start {
			t.Errorf("range [%d,%d) with %+v behind %d", r.Start, r.Next, c, at)
		}
		at = r.Next
	}
	if at != h.Next {
		t.Errorf("the ranges end at %d, the head at %d", at, h.Next)
	}
}
