package logs

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// The broker's offset of the group is set lower, set higher, and deleted with
// the group. Each time the sink goes on at the head's next offset, and the group
// shows it again, also when there was nothing to publish (B10).
func TestGroupOffsetIsNotTheTruth(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	topic := topicOf(t)
	admin := kadm.NewClient(b.Client(t))
	b.CreateTopic(t, topic, 1, nil)
	s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic, "group: "+topic)
	at := 1000
	send(t, b, topic, 0, "v", 0, at)
	s.Once(t)
	f := func(what string, spoil func()) {
		t.Helper()
		for _, more := range []int{0, 10} {
			spoil()
			send(t, b, topic, 0, "v", at, more)
			at += more
			s.Once(t)
			if n, shown := s.Next(t, 0), told(t, admin, topic, topic); n != int64(at) || shown != n {
				t.Errorf("%s, %d new records: next %d, the group shows %d, want %d", what, more, n, shown, at)
			}
		}
	}
	set := func(offset int64) func() {
		return func() {
			o := kadm.Offsets{}
			o.AddOffset(topic, 0, offset, -1)
			if err := admin.CommitAllOffsets(within(t), topic, o); err != nil {
				t.Fatalf("set the group's offset to %d: %v", offset, err)
			}
		}
	}
	f("nothing done", func() {})
	f("set to 400", set(400))
	f("set to 1500", set(1500))
	f("group deleted", func() {
		if _, err := admin.DeleteGroup(within(t), topic); err != nil {
			t.Fatalf("delete the group: %v", err)
		}
	})
	same(t, "rows", s.Rows(t), rows(0, 0, "v", 0, at))
}

// failing refuses 30% of the PUTs of heads and data: a hash of the seed and of
// how many there were decides.
type failing struct {
	seed     int
	n, fails atomic.Int64
}

func (f *failing) before(c lakeweirtest.Call) int {
	if c.Method != http.MethodPut || !strings.HasPrefix(c.Key, "data/") && !strings.HasPrefix(c.Key, "manifest/") {
		return 0 // the probe of the store is not what is tested
	}
	h := fnv.New32a()
	fmt.Fprint(h, f.seed, f.n.Add(1))
	if h.Sum32()%10 >= 3 {
		return 0
	}
	f.fails.Add(1)
	return http.StatusServiceUnavailable
}

// While a store refuses three of ten PUTs, the offset that the group shows is at
// no sample above the head's next offset, and never goes back (B10).
func TestGroupOffsetNeverAhead(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	topic := topicOf(t)
	admin := kadm.NewClient(b.Client(t))
	b.CreateTopic(t, topic, 1, nil)
	proxy, place := lakeweirtest.NewProxy(t)
	faults := &failing{seed: 1}
	proxy.Refuse(faults.before)
	s := lakeweirtest.New(t, b.Addr(), place, topic, "group: "+topic, "batch: {max_rows: 500, max_age: 200ms}")
	const sent, each = 10_000, 250
	p := s.Start(t)
	var samples int
	last := int64(-1)
	sample := func() bool {
		shown := told(t, admin, topic, topic) // first: the head may move on behind it
		next := s.Next(t, 0)
		if shown > next || shown < last {
			t.Errorf("the group shows %d, the head %d; it showed %d before", shown, next, last)
		}
		samples, last = samples+1, shown
		return shown == sent
	}
	for i := 0; i < sent; i += each {
		send(t, b, topic, 0, "v", i, each)
		sample()
	}
	lakeweirtest.Await(t, time.Minute, "all is published and told", sample)
	if r := p.Stop(); r.Code != 0 {
		t.Errorf("exit %d", r.Code)
	}
	t.Logf("%d samples, %d of %d PUTs refused, seed %d", samples, faults.fails.Load(), faults.n.Load(), faults.seed)
	if samples < sent/each || faults.fails.Load() < 10 {
		t.Errorf("%d samples, %d faults: too few to tell", samples, faults.fails.Load())
	}
	proxy.Refuse(nil)
	same(t, "rows", s.Rows(t), rows(0, 0, "v", 0, sent))
}

