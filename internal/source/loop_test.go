package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/record"
	"github.com/segmentio/kafka-go/protocol"
)

// router without brokers, whose loops have all ended.
func idleRouter(t *testing.T, c Config) *router {
	t.Helper()
	c.Brokers, c.Topics = []string{"none:1"}, []string{"a", "b"}
	c, err := c.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := newRouter(ctx, c, nil, func(layout) {})
	t.Cleanup(r.loops.Wait)
	return r
}

// known attaches partitions, all led by broker 1 and sought to 0.
func known(t *testing.T, r *router, keys ...key) []*Partition {
	t.Helper()
	l := layout{topics: map[string]topicLayout{}}
	for _, k := range keys {
		if l.topics[k.topic].partitions == nil {
			l.topics[k.topic] = topicLayout{id: record.TopicID{1}, partitions: map[int32]partitionLayout{}}
		}
		l.topics[k.topic].partitions[k.partition] = partitionLayout{leader: 1, epoch: 5}
	}
	var ps []*Partition
	for _, k := range keys {
		p := &Partition{key: k, router: r, ctx: t.Context(), ready: make(chan struct{}, 1)}
		r.attach(p)
		r.reset(p, 0)
		ps = append(ps, p)
	}
	r.learn(l)
	return ps
}

// Each partition is first in its turn, and those of a topic stay together.
func TestPlanRotates(t *testing.T) {
	r := idleRouter(t, Config{FetchBytes: 3000, PartitionBytes: 1000})
	keys := []key{{"a", 0}, {"a", 1}, {"a", 2}, {"b", 0}, {"b", 1}}
	known(t, r, keys...)
	l := r.byLeader[1]
	var firsts []string
	for range keys {
		q := l.plan()
		if len(q.slots) != 5 || q.charge != 3000 || q.maxBytes != 3000 || q.maxWait != r.c.MaxWait {
			t.Fatalf("round %+v", q)
		}
		var topics []string
		for i, s := range q.slots {
			topics = append(topics, s.topic)
			if q.owners[i].key != (key{s.topic, s.partition}) || s.epoch != 5 {
				t.Errorf("slot %+v is for %v", s, q.owners[i].key)
			}
		}
		if n := len(slices.Compact(topics)); n != 2 {
			t.Errorf("topics are split: %v", topics)
		}
		firsts = append(firsts, q.owners[0].String())
	}
	slices.Sort(firsts)
	if len(slices.Compact(firsts)) != 5 {
		t.Errorf("first were %v", firsts)
	}
}

// A partition over its budget is left out; the wait of the others is short at
// first, grows, and is short again when a reader moved.
func TestPlanLeavesOut(t *testing.T) {
	r := idleRouter(t, Config{PartitionBytes: 1000})
	ps := known(t, r, key{"a", 0}, key{"a", 1})
	l := r.byLeader[1]
	ps[0].queue, ps[0].queued = []chunk{{charge: 1000}}, 1000
	l.plan() // takes the news of the attaching
	var waits []time.Duration
	for range 12 {
		q := l.plan()
		if len(q.slots) != 1 || q.owners[0] != ps[1] {
			t.Fatalf("round %+v", q.slots)
		}
		waits = append(waits, q.maxWait)
	}
	if !slices.IsSorted(waits) || waits[0] > 4*minWait || waits[11] != r.c.MaxWait {
		t.Errorf("waits %v", waits)
	}
	ps[1].queued = 1000
	if q := l.plan(); len(q.slots) != 0 {
		t.Errorf("all are over budget: %+v", q.slots)
	}
	ps[1].queued = 0
	ps[0].queue = append(ps[0].queue, chunk{charge: 1})
	ps[0].queued = 1001
	if _, ok, err := r.pop(ps[0]); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if q := l.plan(); len(q.slots) != 2 || q.maxWait != r.c.MaxWait {
		t.Errorf("after a pop: %+v", q)
	}
}

// Metadata that a broker is late with does not take a leader back, but that of
// a topic created again counts.
func TestStaleMetadata(t *testing.T) {
	r := idleRouter(t, Config{})
	p := known(t, r, key{"a", 0})[0]
	f := func(id byte, epoch, leader, want int32) {
		t.Helper()
		r.learn(layout{topics: map[string]topicLayout{"a": {
			id: record.TopicID{id}, partitions: map[int32]partitionLayout{0: {leader: leader, epoch: epoch}},
		}}})
		if p.leader != want {
			t.Errorf("topic %d, epoch %d: leader %d, want %d", id, epoch, p.leader, want)
		}
	}
	f(1, 6, 2, 2)   // a newer epoch
	f(1, 5, 1, -1)  // an older one: ask again
	f(1, 6, 2, 2)   // as it was
	f(2, 0, 1, 1)   // another topic of the name
	f(2, 1, -1, -1) // no leader
}

