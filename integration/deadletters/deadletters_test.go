// Package deadletters runs the real command over records that do not parse, with
// a dead-letter topic on a real Apache Kafka.
package deadletters

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

func TestMain(m *testing.M) { os.Exit(lakeweirtest.Main(m)) }

// limit is how long something may take that needs a moment on an idle machine.
const limit = 30 * time.Second

// topicOf returns a topic named after the test.
func topicOf(t testing.TB) string { return strings.ToLower(strings.TrimPrefix(t.Name(), "Test")) }

// config is the topic as JSON with a number and a text, and its dead-letter topic.
func config(topic string, more ...string) []string {
	return append(more, "dead_letter: {topic: "+topic+".dead}", `topics:
  `+topic+`:
    value: json
    columns: [{name: id, type: int64}, {name: name, type: string}]`)
}

// thousand are the records of which three are bad: two are cut off, and one is
// no UTF-8. Each has a key and a header.
func thousand(topic string) []*kgo.Record {
	rs := make([]*kgo.Record, 1000)
	for i := range rs {
		rs[i] = &kgo.Record{
			Topic: topic, Key: fmt.Append(nil, i), Value: fmt.Appendf(nil, `{"id":%d,"name":"n"}`, i), Timestamp: time.UnixMilli(1_700_000_000_000 + int64(i)),
			Headers: []kgo.RecordHeader{{Key: "trace", Value: fmt.Appendf(nil, "t%d", i)}, {Key: "null"}},
		}
	}
	rs[10].Value, rs[500].Value, rs[999].Value = []byte(`{"id":10,"na`), []byte(`{"id":500`), []byte("{\"name\":\"\xff\xfe\"}")
	return rs
}

