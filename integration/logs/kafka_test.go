// Package logs puts the real command before logs that are hard to read, on a
// real Apache Kafka: transactions, holes, loss, other logs under the same name,
// offsets that lie, logins that expire.
package logs

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// atOnce is how many tests run at a time: they wait for brokers and timers, not
// for processors.
const atOnce = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(lakeweirtest.Main(m))
}

// limit is how long something may take that needs a moment on an idle machine.
const limit = 30 * time.Second

// within returns a context for the requests of a test.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// topicOf returns a topic named after the test.
func topicOf(t testing.TB) string {
	return strings.ToLower(strings.NewReplacer("/", "-", "Test", "", " ", "_").Replace(t.Name()))
}

// send writes n records with the values text<i>, i from the number given, to a partition.
func send(t testing.TB, b *realkafka.Broker, topic string, partition int32, text string, from, n int, opts ...kgo.Opt) {
	t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Appendf(nil, "%s%d", text, from+i)}
	}
	b.Produce(t, records, opts...)
}

// rows returns the rows that send leaves when its records begin at an offset.
func rows(partition int, offset int, text string, from, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%d/%d %s%d", partition, offset+i, text, from+i)
	}
	return all
}

// endOf returns the end of partition 0 as the broker tells it: behind the last
// record, or at the first of an open transaction.
func endOf(t testing.TB, b *realkafka.Broker, topic string) (end, stable int64) {
	t.Helper()
	admin := kadm.NewClient(b.Client(t))
	ends, err := admin.ListEndOffsets(within(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	committed, err := admin.ListCommittedOffsets(within(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	e, _ := ends.Lookup(topic, 0)
	c, _ := committed.Lookup(topic, 0)
	return e.Offset, c.Offset
}

// awaitEnd waits until partition 0 ends at an offset: Kafka 4 answers the end
// of a transaction before it has written the marker.
func awaitEnd(t testing.TB, b *realkafka.Broker, topic string, want int64) {
	t.Helper()
	lakeweirtest.Await(t, limit, fmt.Sprintf("%s ends at %d", topic, want), func() bool {
		end, _ := endOf(t, b, topic)
		return end == want
	})
}

// cutBefore removes the records of partition 0 below an offset, as retention does.
func cutBefore(t testing.TB, b *realkafka.Broker, topic string, offset int64) {
	t.Helper()
	cut := kadm.Offsets{}
	cut.AddOffset(topic, 0, offset, -1)
	if _, err := kadm.NewClient(b.Client(t)).DeleteRecords(within(t), cut); err != nil {
		t.Fatalf("delete records of %s below %d: %v", topic, offset, err)
	}
}

// told returns the offset of partition 0 that a group shows, -1 if none. A
// coordinator that just comes up is asked again.
func told(t testing.TB, admin *kadm.Client, group, topic string) int64 {
	t.Helper()
	at := int64(-1)
	lakeweirtest.Await(t, limit, "the coordinator of group "+group+" answers", func() bool {
		offsets, err := admin.FetchOffsets(within(t), group)
		if kerr.IsRetriable(err) {
			return false
		}
		if err != nil {
			t.Fatalf("offsets of group %s: %v", group, err)
		}
		if o, ok := offsets.Lookup(topic, 0); ok {
			if o.Err != nil {
				return false
			}
			at = o.At
		}
		return true
	})
	return at
}

// same fails the test unless the rows are those that are wanted.
func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	t.Errorf("%s: %d rows, want %d; from row %d on:\n got %q\nwant %q", what, len(got), len(want), i,
		got[i:min(i+5, len(got))], want[i:min(i+5, len(want))])
}

// stops fails the test unless a run ended by itself with an exit code, and said
// every one of some words in the last line.
func stops(t testing.TB, r lakeweirtest.Result, code int, words ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(r.Log), "\n")
	last := lines[len(lines)-1]
	if r.Code != code {
		t.Errorf("exit %d, want %d:\n%s", r.Code, code, r.Log)
	}
	for _, w := range words {
		if !strings.Contains(last, w) {
			t.Errorf("the last line lacks %q:\n%s", w, last)
		}
	}
}