// A topic that stays away stops its partitions, a moment's absence does not.
func TestTopicGone(t *testing.T) {
	r := idleRouter(t, Config{})
	p := known(t, r, key{"a", 0})[0]
	gone := layout{topics: map[string]topicLayout{"a": {code: codeUnknownTopic}}}
	r.learn(gone)
	if p.err != nil || p.missing.IsZero() {
		t.Fatalf("at once: %v", p.err)
	}
	p.missing = p.missing.Add(-2 * topicGrace)
	r.learn(gone)
	if !errors.Is(p.err, ErrNoTopic) || p.active {
		t.Errorf("after the grace: %v", p.err)
	}
	if !strings.Contains(fmt.Sprint(p.err), "read a/0") {
		t.Errorf("error does not name the partition: %v", p.err)
	}
}

// Answers to requests from before a Seek are dropped, memory and all.
func TestLateAnswer(t *testing.T) {
	memory := &room{}
	r := idleRouter(t, Config{Room: memory})
	p := known(t, r, key{"a", 0})[0]
	l := r.byLeader[1]
	q := l.plan()
	memory.Take(q.charge)
	answer := []fetched{
		{topic: "other", partition: 7, records: plainBatch(0, 1, "v").encode()}, // nobody asked
		{topic: "a", partition: 0, records: plainBatch(0, 3, "v").encode()},
	}
	r.reset(p, 1)
	l.settle(&q, answer, nil)
	if len(p.queue) != 0 || memory.now() != 0 {
		t.Errorf("%d chunks, %d bytes", len(p.queue), memory.now())
	}
	q = l.plan()
	memory.Take(q.charge)
	l.settle(&q, answer, nil)
	if len(p.queue) != 1 || memory.now() != p.queued || p.fetchAt != 3 {
		t.Errorf("%d chunks, %d of %d bytes, position %d", len(p.queue), memory.now(), p.queued, p.fetchAt)
	}
	// The same answer again is old.
	memory.Take(q.charge)
	l.settle(&q, answer, nil)
	if len(p.queue) != 1 {
		t.Errorf("%d chunks", len(p.queue))
	}
	r.detach(p)
	memory.over(t)
}

// wireOf is a connection with a broker's answer ready.
type wireOf struct {
	io.Reader
	bytes.Buffer
}

func (w *wireOf) Read(p []byte) (int, error) { return w.Reader.Read(p) }

// What is not an answer to the request is an error, before it takes memory.
func TestRawExchange(t *testing.T) {
	f := func(size int32, id int32, body, want string) {
		t.Helper()
		head := binary.BigEndian.AppendUint32(nil, uint32(size))
		head = binary.BigEndian.AppendUint32(head, uint32(correlation.Load()+id))
		w := &wireOf{Reader: strings.NewReader(string(head) + body)}
		c := &call{
			key: keyMetadata, version: negotiated, clientID: "me",
			encode: func(b []byte, v int16) []byte { return appendInt16(b, v) },
			decode: func(d *decoder, _ int16) (any, error) { return d.int32(), nil },
		}
		c.Required(map[protocol.ApiKey]int16{protocol.Metadata: 8})
		m, err := c.RawExchange(w)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			return
		}
		if err != nil || m.(*reply).value != int32(0x61626364) {
			t.Errorf("got %v, %v", m, err)
		}
		sent := w.Buffer.Bytes()
		if string(sent[12:]) != "\x00\x02me\x00\x08" || int(binary.BigEndian.Uint32(sent)) != len(sent)-4 {
			t.Errorf("sent %q", sent)
		}
	}
	f(8, 1, "abcd", "")
	f(10, 1, "abcdef", "") // bytes after the fields that we know
	f(8, 2, "abcd", "came for request")
	f(3, 1, "", "response of -1 bytes")
	f(0x48545450, 1, "", "is this a Kafka port?") // "HTTP"
	f(8, 1, "ab", "EOF")
	f(6, 1, "ab", "ends before its last field")
}
