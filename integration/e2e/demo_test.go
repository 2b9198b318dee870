package e2e

import (
	"encoding/json"
	"testing"

	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// The demo on a real Kafka and a real store: processes that are killed at every
// step, overlap and are stopped, and none of it is seen in the table.
func TestDemo(t *testing.T) {
	broker := realkafka.Shared(t)
	bucket, err := gate.Bucket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := must(t, "demo", "--brokers", broker.Addr(), "--store", "s3://"+bucket+"/demo",
		"--s3-endpoint", gate.Endpoint, "--s3-region", "us-east-1", "--records", "40000", "--kills", "10", "--seed", "1", "--json")
	var r struct{ Sent, Rows, Dead, Duplicates, Lost, Doubled, Kills int64 }
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	t.Log(out)
	if r.Sent != 40_000 || r.Rows+r.Dead != r.Sent || r.Lost != 0 || r.Doubled != 0 || r.Kills != 10 || r.Dead == 0 {
		t.Fatalf("%+v", r)
	}
}
