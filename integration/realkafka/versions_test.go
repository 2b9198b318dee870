package realkafka_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// The versions of requests that the source and its client library send are
// among those that this Kafka takes. Kafka 4 has dropped old ones.
func TestVersions(t *testing.T) {
	versions, err := kadm.NewClient(realkafka.Shared(t).Client(t)).ApiVersions(within(t))
	if err != nil {
		t.Fatal(err)
	}
	broker := versions.Sorted()[0]
	f := func(name string, key, used int16) {
		t.Helper()
		low, high, ok := broker.KeyVersions(key)
		t.Logf("%s: the broker takes v%d to v%d, v%d is used", name, low, high, used)
		if !ok || used < low || used > high {
			t.Errorf("%s: v%d is used, the broker takes v%d to v%d", name, used, low, high)
		}
	}
	f("Fetch", 1, 11)
	f("ListOffsets", 2, 2)
	f("Metadata", 3, 12)
	f("OffsetCommit", 8, 2)
	f("OffsetFetch", 9, 1)
	f("JoinGroup", 11, 2)
	f("OffsetForLeaderEpoch", 23, 3)
}

// A fetch outside the log answers code 1 and tells nothing of where the log
// begins or ends, so a reader has to ask for the bounds.
func TestOutOfRangeReply(t *testing.T) {
	b := realkafka.Shared(t)
	topic := "range-reply"
	b.CreateTopic(t, topic, 1, nil)
	b.Produce(t, numbered(topic, "v", 10))
	cut := kadm.Offsets{}
	cut.AddOffset(topic, 0, 4, -1)
	if _, err := kadm.NewClient(b.Client(t)).DeleteRecords(within(t), cut); err != nil {
		t.Fatalf("delete records: %v", err)
	}
	old := b.Client(t, kgo.MaxVersions(kversion.V2_3_0())) // Fetch v11, as the source sends it
	f := func(offset int64) {
		t.Helper()
		part := kmsg.NewFetchRequestTopicPartition()
		part.FetchOffset, part.PartitionMaxBytes = offset, 1<<20
		req := kmsg.NewPtrFetchRequest()
		req.MaxWaitMillis, req.MaxBytes = 100, 1<<20
		req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{part}}}
		resp, err := req.RequestWith(within(t), old)
		if err != nil {
			t.Fatalf("fetch at %d: %v", offset, err)
		}
		got := resp.Topics[0].Partitions[0]
		if got.ErrorCode != 1 || got.LogStartOffset != -1 || got.HighWatermark != -1 {
			t.Errorf("fetch at %d: got code %d, log start %d, high watermark %d, want 1, -1, -1",
				offset, got.ErrorCode, got.LogStartOffset, got.HighWatermark)
		}
	}
	f(0)  // below the start
	f(11) // above the end
}
