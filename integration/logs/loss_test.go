package logs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// What every test of lost offsets begins with: [0,100) is published, the log
// goes on to 200, and retention removes what is below 157.
const (
	published = 100
	logStart  = 157
	logEnd    = 200
)

// half publishes [0,100) and sends up to 200.
func half(t testing.TB, b *realkafka.Broker, at lakeweirtest.Place) *lakeweirtest.Sink {
	t.Helper()
	topic := topicOf(t)
	b.CreateTopic(t, topic, 1, nil)
	send(t, b, topic, 0, "v", 0, published)
	s := lakeweirtest.New(t, b.Addr(), at, topic, "batch: {max_age: 1s}")
	s.Once(t)
	send(t, b, topic, 0, "v", published, logEnd-published)
	return s
}

// skipped are the rows of a table that went on behind the loss.
func skipped() []string {
	return append(rows(0, 0, "v", 0, published), rows(0, logStart, "v", logStart, logEnd-logStart)...)
}

// Retention passed the next offset while the sink was down. It stops, names what
// is gone and publishes nothing; told to skip, it counts the loss and goes on (B05).
func TestLogStartMovedWhileDown(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	s := half(t, b, lakeweirtest.Dir(t))
	cutBefore(t, b, s.Topic, logStart)
	before := s.Head(t, 0)
	stops(t, s.Run(t, "--once"), 1, s.Topic+"/0", "[100,157)", "on_data_loss: skip")
	stops(t, s.Run(t), 1, s.Topic+"/0", "[100,157)") // one that is to run for ever too
	if h := s.Head(t, 0); h.Version != before.Version {
		t.Errorf("the head was changed: version %d, before %d", h.Version, before.Version)
	}
	r := s.Once(t, "--on-data-loss", "skip")
	if !strings.Contains(r.Log, "[100,157)") {
		t.Errorf("the log does not tell of [100,157):\n%s", r.Log)
	}
	countsLoss(t, s)
	same(t, "rows", s.Rows(t), skipped())
	s.Once(t) // what was accepted is no loss again
	countsLoss(t, s)
}

// countsLoss checks that the head accounts for [100,157) as lost, in a range
// without files.
func countsLoss(t testing.TB, s *lakeweirtest.Sink) {
	t.Helper()
	h := s.Head(t, 0)
	contiguous(t, h)
	i := slices.IndexFunc(h.Ranges, func(r lakeweirtest.Range) bool { return r.Start == published })
	if h.Next != logEnd || h.Totals.Lost != logStart-published || i < 0 {
		t.Fatalf("next %d, lost %d, ranges %+v", h.Next, h.Totals.Lost, h.Ranges)
	}
	if r := h.Ranges[i]; r.Next != logStart || r.Counts.Lost != logStart-published || len(r.Data)+len(r.Dead) > 0 {
		t.Errorf("the lost range is %+v", r)
	}
}

// The log start moves while the sink runs and is behind: an open transaction
// holds it at 100, so nothing of what is removed was read (B05).
func TestLogStartMovedWhileBehind(t *testing.T) {
	t.Parallel()
	f := func(policy string, check func(t *testing.T, s *lakeweirtest.Sink, p *lakeweirtest.Process)) {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			b := realkafka.Shared(t)
			topic := topicOf(t)
			b.CreateTopic(t, topic, 1, nil)
			send(t, b, topic, 0, "v", 0, published)
			x := b.Transactor(t, topic, topic)
			x.Begin()
			x.Send("open", 1)
			send(t, b, topic, 0, "v", published+1, logEnd-published-1)
			s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic, "batch: {max_age: 1s}", "on_data_loss: "+policy)
			p := s.Start(t)
			lakeweirtest.Await(t, limit, "[0,100) is published", func() bool { return s.Next(t, 0) == published })
			cutBefore(t, b, topic, logStart)
			x.Abort() // marker at 200
			check(t, s, p)
		})
	}
	f("fail", func(t *testing.T, s *lakeweirtest.Sink, p *lakeweirtest.Process) {
		stops(t, p.Wait(), 1, s.Topic+"/0", "[100,157)")
		if h := s.Head(t, 0); h.Next != published || h.Pending != nil {
			t.Errorf("next %d, pending %v, want 100 and none", h.Next, h.Pending)
		}
	})
	f("skip", func(t *testing.T, s *lakeweirtest.Sink, p *lakeweirtest.Process) {
		lakeweirtest.Await(t, limit, "the sink goes on to 201", func() bool { return s.Next(t, 0) == logEnd+1 })
		if r := p.Stop(); r.Code != 0 {
			t.Errorf("exit %d", r.Code)
		}
		h := s.Head(t, 0)
		contiguous(t, h)
		if h.Totals.Lost != logStart-published || h.Totals.Absent != 1 {
			t.Errorf("totals %+v", h.Totals)
		}
		same(t, "rows", s.Rows(t), skipped())
	})
}

