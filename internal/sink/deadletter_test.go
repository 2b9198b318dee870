package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

// strict are settings that read quakes of c as JSON with a number, and publish
// what is none to the topic dead.
func strict(c *kfake.Cluster) *settings.Settings {
	s := quakes(c)
	s.Topics[0].Declared = manifest.Declared{Value: manifest.JSONValue, Columns: []manifest.Column{{Name: "n", Type: manifest.Int64}}}
	s.Batch.MaxRows, s.Batch.MaxAge = 1000, 50*time.Millisecond
	s.DeadLetter.Topic = "dead"
	return s
}

// withDead makes a cluster with the topics quakes and dead.
func withDead(t *testing.T, quakes, dead int32, config map[string]string) *kfake.Cluster {
	t.Helper()
	c := cluster(t, quakes)
	if err := c.CreateTopic("dead", dead, config); err != nil {
		t.Fatal(err)
	}
	return c
}

// put produces records as they are.
func put(t *testing.T, c *kfake.Cluster, rs ...*kgo.Record) {
	t.Helper()
	for _, r := range rs {
		r.Topic = "quakes"
	}
	if err := client(t, c, kgo.ProducerBatchMaxBytes(1000000)).ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// buried reads n records of the topic dead, and no more may follow them.
func buried(t *testing.T, c *kfake.Cluster, n int) (all []*kgo.Record) {
	t.Helper()
	end := int64(0)
	for p := int32(0); c.PartitionInfo("dead", p) != nil; p++ {
		end += c.PartitionInfo("dead", p).HighWatermark
	}
	if end != int64(n) {
		t.Errorf("the topic has %d records, want %d", end, n)
	}
	cl := client(t, c, kgo.ConsumeTopics("dead"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for int64(len(all)) < end {
		f := cl.PollFetches(t.Context())
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

// A dead letter is in the topic as it was in the source, with its headers and
// where it is from; null and empty stay apart. Good records are not there. (B20)
func TestDeadLetterTopic(t *testing.T) {
	c := withDead(t, 3, 2, nil)
	at := time.UnixMilli(1_700_000_000_123)
	put(t, c,
		&kgo.Record{Partition: 2, Value: []byte(`{"n":1}`)},
		&kgo.Record{Partition: 2, Value: []byte("nope"), Timestamp: at},
		&kgo.Record{Partition: 2, Key: []byte("k\xff"), Value: nil}, // a tombstone is a row
		&kgo.Record{Partition: 1, Key: []byte{}, Value: []byte{}, Headers: []kgo.RecordHeader{
			{Key: "a", Value: []byte("1")}, {Key: "lakeweir.topic", Value: []byte("theirs")}, {Key: "a"},
		}},
	)
	mem := &memory.Store{}
	if err := runOnce(t, strict(c), mem); err != nil {
		t.Fatal(err)
	}
	got := buried(t, c, 2)
	slices.SortFunc(got, func(a, b *kgo.Record) int { return int(a.Partition - b.Partition) })
	first, second := got[0], got[1]
	if first.Partition != 0 || first.Key != nil || string(first.Value) != "nope" || len(first.Headers) != 8 {
		t.Errorf("%+v", first)
	}
	for name, want := range map[string]string{
		"lakeweir.topic": "quakes", "lakeweir.partition": "2", "lakeweir.offset": "1", "lakeweir.timestamp": "1700000000123",
		"lakeweir.timestamp_type": "create", "lakeweir.reason": "bad_json", "lakeweir.detail": `unexpected "n" at byte 0`,
		"lakeweir.file": "quakes/" + head(t, mem, 2).Ranges[0].Dead[0].Key, "lakeweir.left_out": "(none)",
	} {
		if got := last(first, name); got != want && name != "lakeweir.detail" || got == "" {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if second.Partition != 1 || second.Key == nil || len(second.Key) > 0 || second.Value == nil || len(second.Value) > 0 {
		t.Errorf("%+v", second)
	}
	// What the source had comes first, in order, whatever it is called.
	if h := second.Headers; len(h) != 11 || h[0].Key != "a" || string(h[1].Value) != "theirs" || h[2].Value != nil || last(second, "lakeweir.topic") != "quakes" {
		t.Errorf("%+v", h)
	}
	if h := head(t, mem, 2); h.Totals.Rows != 2 || h.Totals.Dead != 1 {
		t.Errorf("%+v", h.Totals)
	}
	// A second run repeats nothing that is published.
	if err := runOnce(t, strict(c), mem); err != nil {
		t.Fatal(err)
	}
	buried(t, c, 2)
}

// Null stays null, and a time that is not known is empty.
func TestPostedNull(t *testing.T) {
	r := posted(manifest.DeadLetter{Record: record.Record{Timestamp: record.NoTimestamp}, Topic: "t"}, "f", "")
	if r.Key != nil || r.Value != nil {
		t.Errorf("%+v", r)
	}
	for h := range r.Headers.All() {
		if string(h.Key) == headerTimestamp && (h.Value == nil || len(h.Value) > 0) {
			t.Errorf("time %q", h.Value)
		}
	}
	if err := r.Headers.Validate(); err != nil {
		t.Error(err)
	}
}

// Letters that the topic is too small for leave parts out and say so; batches
// that it is too small for are divided. Nothing is lost, nothing stops. (B20)
func TestDeadLetterTooLarge(t *testing.T) {
	c := withDead(t, 1, 1, map[string]string{"max.message.bytes": "2000"})
	big := bytes.Repeat([]byte("x"), 5000)
	header := []kgo.RecordHeader{{Key: "h", Value: []byte("v")}}
	rs := []*kgo.Record{{Key: []byte("k"), Value: big, Headers: header}, {Key: big, Value: []byte("x"), Headers: header}}
	for i := range 100 {
		rs = append(rs, &kgo.Record{Key: fmt.Append(nil, i), Value: []byte("bad")})
	}
	put(t, c, rs...)
	mem := &memory.Store{}
	if err := runOnce(t, strict(c), mem); err != nil {
		t.Fatal(err)
	}
	got := buried(t, c, len(rs))
	for i, r := range got {
		if last(r, "lakeweir.offset") != fmt.Sprint(i) {
			t.Fatalf("record %d is of offset %s", i, last(r, "lakeweir.offset"))
		}
	}
	if r := got[0]; string(r.Key) != "k" || r.Value == nil || len(r.Value) > 0 || last(r, "h") != "v" || last(r, "lakeweir.left_out") != "value" {
		t.Errorf("%+v", r)
	}
	if r := got[1]; string(r.Key) != "quakes/0/1" || len(r.Value) > 0 || last(r, "h") != "(none)" || last(r, "lakeweir.left_out") != "key,value,headers" {
		t.Errorf("%+v", r)
	}
	if r := got[2]; string(r.Value) != "bad" || last(r, "lakeweir.left_out") != "(none)" {
		t.Errorf("%+v", r)
	}
	// What was left out is in the file that they name.
	file, ok := strings.CutPrefix(last(got[0], "lakeweir.file"), "quakes/")
	o, err := store.Sub(mem, "quakes/").Get(t.Context(), file, store.Span{})
	if !ok || err != nil || len(o.Body) == 0 {
		t.Errorf("file %q: %v", file, err)
	}
}

// A missing dead-letter topic ends the start in one line, before anything is
// claimed, and is never created.
func TestDeadLetterTopicIsMissing(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "quakes"), kfake.AllowAutoTopicCreation())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	mem := &memory.Store{}
	err = runOnce(t, strict(c), mem)
	if !errors.Is(err, source.ErrNoTopic) || !strings.Contains(err.Error(), `dead_letter.topic: topic "dead"`) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	if c.TopicInfo("dead") != nil {
		t.Error("it was created")
	}
	if _, err := manifest.Read(t.Context(), store.Sub(mem, "quakes/"), 0); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("claimed: %v", err)
	}
}

// With wait_for_topics, the partition that has dead letters waits for their
// topic, and the other one goes on; both log and figures tell. Once the topic
// is there, all is published. (B20)
func TestDeadLetterTopicIsWaitedFor(t *testing.T) {
	c := cluster(t, 2)
	send(t, c, 0, 0, 7) // numbers, which are no objects
	put(t, c, &kgo.Record{Partition: 1, Value: []byte(`{"n":1}`)})
	set, mem := strict(c), &memory.Store{}
	set.WaitForTopics = true
	said := make(events, 10_000)
	k, err := New(Config{Settings: set, Store: mem, Log: slog.New(said)})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- k.Run(t.Context()) }()
	said.wait(t, "waiting for a topic that does not exist yet")
	wait(t, "row of the other partition", func() bool {
		h, err := manifest.Read(t.Context(), store.Sub(mem, "quakes/"), 1)
		return err == nil && h.Totals.Rows == 1
	})
	wait(t, "trouble", func() bool {
		for _, st := range k.writers.Stats() {
			if st.Partition == 0 && len(st.Troubles) > 0 && errors.Is(st.Troubles[0].Err, source.ErrNoTopic) {
				return true
			}
		}
		return false
	})
	said.wait(t, "dead letters are not published yet; their range waits")
	if h := head(t, mem, 0); h.Next != 0 || h.Pending == nil {
		t.Errorf("next %d, pending %v", h.Next, h.Pending)
	}
	if err := c.CreateTopic("dead", 1, nil); err != nil {
		t.Fatal(err)
	}
	wait(t, "publish", func() bool { return head(t, mem, 0).Totals.Dead == 7 })
	k.Drain()
	if err := <-done; err != nil {
		t.Error(err)
	}
	buried(t, c, 7)
}

// Brokers that refuse, or answer nothing, hold the range back; what they took
// without saying so is there twice, and nothing is missing. (B20)
func TestDeadLettersAtLeastOnce(t *testing.T) {
	c := withDead(t, 1, 1, nil)
	send(t, c, 0, 0, 7)
	refused := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "dead", Err: kerr.NotEnoughReplicas, Count: 3})
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "dead", Err: kerr.NotEnoughReplicasAfterAppend})
	mem := &memory.Store{}
	if err := runOnce(t, strict(c), mem); err != nil {
		t.Fatal(err)
	}
	if refused.Hits() != 3 {
		t.Errorf("refused %d times", refused.Hits())
	}
	offsets := map[string]int{}
	for _, r := range buried(t, c, 14) {
		offsets[last(r, "lakeweir.offset")]++
	}
	if len(offsets) != 7 || offsets["3"] != 2 {
		t.Errorf("offsets %v", offsets)
	}
	if h := head(t, mem, 0); h.Next != 7 || h.Totals.Dead != 7 {
		t.Errorf("next %d, %+v", h.Next, h.Totals)
	}
}

