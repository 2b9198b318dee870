package source

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kinds of messages in FuzzMessage.
const (
	kindFetch = iota
	kindMetadata
	kindEpochEnd
	kindListed
	kindMember
	kindProduced
	kinds
)

// FuzzMessage: any bytes are an answer of a broker, or what a member of the
// group tells, or an error; and are what another implementation reads. No
// count makes memory that the bytes do not back.
func FuzzMessage(f *testing.F) {
	for v := int16(4); v <= 11; v++ {
		f.Add(byte(kindFetch), v, fetchResponse(v))
	}
	for v := int16(minMetadata); v <= maxMetadata; v++ {
		f.Add(byte(kindMetadata), v, metadataResponse(v))
	}
	f.Add(byte(kindEpochEnd), int16(2), epochResponse(2))
	f.Add(byte(kindEpochEnd), int16(3), epochResponse(3))
	f.Add(byte(kindListed), int16(listVersion), listResponse())
	f.Add(byte(kindMember), int16(0), encodeMember("name", claims{7, []key{{"t", 1}, {"u", 2}}}))
	f.Add(byte(kindMember), int16(0), []byte{0, 1, 'x', 0, 0, 0, 1, 0x7f, 0xff, 0xff, 0xff})
	f.Add(byte(kindProduced), int16(produceVersion), produceResponse())
	f.Fuzz(func(t *testing.T, kind byte, v int16, data []byte) {
		read := []func(*testing.T, []byte, int16) func(){fuzzFetch, fuzzMetadata, fuzzEpochEnd, fuzzListed, fuzzMember, fuzzProduced}[kind%kinds]
		var compare func()
		if n := allocated(func() { compare = read(t, data, v) }); n > 1<<20+200*uint64(len(data)) {
			t.Errorf("%d bytes allocated for a message of %d", n, len(data))
		}
		if compare != nil {
			compare()
		}
	})
}

// listResponse is an answer of another implementation.
func listResponse() []byte {
	res := kmsg.NewPtrListOffsetsResponse()
	res.SetVersion(listVersion)
	rt := kmsg.NewListOffsetsResponseTopic()
	rt.Topic = "t"
	rt.Partitions = append(rt.Partitions, kmsg.NewListOffsetsResponseTopicPartition())
	res.Topics = append(res.Topics, rt)
	return res.AppendTo(nil)
}

// produceResponse is an answer of another implementation.
func produceResponse() []byte {
	res := kmsg.NewPtrProduceResponse()
	res.SetVersion(produceVersion)
	rt := kmsg.NewProduceResponseTopic()
	rt.Topic = "t"
	rp := kmsg.NewProduceResponseTopicPartition()
	rp.ErrorCode, rp.BaseOffset = 7, 5
	rt.Partitions = append(rt.Partitions, rp)
	res.Topics = append(res.Topics, rt)
	return res.AppendTo(nil)
}

// bounded brings a version that a fuzzer chose between two others.
func bounded(v, low, high int16) int16 { return low + int16(uint16(v)%uint16(high-low+1)) }

func fuzzFetch(t *testing.T, data []byte, v int16) func() {
	v = bounded(v, 4, 11)
	out, err := decodeFetch(over(data), v)
	size := 0
	for _, p := range out {
		size += len(p.records)
	}
	if size > len(data) {
		t.Errorf("%d bytes of records in %d bytes", size, len(data))
	}
	return func() {
		res := kmsg.NewPtrFetchResponse()
		res.SetVersion(v)
		if err != nil || res.ReadFrom(data) != nil {
			return
		}
		i := 0
		for _, topic := range res.Topics {
			for _, p := range topic.Partitions {
				var list []aborted
				for _, a := range p.AbortedTransactions {
					list = append(list, aborted{a.ProducerID, a.FirstOffset})
				}
				if i >= len(out) {
					t.Fatalf("%d partitions, kmsg has more", len(out))
				}
				f := out[i]
				if f.topic != topic.Topic || f.partition != p.Partition || f.code != p.ErrorCode ||
					!bytes.Equal(f.records, p.RecordBatches) || !slices.Equal(f.aborted, list) {
					t.Errorf("%+v, kmsg has %+v", f, p)
				}
				i++
			}
		}
		if i != len(out) {
			t.Errorf("%d partitions, kmsg has %d", len(out), i)
		}
	}
}

