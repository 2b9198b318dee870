package source

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"runtime/metrics"
	"testing"

	"github.com/lakeweir/lakeweir/record"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// allocated returns how many bytes do allocates.
func allocated(do func()) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	do()
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}

// fuzzLimit is what a batch may inflate to in fuzz tests.
const fuzzLimit = 1 << 20

// FuzzBatch: what any bytes decode to keeps the promises of a batch, and is
// what another implementation reads. Besides what is added here, its corpus has
// batches that franz-go made, with each codec.
func FuzzBatch(f *testing.F) {
	f.Add(plainBatch(0, 3, "v").encode(), int64(0))
	f.Add(append(plainBatch(0, 3, "v").encode(), marker(3, 9, false).encode()...), int64(2))
	f.Add(testBatch{base: 3, last: 300002, producer: 9}.encode(), int64(3))
	h := plainBatch(0, 1, "v")
	h.records[0].headers = record.NewHeaders(record.Header{Key: []byte("k")}, record.Header{Key: []byte{}, Value: []byte{}})
	f.Add(h.encode(), int64(0))
	for _, codec := range allCodecs {
		b := plainBatch(7, 20, "value")
		b.attributes, b.body, b.count = wire(codec), pack(f, codec, encodeRecords(b.records)), 20
		f.Add(b.encode(), int64(0))
	}
	f.Fuzz(func(t *testing.T, raw []byte, pos int64) {
		if pos < 0 {
			return
		}
		whole, next, _, broken := measure(raw, pos)
		if whole > len(raw) || next < pos {
			t.Fatalf("measured %d of %d bytes, next %d from %d", whole, len(raw), next, pos)
		}
		out, err := decodeAny(t, raw, pos)
		for _, b := range out {
			checkBatch(t, b, pos)
			pos = b.Next
		}
		if err == nil && !broken && pos != next {
			t.Errorf("position %d after all batches, measured %d", pos, next)
		}
	})
}

// decodeAny is decodeAll without the checksum, which no fuzzer gets right.
func decodeAny(t *testing.T, raw []byte, pos int64) (out []*record.Batch, err error) {
	t.Helper()
	var c codecs
	drop := newFilter([]aborted{{producer: 9, first: 0}})
	for len(raw) > 0 {
		h, err := parseHeader(raw)
		if err != nil || h.incomplete {
			return out, err
		}
		if h.last >= pos {
			var b *record.Batch
			if n := allocated(func() { b, err = h.decode(raw, pos, &c, fuzzLimit) }); n > 32<<20+100*uint64(len(raw)) {
				t.Errorf("%d bytes allocated for a batch of %d: %v", n, h.size, err)
			}
			if err != nil {
				return out, err
			}
			compareBatch(t, h, raw[:h.size], b)
			follow(t, &drop, h, b)
			out = append(out, b)
			pos = b.Next
		}
		raw = raw[h.size:]
	}
	return out, nil
}

// follow takes a batch through the filter of transactions: what is outside of
// any is never dropped, nor what is of another producer than the aborted one.
func follow(t *testing.T, drop *filter, h header, b *record.Batch) {
	t.Helper()
	drop.reach(h.last)
	if drop.drops(h) && (!h.transactional() || h.producer != 9) {
		t.Errorf("dropped a batch of producer %d, transactional %t", h.producer, h.transactional())
	}
	if !h.control() {
		return
	}
	for r := range b.All() {
		drop.marker(h.producer, r.Key)
		if len(r.Key) >= 4 && r.Key[2] == 0 && r.Key[3] == 0 && drop.drops(h) {
			t.Errorf("the transaction of producer %d goes on after its end", h.producer)
		}
	}
}

// compareBatch compares with the reading of kmsg where that takes the batch.
func compareBatch(t *testing.T, h header, raw []byte, b *record.Batch) {
	t.Helper()
	var ref kmsg.RecordBatch
	if ref.ReadFrom(raw) != nil {
		t.Fatalf("only we take the batch %x", raw)
	}
	if ref.FirstOffset != h.base || int64(ref.LastOffsetDelta) != h.last-h.base || ref.PartitionLeaderEpoch != b.LeaderEpoch ||
		ref.ProducerID != h.producer || ref.NumRecords != h.count {
		t.Errorf("%+v, kmsg has %+v", h, ref)
	}
	rest, err := new(codecs).inflate(h.codec(), ref.Records, fuzzLimit)
	if err != nil {
		t.Fatalf("inflated before, now %v", err)
	}
	i := 0
	for range ref.NumRecords {
		_, n, _ := varint(rest, 0)
		size, _, _ := varint(rest, 0)
		var r kmsg.Record
		if r.ReadFrom(rest[:n+int(size)]) != nil {
			return // it is stricter about 32 bits
		}
		rest = rest[n+int(size):]
		if offset := h.base + int64(r.OffsetDelta); offset >= b.Start {
			compareRecord(t, h, r, b.At(i))
			i++
		}
	}
	if i != b.Len() {
		t.Errorf("%d records, kmsg has %d", b.Len(), i)
	}
}

