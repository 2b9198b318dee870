package logs

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// Committed, aborted, interleaved and open transactions on one partition: rows
// are what was committed, markers are none, and the open one holds the end of
// what is read without being a lag (B03).
func TestTransactions(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	topic := topicOf(t)
	b.CreateTopic(t, topic, 1, nil)
	x, y := b.Transactor(t, topic, topic+"-x"), b.Transactor(t, topic, topic+"-y")
	transact(t, b, topic, x, y)

	s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic)
	s.Once(t)
	want := slices.Concat(rows(0, 0, "first", 0, 10), rows(0, 11, "plain", 0, 3), rows(0, 20, "third", 0, 2), rows(0, 26, "fifth", 0, 2))
	if len(want) != 17 {
		t.Fatalf("the test wants %d rows", len(want))
	}
	same(t, "read_committed", s.Rows(t), want)
	h := s.Head(t, 0)
	if c := h.Totals.Counts; h.Next != 31 || c.Absent != 31-17 || c.Lost != 0 || c.Dead != 0 {
		t.Errorf("head: next %d, %+v; want next 31 and 14 absent", h.Next, c)
	}
	if n := unpublished(t, s); n != 0 {
		t.Errorf("lag %d behind the open transaction, want 0", n)
	}
	// A restart finds nothing to do; the end of the transaction lets it go on.
	s.Once(t)
	if again := s.Head(t, 0); again.Next != 31 || again.Totals.Ranges != h.Totals.Ranges {
		t.Errorf("a restart moved the head from %+v to %+v", h, again)
	}
	showsOpen(t, s)
	x.Abort() // marker at 34
	awaitEnd(t, b, topic, 35)
	s.Once(t)
	same(t, "after the abort", s.Rows(t), append(want, rows(0, 32, "behind", 0, 2)...))
	if n := s.Next(t, 0); n != 35 {
		t.Errorf("next %d, want it behind the last marker", n)
	}

	// Uncommitted reading gives all records and still no marker.
	loose := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic, "isolation: read_uncommitted")
	loose.Once(t)
	if got := loose.Rows(t); len(got) != 35-6 {
		t.Errorf("read_uncommitted: %d rows, want all 29 records", len(got))
	}
}

// transact fills a topic: 17 records are committed, and the one at 31 is in a
// transaction that is open at the end.
func transact(t *testing.T, b *realkafka.Broker, topic string, x, y *realkafka.Transactor) {
	t.Helper()
	x.Begin()
	x.Send("first", 10)
	x.Commit() // marker at 10
	awaitEnd(t, b, topic, 11)
	send(t, b, topic, 0, "plain", 0, 3)
	x.Begin()
	x.Send("aborted", 5)
	x.Abort() // marker at 19
	awaitEnd(t, b, topic, 20)
	x.Begin()
	x.Send("third", 2)
	y.Begin()
	y.Send("fourth", 3)
	x.Commit() // marker at 25
	awaitEnd(t, b, topic, 26)
	x.Begin()
	x.Send("fifth", 2)
	y.Send("fourth", 1)
	y.Abort() // marker at 29
	awaitEnd(t, b, topic, 30)
	x.Commit() // marker at 30
	awaitEnd(t, b, topic, 31)
	x.Begin()
	x.Send("open", 1) // at 31
	send(t, b, topic, 0, "behind", 0, 2)
}

// showsOpen fails the test unless a running sink shows for how long, and in
// front of how many records, a transaction is open.
func showsOpen(t testing.TB, s *lakeweirtest.Sink) {
	t.Helper()
	p := s.Start(t, "--http", "127.0.0.1:0")
	address := regexp.MustCompile(`address=(127\.0\.0\.1:\d+)`)
	var at string
	lakeweirtest.Await(t, limit, "it serves metrics", func() bool {
		if m := address.FindStringSubmatch(p.Log()); m != nil {
			at = m[1]
		}
		return at != ""
	})
	records := regexp.MustCompile(`(?m)^lakeweir_open_transaction_records\{.*\} 3$`)
	seconds := regexp.MustCompile(`(?m)^lakeweir_open_transaction_seconds\{.*\} (0\.\d*[1-9]|[1-9])`)
	var text []byte
	defer func() {
		if t.Failed() {
			t.Logf("%s", text)
		}
	}()
	lakeweirtest.Await(t, limit, "the open transaction is shown", func() bool {
		resp, err := http.Get("http://" + at + "/metrics")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		text, err = io.ReadAll(resp.Body)
		return err == nil && records.Match(text) && seconds.Match(text)
	})
	if r := p.Stop(); r.Code != 0 {
		t.Errorf("exit %d", r.Code)
	}
}

// unpublished returns the lag of partition 0 as the command reports it.
func unpublished(t testing.TB, s *lakeweirtest.Sink) int64 {
	t.Helper()
	var r struct {
		Partitions []struct{ Unpublished *int64 }
	}
	out := s.Must(t, "status", s.Topic, "--json")
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Partitions) == 0 || r.Partitions[0].Unpublished == nil {
		t.Fatalf("status: %v in %s", err, out)
	}
	return *r.Partitions[0].Unpublished
}

// An aborted transaction that spans fetches and published ranges, with a crash
// in the middle of it: the process that goes on does not know how the
// transaction began, and none of its records becomes a row (B03).
func TestAbortedAcrossRangesAndCrash(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	topic := topicOf(t)
	b.CreateTopic(t, topic, 1, nil)
	x := b.Transactor(t, topic, topic)
	const rounds, each = 8, 300
	pad := strings.Repeat("x", 4000) // 9.6 MB aborted: more than one answer holds
	var want []string
	x.Begin()
	for i := range rounds {
		x.Send(pad, each)
		send(t, b, topic, 0, "kept", i*each, each)
		want = append(want, rows(0, (2*i+1)*each, "kept", i*each, each)...)
	}
	x.Abort()
	end := int64(2*rounds*each + 1)
	awaitEnd(t, b, topic, end)

	proxy, place := lakeweirtest.NewProxy(t)
	s := lakeweirtest.New(t, b.Addr(), place, topic, "batch: {max_rows: 400}")
	proxy.Crash(t, s, 3, lakeweirtest.PutsData) // its publish is not sent: two ranges are
	h := s.Head(t, 0)
	if h.Next <= 2*each || h.Next >= end-each || h.Pending == nil {
		t.Fatalf("the crash left next %d, pending %v; want it in the middle of the transaction", h.Next, h.Pending)
	}
	s.Once(t)
	same(t, "rows", s.Rows(t), want)
	if got := s.Head(t, 0); got.Next != end || got.Totals.Rows != rounds*each || got.Totals.Absent != rounds*each+1 || got.Totals.Files < 6 {
		t.Errorf("head %+v; want next %d and half of it absent", got, end)
	}
}
