package soak

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// lookout compares what the broker was told with what is published.
type lookout struct {
	admin   *kadm.Client
	tables  []table // their groups have their names
	told    map[place]int64
	heads   map[place]int64
	samples int // of a partition
	missed  int // while the broker did not answer
}

// every is the time between two looks.
const every = 100 * time.Millisecond

func newLookout(t *testing.T, broker *realkafka.Broker, tables ...table) *lookout {
	t.Helper()
	client := broker.Client(t, kgo.RetryTimeout(time.Second))
	return &lookout{admin: kadm.NewClient(client), tables: tables, told: map[place]int64{}, heads: map[place]int64{}}
}

func (l *lookout) run(t *testing.T, stop <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			for _, tb := range l.tables {
				l.sample(t, tb)
			}
		}
	}
}

// sample asks the broker first and reads the heads after: a head only grows,
// so what the broker was told must not be above what is read then.
func (l *lookout) sample(t *testing.T, tb table) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	told, err := committed(ctx, l.admin, tb.topic)
	if err != nil {
		l.missed++
		return
	}
	for at, offset := range told {
		next := tb.head(t, at.partition).Next
		l.samples++
		if offset > next {
			t.Errorf("%v: the broker was told %d, the head says %d", at, offset, next)
		}
		if offset < l.told[at] {
			t.Errorf("%v: the broker was told %d after %d", at, offset, l.told[at])
		}
		if next < l.heads[at] {
			t.Errorf("%v: the head says %d after %d", at, next, l.heads[at])
		}
		l.told[at], l.heads[at] = offset, next
	}
}

// published sums what the heads count.
func (s *soak) published() (sum int64) {
	return s.moving.next(s.t, ofEachTopic) + s.fixed.next(s.t, ofEachTopic)
}

// progress tells every 10 s how far it is.
func (s *soak) progress(stop <-chan struct{}) {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	begin := time.Now()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			puts, faults := s.wire.count()
			s.mu.Lock()
			fmt.Printf("%4.0f s: %d sent, %d published, %d kills, %d pauses, %d leaves, %d restarts of the broker, %d PUTs, faults: %s\n",
				time.Since(begin).Seconds(), s.sent, s.published(), s.kills, s.pauses, s.leaves, s.restarts, puts, told(faults))
			s.mu.Unlock()
		}
	}
}

// settleLimit is how long the rest may take to be published once nobody is
// disturbed any more; the store still fails.
const settleLimit = 90 * time.Second

func (s *soak) settle() {
	await(s.t, settleLimit, "not all is published", func() bool { return s.published() == int64(s.records) })
	for _, tb := range []table{s.moving, s.fixed} { // and the broker is told
		await(s.t, settleLimit, "the broker is not told", func() bool {
			told, err := committed(s.t.Context(), s.look.admin, tb.topic)
			if err != nil {
				return false
			}
			for p := range int32(ofEachTopic) {
				if told[place{tb.topic, p}] != tb.head(s.t, p).Next {
					return false
				}
			}
			return true
		})
	}
}

// end stops all processes in good order.
func (s *soak) end() {
	for _, sl := range s.slots {
		sl.now().signal(syscall.SIGTERM)
	}
	for _, sl := range s.slots {
		s.stop(sl)
	}
}

// check reads the tables and tells what happened.
func (s *soak) check(begin time.Time, struck time.Duration) {
	t := s.t
	var live, listed []string
	var sum head
	var epochs int64
	for _, tb := range []table{s.moving, s.fixed} {
		config := setup{
			brokers: s.broker.Addr(), store: strings.TrimPrefix(gate.Endpoint, "http://"), bucket: tb.bucket, topics: []string{tb.topic},
		}.write(t)
		live, listed = append(live, tb.live(t, config)...), append(listed, tb.listed(t)...)
		command(t, "verify", "--config", config, tb.topic, "--deep", "--id", "id")
		for p := range int32(ofEachTopic) {
			h := tb.head(t, p)
			sum.Totals.Ranges += h.Totals.Ranges
			sum.Totals.Rows += h.Totals.Rows
			sum.Totals.Dead += h.Totals.Dead
			epochs += h.Epoch
		}
	}
	by := exact(t, "by manifest", s.records, live)
	all := exact(t, "by listing", s.records, listed)
	if sum.Totals.Dead != 0 || sum.Totals.Rows != int64(s.records) {
		t.Errorf("the heads count %+v", sum.Totals)
	}
	if s.look.samples == 0 {
		t.Error("no offset of the group was seen")
	}
	puts, faults := s.wire.count()
	t.Logf("seed %d: %d records sent in %v, all read after %v: lost %d, doubled %d by manifest (%d files); lost %d, doubled %d by listing (%d files); dead %d",
		s.seed, s.records, struck.Round(time.Second), time.Since(begin).Round(time.Second), by.Lost, by.Doubled, by.Files, all.Lost, all.Doubled, all.Files, sum.Totals.Dead)
	t.Logf("%d kills, %d pauses, %d leaves, %d restarts of the broker (%d starts came in the middle of one); %d ranges, %d claims; %d PUTs, faults: %s; %d samples of offsets, %d missed",
		s.kills, s.pauses, s.leaves, s.restarts, s.tooEarly, sum.Totals.Ranges, epochs, puts, told(faults), s.look.samples, s.look.missed)
	for _, sl := range s.slots {
		t.Logf("%s: %d MiB at most", sl.name, sl.peak)
	}
}
