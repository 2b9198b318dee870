package source

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/lakeweir/lakeweir/record"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// hostileLog is a partition whose fetches are answered by hand.
type hostileLog struct {
	mu      sync.Mutex
	batches []testBatch
	start   int64
	end     int64
	aborted []kmsg.FetchResponseTopicPartitionAbortedTransaction
	atOnce  int    // batches in one response; 0 is all
	tail    []byte // bytes after the last batch
	code    int16  // instead of records
	codes   int    // how often; below 0 is for ever
	fetches int
	below   int // fetches of what is below the end
	heal    int // damaged batches are whole from this fetch on
}

// serve answers all fetches of a cluster from the log.
func (l *hostileLog) serve(c *kfake.Cluster) {
	c.ControlKey(keyFetch, func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		req := kreq.(*kmsg.FetchRequest)
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		for _, t := range req.Topics {
			rt := kmsg.NewFetchResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rt.Partitions = append(rt.Partitions, l.answer(p))
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
}

func (l *hostileLog) answer(p kmsg.FetchRequestTopicPartition) kmsg.FetchResponseTopicPartition {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fetches++
	if p.FetchOffset < l.end {
		l.below++
	}
	rp := kmsg.NewFetchResponseTopicPartition()
	rp.Partition = p.Partition
	rp.HighWatermark, rp.LastStableOffset, rp.LogStartOffset = l.end, l.end, -1
	rp.AbortedTransactions = l.overlapping(p.FetchOffset)
	if l.codes != 0 {
		l.codes--
		rp.ErrorCode = l.code
		return rp
	}
	if p.FetchOffset < l.start || p.FetchOffset > l.end {
		rp.ErrorCode = codeOutOfRange
		return rp
	}
	n := 0
	for _, b := range l.batches {
		if b.last < p.FetchOffset || l.atOnce > 0 && n == l.atOnce {
			continue
		}
		b.damage = b.damage && (l.heal == 0 || l.fetches < l.heal)
		rp.RecordBatches = append(rp.RecordBatches, b.encode()...)
		n++
	}
	if n > 0 {
		rp.RecordBatches = append(rp.RecordBatches, l.tail...)
	}
	return rp
}

// readHostile reads a log by hand from its start to its end.
func readHostile(t *testing.T, l *hostileLog, change func(*Config)) ([]got, error) {
	t.Helper()
	c := cluster(t, kfake.SeedTopics(1, "t"))
	l.serve(c)
	cfg := config(c, "t")
	if change != nil {
		change(&cfg)
	}
	var have []got
	err := run(t, cfg, only(&have, l.start, l.end))
	return have, err
}

// Logs as compaction, transactions and old software leave them.
func TestOddLogs(t *testing.T) {
	empty := testBatch{base: 3, last: 300002, producer: 9, first: -1, max: -1}
	cut := plainBatch(0, 3, "v")
	cut.last = 300002
	v := []got{{0, "v0"}, {1, "v1"}, {2, "v2"}}
	w := []got{{300003, "w300003"}, {300004, "w300004"}}
	f := func(l *hostileLog, want ...got) {
		t.Helper()
		for _, n := range []int{0, 1} { // all batches in a response, or one
			l.atOnce = n
			have, err := readHostile(t, l, nil)
			if err != nil {
				t.Errorf("%d at once: %v", n, err)
			}
			equal(t, have, want)
		}
	}
	both := append(append([]got{}, v...), w...)
	// Whole batches are gone between two.
	f(&hostileLog{batches: []testBatch{plainBatch(0, 3, "v"), plainBatch(300003, 2, "w")}, end: 300005}, both...)
	// The last records of a batch are gone, its last offset stays.
	f(&hostileLog{batches: []testBatch{cut, plainBatch(300003, 2, "w")}, end: 300005}, both...)
	// A batch without records, kept for the state of its producer.
	f(&hostileLog{batches: []testBatch{plainBatch(0, 3, "v"), empty, plainBatch(300003, 2, "w")}, end: 300005}, both...)
	// The log ends in such a batch.
	f(&hostileLog{batches: []testBatch{plainBatch(0, 3, "v"), empty}, end: 300003}, v...)
	// The log ends in a control batch.
	f(&hostileLog{batches: []testBatch{plainBatch(0, 3, "v"), marker(3, 9, true)}, end: 4}, v...)
	// The log begins after 0.
	f(&hostileLog{batches: []testBatch{plainBatch(300003, 2, "w")}, start: 300003, end: 300005}, w...)
	// A response ends in a part of a batch.
	f(&hostileLog{batches: []testBatch{plainBatch(0, 3, "v")}, end: 3, tail: plainBatch(3, 3, "x").encode()[:80]}, v...)
	// So short a part that not even its size is told.
	f(&hostileLog{batches: []testBatch{plainBatch(0, 3, "v")}, end: 3, tail: plainBatch(3, 3, "x").encode()[:9]}, v...)
}

// Times of the broker are those of all records of a batch; no time, the first
// of 1970 and one before it stay what they are (B31).
func TestTimestamps(t *testing.T) {
	appended := testBatch{
		base: 0, last: 1, attributes: attrLogAppendTime, first: 1000, max: 1700000009999, producer: -1, epoch: 7,
		records: []testRecord{{value: []byte("a")}, {delta: 1, ago: 5, value: []byte("b")}},
	}
	created := testBatch{
		base: 2, last: 4, first: -1, max: 7, producer: -1, epoch: 8,
		records: []testRecord{{value: []byte("none")}, {delta: 1, ago: 1, value: []byte("0")}, {delta: 2, ago: -86400000, value: []byte("before 1970")}},
	}
	c := cluster(t, kfake.SeedTopics(1, "t"))
	(&hostileLog{batches: []testBatch{appended, created}, end: 5}).serve(c)
	want := []int64{1700000009999, 1700000009999, record.NoTimestamp, 0, -86400001}
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
		if err := p.Seek(ctx, 0); err != nil {
			return err
		}
		return each(ctx, p, 0, 5, func(b *record.Batch) {
			kind, epoch := record.LogAppendTime, int32(7)
			if b.Start >= 2 {
				kind, epoch = record.CreateTime, 8
			}
			if b.LeaderEpoch != epoch {
				t.Errorf("leader epoch %d at offset %d", b.LeaderEpoch, b.Start)
			}
			for r := range b.All() {
				if r.Timestamp != want[r.Offset] || r.TimestampType != kind {
					t.Errorf("offset %d: %s time %d, want %s time %d", r.Offset, r.TimestampType, r.Timestamp, kind, want[r.Offset])
				}
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What cannot be read stops the partition with an error that names the place.
func TestBadBatches(t *testing.T) {
	f := func(b testBatch, want string) {
		t.Helper()
		l := &hostileLog{batches: []testBatch{plainBatch(0, 3, "v"), b}, end: 100}
		have, err := readHostile(t, l, func(c *Config) { c.BatchBytes = 1 << 20 })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "read t/0 at offset 3") {
			t.Errorf("error does not name the place: %v", err)
		}
		equal(t, have, []got{{0, "v0"}, {1, "v1"}, {2, "v2"}}) // what is before it comes
	}
	bad := func(change func(*testBatch)) testBatch {
		b := plainBatch(3, 2, "w")
		change(&b)
		return b
	}
	// A bit is flipped, on every replica and every way.
	f(bad(func(b *testBatch) { b.damage = true }), "checksum")
	// Formats from before Kafka 0.11, and one to come.
	f(bad(func(b *testBatch) { b.magic = 1 }), "message format v1")
	f(bad(func(b *testBatch) { b.magic = 3 }), "message format v3")
	// A codec that does not exist.
	f(bad(func(b *testBatch) { b.attributes = 6 }), "unknown compression codec 6")
	// More records than there are bytes, and fewer than none.
	f(bad(func(b *testBatch) { b.count = 1 << 30 }), "1073741824 records")
	f(bad(func(b *testBatch) { b.count = -1 }), "-1 records")
	// Bytes after the last record; a record beyond the batch's last offset.
	f(bad(func(b *testBatch) { b.count = 1 }), "after the last record")
	f(bad(func(b *testBatch) { b.records[1].delta = 5 }), "does not fit")
	// Records that do not ascend.
	f(bad(func(b *testBatch) { b.records[1].delta = 0 }), "follows position")
	// Headers that lie about their count.
	f(bad(func(b *testBatch) { b.records[0].headers = record.Headers{8, 2, 'a', 1} }), "headers")
	// Bytes that no codec wrote, and a batch that inflates too far.
	f(bad(func(b *testBatch) { b.attributes, b.body = codecZstd, []byte("not zstd") }), "zstd")
	f(bad(func(b *testBatch) { b.attributes, b.body = codecGzip, pack(t, codecGzip, make([]byte, 2<<20)) }), "inflates beyond the limit")
}

// A batch damaged on its way is whole at the second try.
func TestDamageHeals(t *testing.T) {
	b := plainBatch(3, 2, "w")
	b.damage = true
	have, err := readHostile(t, &hostileLog{batches: []testBatch{plainBatch(0, 3, "v"), b}, end: 5, heal: 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, have, []got{{0, "v0"}, {1, "v1"}, {2, "v2"}, {3, "w3"}, {4, "w4"}})
}

// Codes in a fetch response: some pass, some stop the partition.
func TestFetchCodes(t *testing.T) {
	f := func(code int16, times int, want string) {
		t.Helper()
		l := &hostileLog{batches: []testBatch{plainBatch(0, 3, "v")}, end: 3, code: code, codes: times}
		have, err := readHostile(t, l, nil)
		if want == "" {
			equal(t, have, []got{{0, "v0"}, {1, "v1"}, {2, "v2"}})
		}
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("code %d: %v, want %q", code, err, want)
		}
	}
	f(codeUnknownTopic, 2, "") // metadata on its way
	f(codeNoLeader, 2, "")
	f(codeNotLeader, 2, "")
	f(codeFencedEpoch, 2, "")
	f(codeUnknownEpoch, 2, "")
	f(codeStorage, 2, "")
	f(codeUnknownServer, 2, "")
	f(codeCorrupt, 2, "")                   // the broker's own check failed once
	f(codeCorrupt, -1, "the broker says")   // and for ever
	f(29, -1, "Topic Authorization Failed") // no right to read
	f(76, -1, "read t/0 at offset 0")       // a codec newer than the request
}

// A position that the leader refuses although it is in the log is tried again.
func TestOutOfRangeForAMoment(t *testing.T) {
	l := &hostileLog{batches: []testBatch{plainBatch(0, 3, "v")}, end: 3, code: codeOutOfRange, codes: 2}
	c := cluster(t, kfake.SeedTopics(1, "t"))
	produce(t, producer(t, c), "t", 0, values(3)...)
	l.serve(c)
	var have []got
	if err := run(t, config(c, "t"), only(&have, 0, 3)); err != nil {
		t.Fatal(err)
	}
	equal(t, have, []got{{0, "v0"}, {1, "v1"}, {2, "v2"}})
}

// A batch larger than one fetch of its partition is asked for again, larger.
func TestLargeBatch(t *testing.T) {
	big := plainBatch(0, 1, "v")
	big.records[0].value = make([]byte, 300_000)
	f := func(limit int32, want error) {
		t.Helper()
		c := cluster(t, kfake.SeedTopics(1, "t"))
		c.ControlKey(keyFetch, func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			req := kreq.(*kmsg.FetchRequest)
			resp := req.ResponseKind().(*kmsg.FetchResponse)
			rt := kmsg.NewFetchResponseTopic()
			rt.Topic = "t"
			rp := kmsg.NewFetchResponseTopicPartition()
			rp.RecordBatches = big.encode()
			if n := int(req.Topics[0].Partitions[0].PartitionMaxBytes); n < len(rp.RecordBatches) {
				rp.RecordBatches = rp.RecordBatches[:n]
			}
			rt.Partitions = append(rt.Partitions, rp)
			resp.Topics = append(resp.Topics, rt)
			return resp, nil, true
		})
		cfg := config(c, "t")
		cfg.PartitionBytes, cfg.BatchBytes = 1000, limit
		var have []got
		err := run(t, cfg, only(&have, 0, 1))
		if !errors.Is(err, want) || (err == nil) != (len(have) == 1) {
			t.Errorf("limit %d: %d records, %v", limit, len(have), err)
		}
	}
	f(1<<20, nil)
	f(100_000, errTooLarge)
}
