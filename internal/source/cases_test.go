package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/record"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// packed compresses the records of a batch.
func (b testBatch) packed(t *testing.T, codec int16) testBatch {
	t.Helper()
	if len(b.records) > 0 {
		b.body, b.count = pack(t, codec, encodeRecords(b.records)), int32(len(b.records))
	}
	b.attributes |= wire(codec)
	return b
}

// emptied is a batch of which compaction left the header.
func emptied(base, last int64) testBatch {
	return testBatch{base: base, last: last, producer: 9, first: -1, max: -1}
}

// from returns what of a log comes from an offset on.
func from(all []got, at int64) (out []got) {
	for _, g := range all {
		if g.offset >= at {
			out = append(out, g)
		}
	}
	return out
}

// Logs with holes are read to their end, wherever reading begins: at each edge
// of a hole, as after a flush there, and inside of it. It takes no second
// request for a batch that is empty (B04).
func TestHoles(t *testing.T) {
	const hole = 300_000
	f := func(name string, l *hostileLog, want ...got) {
		t.Helper()
		for _, codec := range allCodecs {
			packed := make([]testBatch, len(l.batches))
			starts := map[int64]bool{l.start: true, l.end: true}
			for i, b := range l.batches {
				packed[i] = b.packed(t, codec)
				starts[b.base], starts[b.last], starts[(b.base+b.last)/2], starts[b.last+1] = true, true, true, true
			}
			for _, n := range []int{0, 1} {
				log := &hostileLog{batches: packed, start: l.start, end: l.end, atOnce: n}
				readFrom(t, log, starts, func(at int64, have []got, fetches int) {
					equal(t, have, from(want, at))
					if limit := len(packed) + 1; fetches > limit { // one may be under way from before
						t.Errorf("%s, codec %d, from %d: %d fetches of %d batches", name, codec, at, fetches, len(packed))
					}
				})
			}
		}
	}
	v := []got{{0, "v0"}, {1, "v1"}, {2, "v2"}}
	w := []got{{3 + hole, "w300003"}, {4 + hole, "w300004"}}
	first, second := plainBatch(0, 3, "v"), plainBatch(3+hole, 2, "w")
	f("whole batches are gone", &hostileLog{batches: []testBatch{first, second}, end: 5 + hole}, append(v, w...)...)
	tail := first
	tail.last = 2 + hole
	f("the tail of a batch is gone", &hostileLog{batches: []testBatch{tail, second}, end: 5 + hole}, append(v, w...)...)
	f("two empty batches in a row", &hostileLog{batches: []testBatch{first, emptied(3, 1000), emptied(1001, 2+hole), second}, end: 5 + hole}, append(v, w...)...)
	f("empty batches at the start", &hostileLog{batches: []testBatch{emptied(7, 100), emptied(101, 2+hole), second}, start: 7, end: 5 + hole}, w...)
	f("empty batches at the end", &hostileLog{batches: []testBatch{first, emptied(3, 100), emptied(101, 2+hole)}, end: 3 + hole}, v...)
	f("nothing but an empty batch", &hostileLog{batches: []testBatch{emptied(0, 9)}, end: 10})
}

