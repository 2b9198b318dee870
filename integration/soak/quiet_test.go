package soak

import (
	"syscall"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// Three rows and then silence are seen within max_age and a second. Rows that
// come late, one and then many, make one file and at most one more: the age of a
// batch counts from its own first row (B13).
func TestQuiet(t *testing.T) {
	t.Parallel()
	const age = 2 * time.Second
	broker, w, tb := realkafka.Shared(t), newWire(t, nil), newTable(t, "quiet")
	broker.CreateTopic(t, "quiet", 1, nil)
	p := launch(t, setup{
		brokers: broker.Addr(), store: w.addr(), bucket: tb.bucket, topics: []string{"quiet"}, group: "quiet",
		more: "batch: {max_age: 2s}",
	}.write(t))
	await(t, time.Minute, "there is no claim", func() bool { return tb.head(t, 0).Epoch > 0 })
	seen := func(next int64) time.Duration {
		t.Helper()
		return await(t, time.Minute, "the rows are not seen", func() bool { return tb.head(t, 0).Next == next })
	}
	broker.Produce(t, records("quiet", 1, 0, 3))
	few := seen(3)
	if few > age+time.Second {
		t.Errorf("three rows were seen after %v, want %v at most", few, age+time.Second)
	}
	time.Sleep(3 * age) // silence is what is tested
	files := tb.head(t, 0).Totals.Files
	broker.Produce(t, records("quiet", 1, 3, 4))
	time.Sleep(time.Second)
	broker.Produce(t, records("quiet", 1, 4, 504))
	many := seen(504)
	made := tb.head(t, 0).Totals.Files - files
	t.Logf("3 rows seen after %.2f s; 1 row, and 500 a second later, after %.2f s more, in %d files", few.Seconds(), many.Seconds(), made)
	if many > age+time.Second {
		t.Errorf("the late rows were seen after %v, want %v at most", many, age+time.Second)
	}
	if made > 2 {
		t.Errorf("the late rows made %d files", made)
	}
	p.signal(syscall.SIGTERM)
	if code, _ := p.exits(t, time.Minute); code != 0 {
		t.Errorf("exit code %d", code)
	}
	exact(t, "by listing", 504, tb.listed(t))
}
