package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/record"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func over(b []byte) *decoder { return &decoder{r: bytes.NewReader(b), left: len(b)} }

// Requests are read back by an independent implementation.
func TestFetchRequest(t *testing.T) {
	q := fetch{maxBytes: 1000, maxWait: 1500e6, committed: true, slots: []slot{
		{"t", 3, 7, 100, 50}, {"t", 1, -1, 200, 60}, {"u", 0, 2, 0, 70},
	}}
	for v := int16(4); v <= 11; v++ {
		req := kmsg.NewPtrFetchRequest()
		req.SetVersion(v)
		if err := req.ReadFrom(q.encode(nil, v)); err != nil {
			t.Fatalf("v%d: %v", v, err)
		}
		if req.ReplicaID != -1 || req.MaxWaitMillis != 1500 || req.MinBytes != 1 || req.MaxBytes != 1000 || req.IsolationLevel != 1 {
			t.Errorf("v%d: %+v", v, req)
		}
		if v >= 7 && (req.SessionID != 0 || req.SessionEpoch != -1) {
			t.Errorf("v%d: session %d, %d", v, req.SessionID, req.SessionEpoch)
		}
		if len(req.Topics) != 2 || len(req.Topics[0].Partitions) != 2 || req.Topics[1].Topic != "u" {
			t.Fatalf("v%d: topics %+v", v, req.Topics)
		}
		p := req.Topics[0].Partitions[0]
		if p.Partition != 3 || p.FetchOffset != 100 || p.PartitionMaxBytes != 50 || v >= 9 && p.CurrentLeaderEpoch != 7 {
			t.Errorf("v%d: partition %+v", v, p)
		}
	}
}

// fetchResponse is a response of two topics, as another implementation makes it.
func fetchResponse(v int16) []byte {
	res := kmsg.NewPtrFetchResponse()
	res.SetVersion(v)
	for _, topic := range []string{"t", "u"} {
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic = topic
		for i := range int32(2) {
			p := kmsg.NewFetchResponseTopicPartition()
			p.Partition, p.ErrorCode, p.HighWatermark = i, int16(i), 5
			p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 7, FirstOffset: 8}}
			if i == 0 {
				p.RecordBatches = plainBatch(0, 2, topic).encode()
			}
			rt.Partitions = append(rt.Partitions, p)
		}
		res.Topics = append(res.Topics, rt)
	}
	return res.AppendTo(nil)
}

func TestFetchResponse(t *testing.T) {
	for v := int16(4); v <= 11; v++ {
		d := over(fetchResponse(v))
		out, err := decodeFetch(d, v)
		if err != nil || len(out) != 4 || d.left != 0 {
			t.Fatalf("v%d: %d partitions, %d bytes left, %v", v, len(out), d.left, err)
		}
		if f := out[2]; f.topic != "u" || f.partition != 0 || f.code != 0 || !bytes.Equal(f.records, plainBatch(0, 2, "u").encode()) {
			t.Errorf("v%d: %+v", v, f)
		}
		if f := out[3]; f.code != 1 || f.records != nil || len(f.aborted) != 1 || f.aborted[0] != (aborted{7, 8}) {
			t.Errorf("v%d: %+v", v, f)
		}
	}
}

// BenchmarkFetch takes an answer apart that brings 1 MiB for each of four
// partitions: what a fetch costs beside the socket.
func BenchmarkFetch(b *testing.B) {
	res := kmsg.NewPtrFetchResponse()
	res.SetVersion(11)
	rt := kmsg.NewFetchResponseTopic()
	rt.Topic = "t"
	for p := range int32(4) {
		part := kmsg.NewFetchResponseTopicPartition()
		part.Partition, part.RecordBatches = p, make([]byte, 1<<20)
		rt.Partitions = append(rt.Partitions, part)
	}
	res.Topics = append(res.Topics, rt)
	raw := res.AppendTo(nil)
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if out, err := decodeFetch(over(raw), 11); err != nil || len(out) != 4 {
			b.Fatalf("%d partitions, %v", len(out), err)
		}
	}
}

// A code for the whole response is an error.
func TestFetchResponseCode(t *testing.T) {
	res := kmsg.NewPtrFetchResponse()
	res.SetVersion(11)
	res.ErrorCode = 29
	if _, err := decodeFetch(over(res.AppendTo(nil)), 11); err == nil {
		t.Error("no error")
	}
}

func TestMetadataMessages(t *testing.T) {
	for v := int16(minMetadata); v <= maxMetadata; v++ {
		req := kmsg.NewPtrMetadataRequest()
		req.SetVersion(v)
		if err := req.ReadFrom(encodeMetadata(nil, v, []string{"t", "other"}, false)); err != nil {
			t.Fatalf("v%d: %v", v, err)
		}
		if len(req.Topics) != 2 || *req.Topics[1].Topic != "other" || req.AllowAutoTopicCreation {
			t.Errorf("v%d: %+v", v, req)
		}
		if err := req.ReadFrom(encodeMetadata(nil, v, []string{"t"}, true)); err != nil || req.IncludeTopicAuthorizedOperations != (v >= withRights) {
			t.Errorf("v%d, with rights: %v, %+v", v, err, req)
		}
		d := over(metadataResponse(v))
		l := decodeMetadata(d, v)
		if d.err != nil || l.cluster != "c" || len(l.topics) != 1 {
			t.Fatalf("v%d: %+v, %v", v, l, d.err)
		}
		topic := l.topics["t"]
		want := partitionLayout{leader: 4, epoch: -1}
		if v >= withEpoch {
			want.epoch = 9
		}
		if len(topic.partitions) != 2 || topic.partitions[1] != want || (topic.id != record.TopicID{}) != (v >= withTopicID) {
			t.Errorf("v%d: %+v", v, topic)
		}
	}
}