// buried reads all of a dead-letter topic with one partition.
func buried(t testing.TB, b *realkafka.Broker, topic string) (all []*kgo.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	ends, err := kadm.NewClient(b.Client(t)).ListEndOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := ends.Lookup(topic, 0)
	cl := b.Client(t, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for int64(len(all)) < end.Offset {
		f := cl.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		all = append(all, f.Records()...)
	}
	return all
}

// last returns the last header of a name, which counts.
func last(r *kgo.Record, name string) string {
	for _, h := range slices.Backward(r.Headers) {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return "(none)"
}

// deadRows returns what DuckDB finds in all dead-letter files that lie in the
// table, named by a head or not.
func deadRows(t testing.TB, s *lakeweirtest.Sink) (rows [][]any) {
	t.Helper()
	lakeweirtest.Query(t, &rows, `select kafka_topic, kafka_partition, kafka_offset, epoch_ms(kafka_timestamp), reason, hex(value), decode(kafka_key)
		from read_parquet(?) order by kafka_offset`, filepath.Join(s.Place.Root, s.Topic, "dead", "*.parquet"))
	return rows
}

// putsDead matches the PUT of a dead-letter file.
func putsDead(c lakeweirtest.Call) bool {
	return c.Method == http.MethodPut && strings.HasPrefix(c.Key, "dead/")
}

// publishes matches the PUT of a head that publishes a range.
func publishes(c lakeweirtest.Call) bool {
	var h lakeweirtest.Head
	return c.Method == http.MethodPut && strings.HasPrefix(c.Key, "manifest/") && json.Unmarshal(c.Body, &h) == nil && len(h.Ranges) > 0
}

// killBefore runs the command until it is about to publish, and kills it: the
// dead letters of the range are in their file and in their topic then.
func killBefore(t *testing.T, p *lakeweirtest.Proxy, s *lakeweirtest.Sink) {
	t.Helper()
	var once sync.Once
	var mu sync.Mutex // held until the victim is known
	var victim *lakeweirtest.Process
	mu.Lock()
	p.Refuse(func(c lakeweirtest.Call) int {
		if !publishes(c) {
			return 0
		}
		mu.Lock()
		defer mu.Unlock()
		once.Do(victim.Kill)
		return http.StatusServiceUnavailable
	})
	victim = s.Start(t)
	mu.Unlock()
	if r := victim.Wait(); r.Code != -1 {
		t.Fatalf("the command ended with %d before it was killed:\n%s", r.Code, r.Log)
	}
	p.Refuse(nil)
}

// 1000 records of which three are bad. The process is killed again and again:
// when the dead-letter file is there and the topic has nothing, and when the
// topic has all and nothing is published. In the end there are 997 rows and
// three dead letters in files; the topic has the three, more than once. (B20)
func TestKilledAroundTheTopic(t *testing.T) {
	b, topic := realkafka.Shared(t), topicOf(t)
	b.CreateTopic(t, topic, 1, nil)
	b.CreateTopic(t, topic+".dead", 1, nil)
	b.Produce(t, thousand(topic))
	p, at := lakeweirtest.NewProxy(t)
	s := lakeweirtest.New(t, b.Addr(), at, topic, config(topic, "batch: {max_rows: 400, max_age: 1s}")...)
	for range 2 {
		p.Crash(t, s, 1, putsDead)
		killBefore(t, p, s)
	}
	s.Once(t)
	s.Must(t, "verify", topic, "--deep")
	if h := s.Head(t, 0); h.Next != 1000 || h.Totals.Rows != 997 || h.Totals.Dead != 3 {
		t.Errorf("next %d, %+v", h.Next, h.Totals)
	}
	want := fmt.Sprint([][]any{
		{topic, 0., 10., 1700000000010., "bad_json", "7B226964223A31302C226E61", "10"},
		{topic, 0., 500., 1700000000500., "bad_json", "7B226964223A353030", "500"},
		{topic, 0., 999., 1700000000999., "invalid_utf8", "7B226E616D65223A22FFFE227D", "999"},
	})
	if got := fmt.Sprint(deadRows(t, s)); got != want {
		t.Errorf("files have\n%s\nwant\n%s", got, want)
	}
	copies := map[string]int{}
	source := thousand(topic)
	for _, r := range buried(t, b, topic+".dead") {
		at := last(r, "lakeweir.offset")
		copies[at]++
		var i int
		if _, err := fmt.Sscan(at, &i); err != nil || !bytes.Equal(r.Value, source[i].Value) || !bytes.Equal(r.Key, source[i].Key) || last(r, "trace") != "t"+at {
			t.Errorf("%s: %+v", at, r)
		}
		if last(r, "lakeweir.topic") != topic || last(r, "lakeweir.partition") != "0" || last(r, "lakeweir.timestamp") != fmt.Sprint(source[i].Timestamp.UnixMilli()) {
			t.Errorf("%s: %v", at, r.Headers)
		}
	}
	if got := slices.Sorted(maps.Keys(copies)); !slices.Equal(got, []string{"10", "500", "999"}) || copies["10"] < 2 {
		t.Errorf("the topic has %v", copies)
	}
}

// A dead-letter topic that is too small for a record gets one without its value
// that names the file, and the partition goes on. (B20, B32)
func TestTopicIsTooSmall(t *testing.T) {
	b, topic := realkafka.Shared(t), topicOf(t)
	b.CreateTopic(t, topic, 1, nil)
	b.CreateTopic(t, topic+".dead", 1, map[string]string{"max.message.bytes": "2000"})
	b.Produce(t, []*kgo.Record{
		{Topic: topic, Key: []byte("k"), Value: bytes.Repeat([]byte("x"), 100_000)},
		{Topic: topic, Key: bytes.Repeat([]byte("y"), 3000), Value: []byte("x")},
		{Topic: topic, Value: []byte("small")},
		{Topic: topic, Value: []byte(`{"id":3}`)},
	})
	s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic, config(topic)...)
	if r := s.Once(t); !strings.Contains(r.Log, "larger than its topic takes") {
		t.Errorf("the log does not tell:\n%s", r.Log)
	}
	var got []string
	for _, r := range buried(t, b, topic+".dead") {
		got = append(got, fmt.Sprintf("%s %q %q %s", last(r, "lakeweir.offset"), r.Key, r.Value, last(r, "lakeweir.left_out")))
		file := last(r, "lakeweir.file")
		if _, err := os.Stat(filepath.Join(s.Place.Root, file)); err != nil {
			t.Error(err)
		}
	}
	want := []string{`0 "k" "" value`, fmt.Sprintf(`1 "%s/0/1" "" key,value,headers`, topic), `2 "" "small" (none)`}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if h := s.Head(t, 0); h.Totals.Rows != 1 || h.Totals.Dead != 3 || len(deadRows(t, s)) != 3 {
		t.Errorf("%+v", h.Totals)
	}
}

// A dead-letter topic that is not there is an error at the start, on a broker
// that creates topics that are asked for; it is not created. (B20)
func TestTopicIsMissing(t *testing.T) {
	b, topic := realkafka.Shared(t), topicOf(t)
	b.CreateTopic(t, topic, 1, nil)
	s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic, config(topic)...)
	r := s.Run(t, "--once")
	if r.Code != 1 || !strings.Contains(r.Log, `dead_letter.topic: topic "`+topic+`.dead": topic does not exist`) {
		t.Errorf("exit %d\n%s", r.Code, r.Log)
	}
	details, err := kadm.NewClient(b.Client(t)).ListTopics(t.Context())
	if err != nil || details.Has(topic+".dead") {
		t.Errorf("it was created, %v", err)
	}
}

