package logs

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// A topic whose broker stamps the records: producers say 2001, the rows have the
// broker's time, one for each batch, and say so (B31).
func TestAppendTime(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	topic := topicOf(t)
	b.CreateTopic(t, topic, 1, map[string]string{"message.timestamp.type": "LogAppendTime"})
	begin := time.Now()
	for batch := range 2 {
		records := make([]*kgo.Record, 3)
		for i := range records {
			records[i] = &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "v%d", 3*batch+i), Timestamp: time.UnixMilli(1_000_000_000_000 + int64(i))}
		}
		b.Produce(t, records)
	}
	end := time.Now()
	s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic)
	s.Once(t)
	same(t, "rows", s.Rows(t), rows(0, 0, "v", 0, 6))
	var got [][2]any
	lakeweirtest.Query(t, &got, "select epoch_ms(kafka_timestamp), kafka_timestamp_type from read_parquet(?) order by kafka_offset", s.Files(t))
	for i, r := range got {
		ms := int64(r[0].(float64))
		if r[1] != "append" || ms < begin.UnixMilli()-1 || ms > end.UnixMilli()+1 {
			t.Errorf("row %d: %v, want an append time between %d and %d", i, r, begin.UnixMilli(), end.UnixMilli())
		}
		if first := got[i/3*3]; r[0] != first[0] {
			t.Errorf("row %d has %v, the first of its batch %v", i, r[0], first[0])
		}
	}
}

// What producers may say of the time: none (-1) is null, 0 is 1970, and times
// before that are times (B31).
func TestCreateTime(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	topic := topicOf(t)
	b.CreateTopic(t, topic, 1, map[string]string{"retention.ms": "-1"}) // else they are too old to stay
	times := []int64{-1, 0, -86_400_000, 1_000_000_000_000}
	for i, ms := range times { // a batch each: the first of a batch is special in its format
		b.Produce(t, []*kgo.Record{{Topic: topic, Value: fmt.Appendf(nil, "v%d", i), Timestamp: time.UnixMilli(ms)}})
	}
	s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic)
	s.Once(t)
	var got [][1]string
	lakeweirtest.Query(t, &got, `select concat_ws(' ', decode(value), coalesce(kafka_timestamp::varchar, 'null'), kafka_timestamp_type)
		from read_parquet(?) order by kafka_offset`, s.Files(t))
	want := [][1]string{
		{"v0 null create"},
		{"v1 1970-01-01 00:00:00+00 create"},
		{"v2 1969-12-31 00:00:00+00 create"},
		{"v3 2001-09-09 01:46:40+00 create"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// Records far above what is fetched at once: 20 MiB that do not compress, 20 MiB
// that do, and 64 MiB, twice the memory for raw records. All are passed, whole,
// and the process stays within bounds (B32).
func TestOversizeRecords(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	b := realkafka.Shared(t)
	topic := topicOf(t)
	b.CreateTopic(t, topic, 1, map[string]string{"max.message.bytes": fmt.Sprint(90 * mib)})
	noise := make([]byte, 20*mib)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(noise) // never fails
	values := [][]byte{[]byte("small0"), noise, []byte("small1"), bytes.Repeat([]byte("ab"), 10*mib), []byte("small2"), bytes.Repeat([]byte("x"), 64*mib), []byte("small3")}
	var want [][2]any
	for i, v := range values {
		codec := kgo.NoCompression()
		if i == 3 {
			codec = kgo.ZstdCompression()
		}
		b.Produce(t, []*kgo.Record{{Topic: topic, Value: v}}, kgo.ProducerBatchMaxBytes(80*mib), kgo.ProducerBatchCompression(codec), kgo.MaxBufferedBytes(200*mib))
		want = append(want, [2]any{float64(len(v)), fmt.Sprintf("%x", md5.Sum(v))})
	}
	s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic, "memory: 64MiB")
	p := s.Start(t, "--batch-max-age", "1s")
	lakeweirtest.Await(t, time.Minute, "all is published", func() bool { return s.Next(t, 0) == int64(len(values)) })
	peak := p.PeakMemory()
	if r := p.Stop(); r.Code != 0 {
		t.Fatalf("exit %d\n%s", r.Code, r.Log)
	}
	var got [][2]any
	lakeweirtest.Query(t, &got, "select octet_length(value), md5(value) from read_parquet(?) order by kafka_offset", s.Files(t))
	if !slices.Equal(got, want) {
		t.Errorf("lengths and hashes: got %v\nwant %v", got, want)
	}
	if h := s.Head(t, 0); h.Next != int64(len(values)) || h.Totals.Dead != 0 {
		t.Errorf("next %d, totals %+v", h.Next, h.Totals)
	}
	// One record of 64 MiB lies in an answer, a batch, a page and a body, each
	// of which may be copied once to grow.
	t.Logf("peak memory %d MiB, %d files", peak/mib, len(s.Files(t)))
	if peak > 640*mib {
		t.Errorf("peak memory %d MiB", peak/mib)
	}
}

// Every codec in turn in one partition, in batches of one record and of 100,000,
// and snappy in the frames of the Java client (B33).
func TestCodecs(t *testing.T) {
	t.Parallel()
	const large = 100_000
	b := realkafka.Shared(t)
	topic := topicOf(t)
	b.CreateTopic(t, topic, 1, map[string]string{"max.message.bytes": "20000000"})
	at := 0
	var want []string
	var layout []batch
	for i, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		for _, n := range []int{1, large} {
			text := fmt.Sprintf("codec%d-%s", i, strings.Repeat("x", 200*(large-n)/large)) // one alone has to be worth it
			sendAsOne(t, b, topic, text, n, codec)
			want = append(want, rows(0, at, text, 0, n)...)
			layout = append(layout, batch{i, n})
			at += n
		}
	}
	javaSnappy(t, b, topic, "java0\njava1\n")
	want, layout = append(want, rows(0, at, "java", 0, 2)...), append(layout, batch{2, 2})
	if got := batches(t, b.Segment(topic, 0)); !slices.Equal(got, layout) {
		t.Fatalf("the log has the batches %v, want %v", got, layout)
	}

	s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic)
	s.Once(t)
	same(t, "rows", s.Rows(t), want)
	if h := s.Head(t, 0); h.Next != int64(len(want)) || h.Totals.Absent != 0 {
		t.Errorf("next %d, %+v", h.Next, h.Totals)
	}
}

