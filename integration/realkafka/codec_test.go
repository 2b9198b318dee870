package realkafka_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// awkward returns records with every shape of key, value, header and time.
func awkward(topic string, n int) []*kgo.Record {
	base := time.UnixMilli(1_700_000_000_000)
	records := make([]*kgo.Record, n)
	for i := range records {
		r := &kgo.Record{Topic: topic, Timestamp: base.Add(time.Duration(i) * time.Millisecond)}
		switch i % 5 {
		case 0: // null key and value
		case 1: // empty key and value
			r.Key, r.Value = []byte{}, []byte{}
		case 2: // headers: a repeat, null and empty
			r.Key, r.Value = []byte("k"), []byte("v")
			r.Headers = []kgo.RecordHeader{{Key: "h", Value: []byte("1")}, {Key: "h", Value: nil}, {Key: "", Value: []byte{}}}
		case 3: // large and compressible
			r.Value = bytes.Repeat(fmt.Appendf(nil, "%d ", i), 2000)
		case 4: // a time before all others
			r.Value, r.Timestamp = []byte("early"), time.UnixMilli(0)
		}
		records[i] = r
	}
	return records
}

// sent writes the records as a reader must see them.
func sent(records []*kgo.Record) []string {
	want := make([]string, len(records))
	for i, r := range records {
		r.Offset = int64(i)
		want[i] = theirs(r)
	}
	return want
}

// Batches in every codec, as a Go producer writes them and as the broker's own
// Java writes them, are read back as they were sent.
func TestCodecs(t *testing.T) {
	b := realkafka.Shared(t)
	codecs := []struct {
		name string
		opt  kgo.CompressionCodec
	}{
		{"uncompressed", kgo.NoCompression()},
		{"gzip", kgo.GzipCompression()},
		{"snappy", kgo.SnappyCompression()},
		{"lz4", kgo.Lz4Compression()},
		{"zstd", kgo.ZstdCompression()},
	}
	for _, codec := range codecs {
		f := func(name string, configs map[string]string, opts ...kgo.Opt) {
			t.Helper()
			topic := "codec-" + codec.name + "-" + name
			b.CreateTopic(t, topic, 1, configs)
			records := awkward(topic, 500)
			b.Produce(t, records, opts...)
			same(t, topic, readAll(t, plainConfig(b), topic), sent(records))
		}
		// The producer compresses and the broker keeps its bytes.
		f("producer", nil, kgo.ProducerBatchCompression(codec.opt))
		// The broker compresses anew, since the topic asks for the codec: snappy
		// comes in Java's framing then.
		f("broker", map[string]string{"compression.type": codec.name}, kgo.ProducerBatchCompression(kgo.NoCompression()))
	}
}

// A topic with LogAppendTime gives the broker's time for every record of a
// batch, compressed or not.
func TestLogAppendTime(t *testing.T) {
	b := realkafka.Shared(t)
	f := func(topic string, opts ...kgo.Opt) {
		t.Helper()
		b.CreateTopic(t, topic, 1, map[string]string{"message.timestamp.type": "LogAppendTime"})
		before := time.Now().Add(-time.Minute).UnixMilli()
		records := awkward(topic, 20)
		b.Produce(t, records, opts...)
		got := readAll(t, plainConfig(b), topic)
		same(t, topic, got, reference(t, b, topic, 20))
		var offset, at int64
		var kind string
		if _, err := fmt.Sscan(got[4], &offset, &at, &kind); err != nil {
			t.Fatal(err)
		}
		if kind != "append" || at < before {
			t.Errorf("%s: got time %d (%s), want the broker's, not the producer's 0", topic, at, kind)
		}
	}
	f("append-plain", kgo.ProducerBatchCompression(kgo.NoCompression()))
	f("append-zstd", kgo.ProducerBatchCompression(kgo.ZstdCompression()))
}