func compareRecord(t *testing.T, h header, want kmsg.Record, got record.Record) {
	t.Helper()
	ts := h.first + want.TimestampDelta64
	if h.logAppendTime() {
		ts = h.max
	}
	same := func(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
	if got.Offset != h.base+int64(want.OffsetDelta) || got.Timestamp != ts || !same(got.Key, want.Key) || !same(got.Value, want.Value) {
		t.Errorf("record %+v, kmsg has %+v", got, want)
	}
	i := 0
	for x := range got.Headers.All() {
		if i >= len(want.Headers) || string(x.Key) != want.Headers[i].Key || !same(x.Value, want.Headers[i].Value) {
			t.Fatalf("header %d is %q, kmsg has %q", i, x, want.Headers)
		}
		i++
	}
	if i != len(want.Headers) {
		t.Errorf("%d headers, kmsg has %d", i, len(want.Headers))
	}
}

func checkBatch(t *testing.T, b *record.Batch, pos int64) {
	t.Helper()
	if b.Start != pos || b.Next <= pos {
		t.Fatalf("batch [%d, %d) at position %d", b.Start, b.Next, pos)
	}
	last := int64(math.MinInt64)
	for r := range b.All() {
		if r.Offset < b.Start || r.Offset >= b.Next || r.Offset <= last {
			t.Fatalf("offset %d after %d in [%d, %d)", r.Offset, last, b.Start, b.Next)
		}
		last = r.Offset
		if err := r.Headers.Validate(); err != nil {
			t.Fatal(err)
		}
		n := 0
		for range r.Headers.All() {
			n++
		}
		if n != r.Headers.Len() {
			t.Fatalf("%d of %d headers", n, r.Headers.Len())
		}
	}
}

// FuzzInflate: what any bytes inflate to is within the limit and the memory
// for it, and does not depend on what was inflated before; what is packed
// comes back.
func FuzzInflate(f *testing.F) {
	for _, codec := range allCodecs {
		for _, size := range []int{0, 1, 3000} {
			f.Add(wire(codec), pack(f, codec, bytes.Repeat([]byte("0123456789"), size)))
		}
	}
	f.Add(codecGzip, pack(f, codecGzip, make([]byte, fuzzLimit+1)))
	f.Add(codecZstd, pack(f, codecZstd, make([]byte, fuzzLimit+1)))
	var used codecs
	f.Fuzz(func(t *testing.T, codec int16, body []byte) {
		var out []byte
		var err error
		if n := allocated(func() { out, err = used.inflate(codec, body, fuzzLimit) }); n > 32<<20+10*uint64(len(body)) {
			t.Errorf("codec %d: %d bytes allocated for %d", codec, n, len(body))
		}
		if len(out) > fuzzLimit || err != nil && out != nil {
			t.Errorf("codec %d: %d bytes, %v", codec, len(out), err)
		}
		again, err2 := new(codecs).inflate(codec, body, fuzzLimit)
		if !bytes.Equal(again, out) || (err == nil) != (err2 == nil) {
			t.Errorf("codec %d: %d bytes, %v; at first use %d bytes, %v", codec, len(out), err, len(again), err2)
		}
		if want, err := gunzip(body); codec == codecGzip && len(body) > 0 && err == nil && !bytes.Equal(out, want) {
			t.Errorf("gzip: %d bytes, compress/gzip has %d", len(out), len(want))
		}
		one := allCodecs[uint16(codec)%uint16(len(allCodecs))]
		if out, err := used.inflate(wire(one), pack(t, one, body), fuzzLimit); len(body) <= fuzzLimit && (err != nil || !bytes.Equal(out, body)) {
			t.Errorf("codec %d: %d bytes of %d come back: %v", one, len(out), len(body), err)
		}
	})
}

// gunzip is the reading of the standard library, up to the limit.
func gunzip(body []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, fuzzLimit+1))
	if err == nil && len(out) > fuzzLimit {
		return nil, errors.New("too large")
	}
	return out, err
}