func metadataResponse(v int16) []byte {
	res := kmsg.NewPtrMetadataResponse()
	res.SetVersion(v)
	res.ClusterID = kmsg.StringPtr("c")
	b := kmsg.NewMetadataResponseBroker()
	b.NodeID, b.Host, b.Port, b.Rack = 4, "host", 9092, kmsg.StringPtr("rack")
	res.Brokers = append(res.Brokers, b)
	rt := kmsg.NewMetadataResponseTopic()
	rt.Topic, rt.TopicID = kmsg.StringPtr("t"), [16]byte{1, 2, 3}
	for i := range int32(2) {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.LeaderEpoch = i, 4, 9
		p.Replicas, p.ISR, p.OfflineReplicas = []int32{4, 5}, []int32{4}, []int32{5}
		rt.Partitions = append(rt.Partitions, p)
	}
	res.Topics = append(res.Topics, rt)
	return res.AppendTo(nil)
}

func TestEpochMessages(t *testing.T) {
	for v := int16(minEpochEnd); v <= maxEpochEnd; v++ {
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.SetVersion(v)
		if err := req.ReadFrom(encodeEpochEnd(nil, v, "t", 3, 7)); err != nil {
			t.Fatalf("v%d: %v", v, err)
		}
		if p := req.Topics[0].Partitions[0]; req.Topics[0].Topic != "t" || p.Partition != 3 || p.LeaderEpoch != 7 || p.CurrentLeaderEpoch != -1 {
			t.Errorf("v%d: %+v", v, req)
		}
		if e := decodeEpochEnd(over(epochResponse(v))); e != (epochEnd{0, 6, 42}) {
			t.Errorf("v%d: %+v", v, e)
		}
	}
	// An answer without the partition is no answer.
	if e := decodeEpochEnd(over(make([]byte, 8))); e.code == 0 {
		t.Errorf("nothing: %+v", e)
	}
}

func epochResponse(v int16) []byte {
	res := kmsg.NewPtrOffsetForLeaderEpochResponse()
	res.SetVersion(v)
	rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
	rt.Topic = "t"
	p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	p.Partition, p.LeaderEpoch, p.EndOffset = 3, 6, 42
	rt.Partitions = append(rt.Partitions, p)
	res.Topics = append(res.Topics, rt)
	return res.AppendTo(nil)
}

// Lengths and counts that the bytes cannot back are errors, found before
// memory is taken for them.
func TestDecoderBounds(t *testing.T) {
	f := func(name string, in []byte, read func(*decoder)) {
		t.Helper()
		d := over(in)
		read(d)
		if d.err == nil || d.left != 0 {
			t.Errorf("%s: error %v, %d left", name, d.err, d.left)
		}
	}
	huge := binary.BigEndian.AppendUint32(nil, math.MaxInt32)
	f("int64 of four bytes", huge, func(d *decoder) { d.int64() })
	f("array", huge, func(d *decoder) { d.count(false, 1) })
	f("compact array", []byte{0xff, 0xff, 0xff, 0xff, 0x07}, func(d *decoder) { d.count(true, 1) })
	f("varint beyond 31 bits", []byte{0xff, 0xff, 0xff, 0xff, 0x0f}, func(d *decoder) { d.uvarint() })
	f("varint without end", bytes.Repeat([]byte{0x80}, 9), func(d *decoder) { d.uvarint() })
	f("string", []byte{0x7f, 0xff, 'x'}, func(d *decoder) { d.string(false) })
	f("skip", []byte{1}, func(d *decoder) { d.skip(2) })
	f("tags", []byte{1, 0, 9}, func(d *decoder) { d.tags(true) })
	// The stream ends before the size that was told.
	d := &decoder{r: strings.NewReader("xy"), left: 1 << 30}
	if b := d.bytes(1 << 30); b != nil || !errors.Is(d.err, io.ErrUnexpectedEOF) {
		t.Errorf("%d bytes, %v", len(b), d.err)
	}
	// Null is nothing, and no error.
	d = over([]byte{0xff, 0xff})
	if s := d.string(false); s != "" || d.err != nil {
		t.Errorf("null string: %q, %v", s, d.err)
	}
}

// More bytes than are believed at once come in pieces, whole.
func TestDecoderLargeBytes(t *testing.T) {
	in := bytes.Repeat([]byte("0123456789abcdef"), (3*eagerBytes+16)/16)
	d := over(in)
	if out := d.bytes(len(in)); !bytes.Equal(out, in) || d.err != nil || d.left != 0 {
		t.Errorf("%d bytes, %v", len(out), d.err)
	}
}
