package source

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/lakeweir/lakeweir/record"
)

// decodeAll reads all batches of raw from a position on, as a reader does.
func decodeAll(raw []byte, pos int64, limit int) (out []*record.Batch, err error) {
	var c codecs
	for len(raw) > 0 {
		h, err := parseHeader(raw)
		if err != nil || h.incomplete {
			return out, err
		}
		if err := h.check(raw); err != nil {
			return out, err
		}
		if h.last >= pos {
			b, err := h.decode(raw, pos, &c, limit)
			if err != nil {
				return out, err
			}
			out = append(out, b)
			pos = b.Next
		}
		raw = raw[h.size:]
	}
	return out, nil
}

// Header fields that no broker should send.
func TestParseHeader(t *testing.T) {
	f := func(name string, change func(raw []byte), bad bool) {
		t.Helper()
		raw := plainBatch(5, 3, "v").encode()
		change(raw)
		if _, err := parseHeader(raw); (err != nil) != bad {
			t.Errorf("%s: %v", name, err)
		}
	}
	f("as made", func([]byte) {}, false)
	f("length below the header's", func(raw []byte) { copy(raw[8:], []byte{0, 0, 0, 48}) }, true)
	f("negative length", func(raw []byte) { raw[8] = 0x80 }, true)
	f("negative last offset delta", func(raw []byte) { raw[23] = 0x80 }, true)
	f("negative base offset", func(raw []byte) { raw[0] = 0x80 }, true)
	f("offset beyond 63 bits", func(raw []byte) { copy(raw, []byte{0x7f, 255, 255, 255, 255, 255, 255, 255}) }, true)
	f("message format 0", func(raw []byte) { raw[16] = 0 }, true)
}

// Every prefix of a batch is incomplete, and its size is told once it is known.
func TestIncomplete(t *testing.T) {
	raw := plainBatch(5, 3, "v").encode()
	for n := range raw {
		h, err := parseHeader(raw[:n])
		if err != nil || !h.incomplete || n >= 17 && h.size != len(raw) {
			t.Fatalf("%d of %d bytes: %+v, %v", n, len(raw), h, err)
		}
		whole, next, _, broken := measure(raw[:n], 2)
		if whole != 0 || next != 2 || broken {
			t.Fatalf("%d bytes: measured %d, %d, %t", n, whole, next, broken)
		}
	}
}

// A cut record length must be found wherever it is.
func TestCutRecords(t *testing.T) {
	whole := encodeRecords([]testRecord{{
		key: []byte("key"), value: []byte("value"),
		headers: record.NewHeaders(record.Header{Key: []byte("h"), Value: []byte("x")}),
	}})
	for n := range whole {
		b := testBatch{last: 0, producer: -1, count: 1, body: whole[:n]}
		if out, err := decodeAll(b.encode(), 0, 1000); err == nil {
			t.Errorf("%d of %d bytes: %d batches, no error", n, len(whole), len(out))
		}
	}
}

// Decoding allocates for a batch, not for its records.
func TestAllocations(t *testing.T) {
	count := func(n int, codec int16) float64 {
		b := plainBatch(0, n, "a value of some length ")
		b.attributes, b.body, b.count = wire(codec), pack(t, codec, encodeRecords(b.records)), int32(n)
		raw := b.encode()
		var c codecs
		return testing.AllocsPerRun(20, func() {
			h, err := parseHeader(raw)
			if err == nil {
				err = h.check(raw)
			}
			if err == nil {
				_, err = h.decode(raw, 0, &c, 1<<20)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, codec := range allCodecs {
		// A hundredth of the records: libraries take from pools, which the
		// collector and the race detector empty as they like.
		if many := count(2000, codec); many > 20 {
			t.Errorf("codec %d: %v allocations for 2000 records", codec, many)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	const n = 1000
	value := bytes.Repeat([]byte(`{"id":123456,"name":"some name","at":1700000000}`), 6)
	batch := plainBatch(0, n, "")
	for i := range batch.records {
		batch.records[i].value = fmt.Appendf(value, "%d", i)
	}
	body := encodeRecords(batch.records)
	for _, codec := range []int16{codecNone, codecLZ4, codecZstd} {
		b.Run(fmt.Sprint("codec", codec), func(b *testing.B) {
			batch.attributes, batch.body, batch.count = codec, pack(b, codec, body), n
			raw := batch.encode()
			var c codecs
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				h, err := parseHeader(raw)
				if err != nil || h.check(raw) != nil {
					b.Fatal("bad batch")
				}
				if _, err := h.decode(raw, 0, &c, 1<<24); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
		})
	}
}
