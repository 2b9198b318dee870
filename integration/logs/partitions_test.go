package logs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// noticed is how long a new partition or topic may wait to be read.
const noticed = 10 * time.Second

// A topic grows from 2 to 6 partitions under load. The new ones are read from
// their beginning, though the start is latest, within 10 s; the others are not
// even claimed again, with a group or without (B49).
func TestNewPartitions(t *testing.T) {
	t.Parallel()
	f := func(name string, lines ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := realkafka.Shared(t)
			topic := topicOf(t)
			b.CreateTopic(t, topic, 2, nil)
			s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic, append(lines, "start: latest", "batch: {max_age: 500ms}")...)
			p := s.Start(t)
			lakeweirtest.Await(t, limit, "both partitions are claimed", func() bool { return s.Next(t, 0) == 0 && s.Next(t, 1) == 0 })
			sent := make([]int, 6)
			feed := func(partitions int) {
				for id := range partitions {
					send(t, b, topic, int32(id), "v", sent[id], 20)
					sent[id] += 20
				}
			}
			for range 5 {
				feed(2)
			}
			if _, err := kadm.NewClient(b.Client(t)).UpdatePartitions(within(t), 6, topic); err != nil {
				t.Fatalf("add partitions: %v", err)
			}
			begin := time.Now()
			lakeweirtest.Await(t, limit, "the new partitions are read", func() bool {
				feed(6)
				for id := 2; id < 6; id++ {
					if s.Next(t, id) <= 0 {
						return false
					}
				}
				return true
			})
			took := time.Since(begin)
			t.Logf("the first rows of the last new partition after %v", took)
			if took > noticed {
				t.Errorf("it took %v, want at most %v", took, noticed)
			}
			if r := p.Stop(); r.Code != 0 {
				t.Errorf("exit %d", r.Code)
			}
			s.Once(t)
			var want []string
			for id := range 6 {
				want = append(want, rows(id, 0, "v", 0, sent[id])...)
				if h := s.Head(t, id); h.First != 0 || h.Epoch != 2 { // the run, and the one behind it
					t.Errorf("partition %d begins at %d and was claimed %d times, want 0 and 2", id, h.First, h.Epoch)
				}
			}
			same(t, "rows", s.Rows(t), want)
		})
	}
	f("alone")
	f("group", "group: newpartitions")
}

// A topic that is not there ends the start with one line, and is not created.
// Told to wait, the sink waits, says so, and reads the topic from its beginning (B49).
func TestMissingTopic(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	topic := topicOf(t)
	s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic, "batch: {max_age: 500ms}")
	r := s.Run(t)
	stops(t, r, 1, topic, "wait_for_topics")
	if strings.Count(r.Log, "\n") != 1 {
		t.Errorf("want one line:\n%s", r.Log)
	}
	if topics, err := kadm.NewClient(b.Client(t)).ListTopics(within(t)); err != nil || topics.Has(topic) {
		t.Fatalf("the topic was created, or %v", err)
	}
	p := s.Start(t, "--wait-for-topics", "--start", "latest")
	lakeweirtest.Await(t, limit, "it says that it waits", func() bool { return strings.Contains(p.Log(), topic) })
	b.CreateTopic(t, topic, 1, nil)
	send(t, b, topic, 0, "v", 0, 10)
	lakeweirtest.Await(t, noticed, "the topic is read", func() bool { return s.Next(t, 0) == 10 })
	if r := p.Stop(); r.Code != 0 {
		t.Errorf("exit %d", r.Code)
	}
	same(t, "rows", s.Rows(t), rows(0, 0, "v", 0, 10))
}

// One topic of two is deleted while the sink runs: its partition stops and says
// why, the other goes on, and the end of the run tells (B49).
func TestDeletedTopic(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	gone, stays := topicOf(t)+"-gone", topicOf(t)+"-stays"
	place := lakeweirtest.Dir(t)
	topics := fmt.Sprintf("topics: [%s, %s]", gone, stays)
	s := lakeweirtest.New(t, b.Addr(), place, gone, topics, "batch: {max_age: 300ms}")
	other := lakeweirtest.New(t, b.Addr(), place, stays, topics)
	for _, topic := range []string{gone, stays} {
		b.CreateTopic(t, topic, 1, nil)
		send(t, b, topic, 0, "v", 0, 10)
	}
	p := s.Start(t)
	lakeweirtest.Await(t, limit, "both are published", func() bool { return s.Next(t, 0) == 10 && other.Next(t, 0) == 10 })
	b.DeleteTopic(t, gone)
	n := 10
	lakeweirtest.Await(t, 60*time.Second, "the partition of the deleted topic stops", func() bool {
		send(t, b, stays, 0, "v", n, 1)
		n++
		return strings.Contains(p.Log(), "a partition has stopped; the others go on")
	})
	if !strings.Contains(p.Log(), "topic="+gone) {
		t.Errorf("the log does not name %s", gone)
	}
	send(t, b, stays, 0, "v", n, 1)
	n++
	lakeweirtest.Await(t, noticed, "the other goes on", func() bool { return other.Next(t, 0) == int64(n) })
	if p.Ended() {
		t.Error("the sink has ended")
	}
	stops(t, p.Stop(), 1, gone)
	same(t, "rows", other.Rows(t), rows(0, 0, "v", 0, n))
	same(t, "rows of the deleted topic", s.Rows(t), rows(0, 0, "v", 0, 10))
}