func fuzzMetadata(t *testing.T, data []byte, v int16) func() {
	v = bounded(v, minMetadata, maxMetadata)
	d := over(data)
	l := decodeMetadata(d, v)
	return func() {
		res := kmsg.NewPtrMetadataResponse()
		res.SetVersion(v)
		if d.err != nil || res.ReadFrom(data) != nil {
			return
		}
		want := layout{topics: map[string]topicLayout{}}
		if res.ClusterID != nil {
			want.cluster = *res.ClusterID
		}
		for _, topic := range res.Topics {
			name := ""
			if topic.Topic != nil {
				name = *topic.Topic
			}
			tl := topicLayout{code: topic.ErrorCode, internal: topic.IsInternal, rights: max(topic.AuthorizedOperations, 0), id: topic.TopicID, partitions: map[int32]partitionLayout{}}
			for _, p := range topic.Partitions {
				tl.partitions[p.Partition] = partitionLayout{leader: p.Leader, epoch: p.LeaderEpoch}
			}
			want.topics[name] = tl
		}
		if !reflect.DeepEqual(l, want) {
			t.Errorf("%+v, kmsg has %+v", l, want)
		}
	}
}

func fuzzEpochEnd(t *testing.T, data []byte, v int16) func() {
	v = bounded(v, minEpochEnd, maxEpochEnd)
	d := over(data)
	e := decodeEpochEnd(d)
	return func() {
		res := kmsg.NewPtrOffsetForLeaderEpochResponse()
		res.SetVersion(v)
		if d.err != nil || res.ReadFrom(data) != nil {
			return
		}
		want := epochEnd{code: codeUnknownServer, epoch: -1, end: NoEpochEnd}
		for _, topic := range res.Topics {
			for _, p := range topic.Partitions {
				want = epochEnd{p.ErrorCode, p.LeaderEpoch, p.EndOffset}
			}
		}
		if e != want {
			t.Errorf("%+v, kmsg has %+v", e, want)
		}
	}
}

func fuzzListed(t *testing.T, data []byte, _ int16) func() {
	d := over(data)
	l := decodeListed(d)
	return func() {
		res := kmsg.NewPtrListOffsetsResponse()
		res.SetVersion(listVersion)
		if d.err != nil || res.ReadFrom(data) != nil {
			return
		}
		want := listed{code: codeUnknownServer, offset: -1}
		for _, topic := range res.Topics {
			for _, p := range topic.Partitions {
				want = listed{p.ErrorCode, p.Timestamp, p.Offset}
			}
		}
		if l != want {
			t.Errorf("%+v, kmsg has %+v", l, want)
		}
	}
}

func fuzzProduced(t *testing.T, data []byte, _ int16) func() {
	d := over(data)
	code := decodeProduced(d)
	return func() {
		res := kmsg.NewPtrProduceResponse()
		res.SetVersion(produceVersion)
		if d.err != nil || res.ReadFrom(data) != nil {
			return
		}
		want := codeUnknownServer
		for _, topic := range res.Topics {
			for _, p := range topic.Partitions {
				want = p.ErrorCode
			}
		}
		if code != want {
			t.Errorf("code %d, kmsg has %d", code, want)
		}
	}
}

// fuzzMember reads what a member of the group tells. Whatever that is, each
// partition goes to one member that wants it, and to the same one again.
func fuzzMember(t *testing.T, data []byte, _ int16) func() {
	name, c := decodeMember(data)
	again, d := decodeMember(encodeMember(name, c))
	if again != name || d.generation != c.generation || !slices.Equal(d.keys, c.keys) {
		t.Errorf("%q %v became %q %v", name, c, again, d)
	}
	return func() {
		both := []string{"t", "u"}
		members := []kafka.GroupMember{
			{ID: "a", Topics: both, UserData: data},
			{ID: "b", Topics: both, UserData: encodeMember("b", claims{3, []key{{"t", 0}}})},
			{ID: "c", Topics: both, UserData: data},
			{ID: "d", Topics: both[1:], UserData: data},
		}
		parts := []kafka.Partition{{Topic: "t", ID: 0}, {Topic: "t", ID: 1}, {Topic: "t", ID: 2}, {Topic: "u", ID: 1}, {Topic: "u", ID: 2}}
		out := new(balancer).AssignGroups(members, parts)
		seen := map[key]int{}
		for _, topics := range out {
			for topic, ids := range topics {
				for _, id := range ids {
					seen[key{topic, int32(id)}]++
				}
			}
		}
		for _, p := range parts {
			if n := seen[key{p.Topic, int32(p.ID)}]; n != 1 || len(seen) != len(parts) {
				t.Fatalf("%s %d is assigned %d times: %v", p.Topic, p.ID, n, out)
			}
		}
		if len(out["d"]["t"]) > 0 {
			t.Errorf("a topic that was not wanted: %v", out)
		}
		if other := new(balancer).AssignGroups(members, parts); !reflect.DeepEqual(other, out) {
			t.Errorf("assigned as %v, and as %v", out, other)
		}
	}
}
