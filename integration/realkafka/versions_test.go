package realkafka_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

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