// A storm of bad records goes through at a good pace, each of them once in a
// file and once in the topic. (B20)
func TestDeadLetterStorm(t *testing.T) {
	const storm = 200_000
	c := withDead(t, 1, 1, nil)
	rs := make([]*kgo.Record, storm)
	for i := range rs {
		rs[i] = &kgo.Record{Value: []byte(`{"n":"not a number"}`)}
	}
	put(t, c, rs...)
	set, mem := strict(c), &memory.Store{}
	set.Batch.MaxRows = 50_000
	began := time.Now()
	if err := runOnce(t, set, mem); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > time.Minute {
		t.Errorf("took %v", d)
	}
	if h := head(t, mem, 0); h.Next != storm || h.Totals.Dead != storm || h.Totals.Rows != 0 {
		t.Errorf("next %d, %+v", h.Next, h.Totals)
	}
	seen := make([]bool, storm)
	for _, r := range buried(t, c, storm) {
		var o int
		if _, err := fmt.Sscan(last(r, "lakeweir.offset"), &o); err != nil || seen[o] {
			t.Fatalf("offset %d again, or %v", o, err)
		}
		seen[o] = true
	}
}

// Too large a share of dead letters ends the partition with the error that the
// run ends with, when the others are done; they are published.
func TestDeadLetterRatio(t *testing.T) {
	c := cluster(t, 2)
	send(t, c, 0, 0, 1500)
	put(t, c, &kgo.Record{Partition: 1, Value: []byte(`{"n":1}`)})
	set, mem := strict(c), &memory.Store{}
	set.DeadLetter = settings.DeadLetter{MaxRatio: 0.5}
	err := runOnce(t, set, mem)
	if !errors.Is(err, writer.ErrTooManyDead) || !strings.Contains(err.Error(), "quakes/0: ") || !strings.Contains(err.Error(), "not_object") {
		t.Errorf("got %v", err)
	}
	if h := head(t, mem, 0); h.Next > 999 || h.Pending != nil {
		t.Errorf("next %d, pending %v", h.Next, h.Pending)
	}
	if h := head(t, mem, 1); h.Totals.Rows != 1 {
		t.Errorf("%+v", h.Totals)
	}
}

// An end of the run while the topic is asked for is no failure of the topic.
func TestDeadLetterCheckStops(t *testing.T) {
	set := strict(cluster(t, 1))
	set.Brokers = []string{"127.0.0.1:1"}
	k, err := New(Config{Settings: set, Store: &memory.Store{}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := k.Run(ctx); !errors.Is(err, ErrStopped) {
		t.Errorf("got %v, want %v", err, ErrStopped)
	}
}