// readFrom reads a log from each offset to its end, and counts the fetches of
// what is below the end.
func readFrom(t *testing.T, l *hostileLog, starts map[int64]bool, check func(at int64, have []got, fetches int)) {
	t.Helper()
	c := cluster(t, kfake.SeedTopics(1, "t"))
	l.serve(c)
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
		for at := range starts {
			l.mu.Lock()
			l.below = 0
			l.mu.Unlock()
			at = max(at, l.start)
			have, err := read(ctx, p, at, l.end)
			if err != nil {
				return err
			}
			l.mu.Lock()
			check(at, have, l.below)
			l.mu.Unlock()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// message is a message of the formats before record batches, as Kafka 0.10 and
// older wrote them.
func message(offset int64, magic byte, value string) []byte {
	body := []byte{magic, 0}
	if magic == 1 {
		body = appendInt64(body, 1000)
	}
	body = append(appendInt32(body, -1), binary.BigEndian.AppendUint32(nil, uint32(len(value)))...)
	body = append(body, value...)
	m := appendInt32(appendInt64(nil, offset), int32(4+len(body)))
	m = binary.BigEndian.AppendUint32(m, crc32.ChecksumIEEE(body))
	return append(m, body...)
}

// Formats from before record batches are refused with an error that names
// them and the place, after all that comes before (B04).
func TestOldFormats(t *testing.T) {
	for magic := range byte(2) {
		old := testBatch{base: 3, last: 4, raw: append(message(3, magic, "old"), message(4, magic, "older")...)}
		have, err := readHostile(t, &hostileLog{batches: []testBatch{plainBatch(0, 3, "v"), old}, end: 5}, nil)
		want := fmt.Sprintf("read t/0 at offset 3, batch at offset 3: message format v%d, written before Kafka 0.11", magic)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		equal(t, have, []got{{0, "v0"}, {1, "v1"}, {2, "v2"}})
	}
}

// Batches of every codec in turn, of one record and of a hundred thousand, are
// one log; a codec that does not exist ends it with the offset (B33).
func TestCodecsInTurn(t *testing.T) {
	l := &hostileLog{}
	for _, codec := range allCodecs {
		for _, n := range []int{1, 20_000, 2} {
			b := plainBatch(l.end, n, "value of some length ").packed(t, codec)
			l.batches, l.end = append(l.batches, b), l.end+int64(n)
		}
	}
	bad := plainBatch(l.end, 1, "v")
	bad.attributes = 7
	l.batches = append(l.batches, bad)
	c := cluster(t, kfake.SeedTopics(1, "t"))
	l.serve(c)
	next := int64(0)
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
		if err := p.Seek(ctx, 0); err != nil {
			return err
		}
		return each(ctx, p, 0, l.end+1, func(b *record.Batch) {
			for r := range b.All() {
				if r.Offset != next || string(r.Value) != fmt.Sprint("value of some length ", next) {
					t.Fatalf("at %d came %d, %q", next, r.Offset, r.Value)
				}
				next++
			}
		})
	})
	if next != l.end {
		t.Errorf("%d records, want %d", next, l.end)
	}
	want := fmt.Sprintf("read t/0 at offset %d, batch at offset %[1]d: unknown compression codec 7", l.end)
	if !errors.Is(err, errCodec) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// Records far above what one fetch may bring, above the memory that there is,
// and small ones that inflate to that: all are read, in bounded memory, with
// brokers that send a first batch whole and those that cut it (B32).
func TestOversize(t *testing.T) {
	const size = 10 << 20
	f := func(name string, codec int16, noise, cuts bool, peak int64) {
		t.Helper()
		big := testBatch{base: 1, last: 1, producer: -1, records: []testRecord{{value: make([]byte, size)}}}
		if noise {
			rand.NewChaCha8([32]byte{1}).Read(big.records[0].value)
		}
		batches := [][]byte{plainBatch(0, 1, "v").encode(), big.packed(t, codec).encode(), plainBatch(2, 1, "w").encode()}
		c := cluster(t, kfake.SeedTopics(1, "t"))
		serveSized(c, batches, cuts)
		cfg := config(c, "t")
		memory := &room{limit: 4 << 20}
		cfg.Room, cfg.FetchBytes, cfg.PartitionBytes = memory, 1<<20, 64<<10
		var sizes []int
		err := run(t, cfg, func(ctx context.Context, p *Partition) error {
			if err := p.Seek(ctx, 0); err != nil {
				return err
			}
			return each(ctx, p, 0, 3, func(b *record.Batch) {
				for r := range b.All() {
					sizes = append(sizes, len(r.Value))
				}
			})
		})
		if err != nil || fmt.Sprint(sizes) != fmt.Sprint([]int{2, size, 2}) {
			t.Errorf("%s: sizes %v, %v", name, sizes, err)
		}
		if memory.peak > peak {
			t.Errorf("%s: up to %d bytes of memory", name, memory.peak)
		}
	}
	f("10 MiB", codecNone, true, false, 2*size+4<<20)
	f("10 MiB, cut", codecNone, true, true, 2*size+4<<20)
	f("10 MiB out of 10 KB", codecZstd, false, false, size+4<<20)
	f("10 MiB out of 10 KB, cut", codecGzip, false, true, size+4<<20)
	f("10 MiB that hardly shrink", codecLZ4, true, true, 2*size+4<<20)
}

// serveSized answers fetches of the only partition with one batch an offset, as
// far as they fit what is asked for; the first one whole whatever it takes, or
// cut.
func serveSized(c *kfake.Cluster, batches [][]byte, cuts bool) {
	c.ControlKey(keyFetch, func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		req := kreq.(*kmsg.FetchRequest)
		p := req.Topics[0].Partitions[0]
		rp := kmsg.NewFetchResponseTopicPartition()
		rp.HighWatermark, rp.LastStableOffset = int64(len(batches)), int64(len(batches))
		for _, b := range batches[min(int(p.FetchOffset), len(batches)):] {
			rp.RecordBatches = append(rp.RecordBatches, b...)
			if n := int(min(p.PartitionMaxBytes, req.MaxBytes)); len(rp.RecordBatches) > n {
				if cuts || len(rp.RecordBatches) > len(b) {
					rp.RecordBatches = rp.RecordBatches[:n]
				}
				break
			}
		}
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic = req.Topics[0].Topic
		rt.Partitions = append(rt.Partitions, rp)
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
}

// Seventeen rows are committed, in and out of transactions of two producers;
// the rest was aborted or is open. Reading them from any offset on, in fetches
// of one batch or of all, an aborted transaction cut in its middle included,
// gives what is left of them, and stops at the open one (B03).
func TestSeventeenRows(t *testing.T) {
	var want, all []got
	c := cluster(t, kfake.SeedTopics(1, "t"))
	a, beginA, endA := transactional(t, c, "a")
	b, beginB, endB := transactional(t, c, "b")
	at := int64(0)
	send := func(cl *kgo.Client, n int, kept bool, name string) {
		for range n {
			produce(t, cl, "t", 0, name)
			if all = append(all, got{at, name}); kept {
				want = append(want, got{at, name})
			}
			at++
		}
	}
	over := func(end func(kgo.TransactionEndTry), try kgo.TransactionEndTry) { end(try); at++ } // the marker
	beginA()
	send(a, 10, true, "tx1")
	over(endA, kgo.TryCommit)
	send(producer(t, c), 3, true, "plain")
	beginA()
	send(a, 5, false, "tx2")
	over(endA, kgo.TryAbort)
	beginA()
	beginB()
	for range 2 {
		send(a, 2, true, "tx3")
		send(b, 2, false, "tx4")
	}
	over(endB, kgo.TryAbort)
	over(endA, kgo.TryCommit)
	stable := at
	beginA()
	send(a, 3, false, "open")
	f := func(start int64, uncommitted bool, bytes int32, end int64, want []got) {
		t.Helper()
		cfg := config(c, "t")
		cfg.ReadUncommitted, cfg.PartitionBytes = uncommitted, bytes
		err := run(t, cfg, func(ctx context.Context, p *Partition) error {
			if _, last, err := p.Bounds(ctx); last != end || err != nil {
				t.Errorf("end %d, %v, want %d", last, err, end)
			}
			have, err := read(ctx, p, start, end)
			equal(t, have, from(want, start))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for start := range stable {
		f(start, false, 1, stable, want)
		f(start, false, 1<<20, stable, want)
	}
	f(0, true, 1, at, all)
	f(14, true, 1<<20, at, all)
	if len(want) != 17 {
		t.Errorf("%d rows", len(want))
	}
}