// A crash left a plan for [100,200), and the log lost its beginning. Objects that
// are all there are published as they are: nothing is lost. Else the same range
// is published with its loss counted, or the sink stops (B05).
func TestLogStartMovedIntoAPlan(t *testing.T) {
	t.Parallel()
	crashed := func(t *testing.T, at func(lakeweirtest.Call) bool) *lakeweirtest.Sink {
		proxy, place := lakeweirtest.NewProxy(t)
		b := realkafka.Shared(t)
		s := half(t, b, place)
		proxy.Crash(t, s, 1, at, "--once")
		if h := s.Head(t, 0); h.Pending == nil || h.Pending.Start != published || h.Pending.Next != logEnd || h.Next != published {
			t.Fatalf("the crash left %+v", h)
		}
		cutBefore(t, b, s.Topic, logStart)
		return s
	}
	ended := func(t *testing.T, s *lakeweirtest.Sink, lost int64) {
		h := s.Head(t, 0)
		contiguous(t, h)
		last := h.Ranges[len(h.Ranges)-1]
		if h.Next != logEnd || h.Pending != nil || last.Start != published || last.Next != logEnd || last.Counts.Lost != lost {
			t.Errorf("head %+v", h)
		}
		s.Must(t, "verify", s.Topic, "--deep")
	}
	t.Run("objects written", func(t *testing.T) {
		t.Parallel()
		s := crashed(t, lakeweirtest.PutsData)
		s.Once(t) // on_data_loss: fail
		ended(t, s, 0)
		same(t, "rows", s.Rows(t), rows(0, 0, "v", 0, logEnd))
	})
	t.Run("objects not written", func(t *testing.T) {
		t.Parallel()
		s := crashed(t, lakeweirtest.Plans)
		stops(t, s.Run(t, "--once"), 1, s.Topic+"/0", "[100,157)")
		if h := s.Head(t, 0); h.Next != published || h.Pending == nil {
			t.Errorf("a run that stopped left %+v", h)
		}
		s.Once(t, "--on-data-loss", "skip")
		ended(t, s, logStart-published)
		same(t, "rows", s.Rows(t), skipped())
	})
}

// A first start on a log that does not begin at 0 begins where the log does,
// and nothing is lost (B05).
func TestFirstStartOnACutLog(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	topic := topicOf(t)
	b.CreateTopic(t, topic, 1, nil)
	send(t, b, topic, 0, "v", 0, logEnd)
	cutBefore(t, b, topic, logStart)
	s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic)
	s.Once(t)
	if h := s.Head(t, 0); h.First != logStart || h.Next != logEnd || h.Totals.Lost != 0 {
		t.Errorf("head [%d,%d), lost %d", h.First, h.Next, h.Totals.Lost)
	}
	same(t, "rows", s.Rows(t), rows(0, logStart, "v", logStart, logEnd-logStart))
}

// A log that begins at the next offset and whose first record lies behind a hole
// that compaction left is no loss: the sink goes on, without a word (B05).
func TestHoleAtTheNextOffset(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	topic := topicOf(t)
	compactedTopic(t, b, topic, "compact,delete")
	keyed(t, b, topic, "v", 0, 0, published)
	s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic)
	s.Once(t)
	keyed(t, b, topic, "old", 1, 1000, logStart-published) // 100 to 156, superseded below
	keyed(t, b, topic, "new", 2, 1000, logStart-published) // from 157 on
	keyed(t, b, topic, "end", 3, 5000, 1)
	cutBefore(t, b, topic, published)
	lakeweirtest.Await(t, limit, "the first record is 157", func() bool {
		got := reference(t, b, topic)
		return len(got) == logStart-published+1 && strings.HasPrefix(got[0], fmt.Sprintf("0/%d ", logStart))
	})
	r := s.Once(t)
	if strings.Contains(r.Log, "WARN") || strings.Contains(r.Log, "ERROR") {
		t.Errorf("an alarm:\n%s", r.Log)
	}
	h := s.Head(t, 0)
	contiguous(t, h)
	if c := h.Totals.Counts; c.Lost != 0 || c.Absent != logStart-published || h.Next != 2*logStart-published+1 {
		t.Errorf("next %d, %+v", h.Next, c)
	}
	want := append(rows(0, 0, "v", 0, published), rows(0, logStart, "new", 1000, logStart-published)...)
	same(t, "rows", s.Rows(t), append(want, rows(0, 2*logStart-published, "end", 5000, 1)...))
}