// The topic is deleted while the sink runs: what has dead letters waits, with
// nothing lost, and goes on when the topic is back. A stop in that time is
// bounded, and loses nothing either. (B20)
func TestTopicGoesAway(t *testing.T) {
	b, topic := realkafka.Shared(t), topicOf(t)
	b.CreateTopic(t, topic, 2, nil)
	b.CreateTopic(t, topic+".dead", 1, nil)
	s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic, config(topic, "batch: {max_age: 200ms}", "shutdown_timeout: 3s")...)
	p := s.Start(t)
	send := func(partition int32, value string) {
		b.Produce(t, []*kgo.Record{{Topic: topic, Partition: partition, Value: []byte(value)}}, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	send(0, "bad")
	lakeweirtest.Await(t, limit, "the first is published", func() bool { return s.Next(t, 0) == 1 })
	b.DeleteTopic(t, topic+".dead")
	send(0, "bad too")
	lakeweirtest.Await(t, limit, "the wait is logged", func() bool { return strings.Contains(p.Log(), "level=WARN msg=\"dead letters are not published yet") })
	send(1, `{"id":1}`)
	lakeweirtest.Await(t, limit, "the other partition goes on", func() bool { return s.Next(t, 1) == 1 })
	if n := s.Next(t, 0); n != 1 {
		t.Errorf("next %d while the topic is away", n)
	}
	began := time.Now()
	if r := p.Stop(); time.Since(began) > 15*time.Second {
		t.Errorf("exit %d after %v", r.Code, time.Since(began))
	}
	b.CreateTopic(t, topic+".dead", 1, nil)
	s.Once(t)
	if h := s.Head(t, 0); h.Next != 2 || h.Totals.Dead != 2 {
		t.Errorf("next %d, %+v", h.Next, h.Totals)
	}
	if all := buried(t, b, topic+".dead"); len(all) != 1 || string(all[0].Value) != "bad too" {
		t.Errorf("the topic has %v", all)
	}
}

// More bad records than are tolerated end the process with an error that says
// what to do, and nothing is set aside; with the columns corrected all are rows. (B20)
func TestTooManyDead(t *testing.T) {
	b, topic := realkafka.Shared(t), topicOf(t)
	b.CreateTopic(t, topic, 1, nil)
	rs := make([]*kgo.Record, 2000)
	for i := range rs {
		rs[i] = &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, `{"id":"%d"}`, i)}
	}
	b.Produce(t, rs)
	lines := func(kind string) []string {
		return []string{"dead_letter: {max_ratio: 0.1}", "topics: {" + topic + ": {value: json, columns: [{name: id, type: " + kind + "}]}}"}
	}
	at := lakeweirtest.Dir(t)
	s := lakeweirtest.New(t, b.Addr(), at, topic, lines("bool")...)
	r := s.Run(t)
	for _, want := range []string{topic + "/0: too many dead letters: at offset 999, 1000 of the last 1000", "does_not_fit", "[0,", "dead_letter.max_ratio"} {
		if r.Code != 1 || !strings.Contains(r.Log, want) {
			t.Errorf("exit %d, want %q\n%s", r.Code, want, r.Log)
		}
	}
	if h := s.Head(t, 0); h.Next != 0 || h.Pending != nil {
		t.Errorf("next %d, pending %v", h.Next, h.Pending)
	}
	lakeweirtest.New(t, b.Addr(), at, topic, lines("string")...).Once(t)
	if h := s.Head(t, 0); h.Next != 2000 || h.Totals.Rows != 2000 || h.Totals.Dead != 0 {
		t.Errorf("next %d, %+v", h.Next, h.Totals)
	}
}