// The end of the log leaves no row: five aborted records and their marker. Head
// and group pass it within a moment of max_age, the lag is 0, and a restart has
// nothing to read (B11).
func TestNoFalseLag(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	topic := topicOf(t)
	admin := kadm.NewClient(b.Client(t))
	b.CreateTopic(t, topic, 1, nil)
	s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic, "group: "+topic, "batch: {max_age: 1s}")
	p := s.Start(t)
	send(t, b, topic, 0, strings.Repeat("v", 2000), 0, 1000, kgo.ProducerBatchCompression(kgo.NoCompression()))
	lakeweirtest.Await(t, limit, "1000 rows are published", func() bool { return s.Next(t, 0) == 1000 })
	x := b.Transactor(t, topic, topic)
	x.Begin()
	x.Send("aborted", 5)
	x.Abort() // marker at 1005
	awaitEnd(t, b, topic, 1006)
	begin := time.Now()
	lakeweirtest.Await(t, 5*time.Second, "head and group are at 1006", func() bool {
		return s.Next(t, 0) == 1006 && told(t, admin, topic, topic) == 1006
	})
	t.Logf("%v after the marker", time.Since(begin))
	if n := unpublished(t, s); n != 0 {
		t.Errorf("lag %d, want 0", n)
	}
	h := s.Head(t, 0)
	contiguous(t, h)
	if h.Totals.Rows != 1000 || h.Totals.Absent != 6 {
		t.Errorf("totals %+v", h.Totals)
	}
	if r := p.Stop(); r.Code != 0 {
		t.Errorf("exit %d", r.Code)
	}
	// What a restart reads is counted: 2 MB of rows lie below 1006.
	p = s.Start(t)
	send(t, b, topic, 0, "v", 1000, 1)
	lakeweirtest.Await(t, limit, "one more row is published", func() bool { return s.Next(t, 0) == 1007 })
	if n := p.BytesRead(); n > 500_000 {
		t.Errorf("the restart read %d bytes for one record", n)
	}
}

// A topic of nothing but aborted transactions: the head follows, at most once in
// max_age, and neighbours without files are one range (B11).
func TestRangesWithoutRows(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	topic := topicOf(t)
	b.CreateTopic(t, topic, 1, nil)
	send(t, b, topic, 0, "v", 0, 1)
	s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic, "batch: {max_age: 1s}")
	s.Once(t)
	p := s.Start(t)
	first := s.Head(t, 0).Version
	x := b.Transactor(t, topic, topic)
	begin := time.Now()
	aborts := 0
	for ; time.Since(begin) < 5*time.Second || aborts < 20; aborts++ {
		x.Begin()
		x.Send("aborted", 1)
		x.Abort()
	}
	end := int64(1 + 2*aborts)
	lakeweirtest.Await(t, limit, "the head is at the end", func() bool { return s.Next(t, 0) == end })
	took := time.Since(begin)
	if r := p.Stop(); r.Code != 0 {
		t.Errorf("exit %d", r.Code)
	}
	h := s.Head(t, 0)
	contiguous(t, h)
	// The claim, one for each second, and the one that its end cuts short.
	if writes, most := h.Version-first, uint64(took/time.Second)+3; writes > most {
		t.Errorf("%d head writes for %d aborts in %v, want at most %d", writes, aborts, took, most)
	}
	if len(h.Ranges) != 2 || h.Totals.Files != 1 || h.Totals.Absent != end-1 {
		t.Errorf("ranges %+v, totals %+v; want one with a row and one without", h.Ranges, h.Totals)
	}
	t.Logf("%d aborts, %d head writes in %v", aborts, h.Version-first, took)
}

// A user that may read the topic and not commit to the group: a warning, and all
// is published (B10).
func TestCommitRefused(t *testing.T) {
	t.Parallel()
	b := secured(t)
	topic := topicOf(t)
	b.CreateTopic(t, topic, 1, nil)
	send(t, b, topic, 0, "v", 0, 100)
	// With a rule for another user the group is closed to all others.
	acl := kadm.NewACLs().Groups(topic).ResourcePatternType(kadm.ACLPatternLiteral).Operations(kadm.OpRead).Allow("User:nobody").AllowHosts("*")
	if _, err := kadm.NewClient(b.Client(t)).CreateACLs(within(t), acl); err != nil {
		t.Fatalf("close the group: %v", err)
	}
	lines := slices.Concat(login("alice", passwords["alice"]), []string{"group: " + topic, fmt.Sprintf("partitions: {%s: [0]}", topic)})
	s := lakeweirtest.New(t, b.SASLAddr(), lakeweirtest.Dir(t), topic, lines...)
	r := s.Once(t)
	if !strings.Contains(r.Log, "WARN") || !strings.Contains(r.Log, "the broker was not told the next offset") {
		t.Errorf("no warning in\n%s", r.Log)
	}
	same(t, "rows", s.Rows(t), rows(0, 0, "v", 0, 100))
	if shown := told(t, kadm.NewClient(b.Client(t)), topic, topic); shown != -1 {
		t.Errorf("the group shows %d: the commit was not refused", shown)
	}
}