// sendAsOne sends n records in one batch: they linger until all are there.
func sendAsOne(t testing.TB, b *realkafka.Broker, topic, text string, n int, codec kgo.CompressionCodec) {
	t.Helper()
	ctx := within(t)
	c := b.Client(t, kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(16<<20), kgo.ProducerLinger(time.Minute), kgo.MaxBufferedRecords(2*n))
	results := make(chan error, n)
	for i := range n {
		c.Produce(ctx, &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "%s%d", text, i)}, func(_ *kgo.Record, err error) { results <- err })
	}
	if err := c.Flush(ctx); err != nil {
		t.Fatalf("send %d records: %v", n, err)
	}
	for range n {
		if err := <-results; err != nil {
			t.Fatalf("send %d records: %v", n, err)
		}
	}
}

// batch is one of a log: the id of its codec, and how many records it has.
type batch struct{ codec, records int }

// batches returns those of a segment.
func batches(t testing.TB, path string) []batch {
	t.Helper()
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []batch
	const header = 61
	for len(log) >= header && log[16] == 2 { // the format
		length := 12 + int(binary.BigEndian.Uint32(log[8:]))
		all = append(all, batch{int(log[22] & 7), int(binary.BigEndian.Uint32(log[57:]))})
		log = log[min(length, len(log)):]
	}
	return all
}

// javaSnappy sends lines with Kafka's own producer.
func javaSnappy(t testing.TB, b *realkafka.Broker, topic, lines string) {
	t.Helper()
	tool := filepath.Join(realkafka.Tools(t), "kafka-console-producer.sh")
	cmd := exec.CommandContext(within(t), tool, "--bootstrap-server", b.Addr(), "--topic", topic, "--compression-codec", "snappy")
	cmd.Stdin, cmd.Env = strings.NewReader(lines), os.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kafka-console-producer: %v\n%s", err, out)
	}
}
