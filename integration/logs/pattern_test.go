package logs

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// A pattern that matches nothing waits and says so. A topic that matches and
// comes later is read from its first offset within 10 s, whatever start says,
// without a word to the others; one that only contains the pattern is not (B49).
func TestPattern(t *testing.T) {
	t.Parallel()
	f := func(name string, lines ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := realkafka.Shared(t)
			base := topicOf(t)
			first, second, other := base+".first", base+".second", "not-"+base+".third"
			place := lakeweirtest.Dir(t)
			lines = append(lines, "topics: ['/"+base+`\..*/']`, "start: latest", "batch: {max_age: 300ms}")
			one := lakeweirtest.New(t, b.Addr(), place, first, lines...)
			two := lakeweirtest.New(t, b.Addr(), place, second, lines...)
			p := one.Start(t)
			lakeweirtest.Await(t, limit, "it says that it waits", func() bool { return strings.Contains(p.Log(), base) })

			b.CreateTopic(t, other, 1, nil)
			send(t, b, other, 0, "v", 0, 10)
			b.CreateTopic(t, first, 2, nil)
			send(t, b, first, 1, "v", 0, 10)
			lakeweirtest.Await(t, noticed, "the first topic is read", func() bool { return one.Next(t, 1) == 10 })
			b.CreateTopic(t, second, 1, nil)
			send(t, b, second, 0, "w", 0, 10)
			lakeweirtest.Await(t, noticed, "the second topic is read", func() bool { return two.Next(t, 0) == 10 })
			send(t, b, first, 1, "v", 10, 10)
			lakeweirtest.Await(t, limit, "the first goes on", func() bool { return one.Next(t, 1) == 20 })
			if r := p.Stop(); r.Code != 0 {
				t.Errorf("exit %d", r.Code)
			}
			same(t, "first", one.Rows(t), rows(1, 0, "v", 0, 20))
			same(t, "second", two.Rows(t), rows(0, 0, "w", 0, 10))
			if h := one.Head(t, 1); h.Epoch != 1 {
				t.Errorf("a partition of the first topic was claimed %d times, want once", h.Epoch)
			}
			if h := lakeweirtest.New(t, b.Addr(), place, other).Head(t, 0); h != nil {
				t.Errorf("a topic that does not match was read: %+v", h)
			}
		})
	}
	f("alone")
	f("group", "group: pattern")
}

// A topic that came by a pattern is deleted while the sink runs: its partition
// stops, and the others of the pattern go on (B49).
func TestPatternTopicIsDeleted(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	gone, stays := topicOf(t)+".gone", topicOf(t)+".stays"
	place := lakeweirtest.Dir(t)
	lines := []string{"topics: ['/" + topicOf(t) + `\..*/']`, "batch: {max_age: 300ms}"}
	s, other := lakeweirtest.New(t, b.Addr(), place, gone, lines...), lakeweirtest.New(t, b.Addr(), place, stays, lines...)
	for _, topic := range []string{gone, stays} {
		b.CreateTopic(t, topic, 1, nil)
		send(t, b, topic, 0, "v", 0, 10)
	}
	p := s.Start(t)
	lakeweirtest.Await(t, limit, "both are published", func() bool { return s.Next(t, 0) == 10 && other.Next(t, 0) == 10 })
	b.DeleteTopic(t, gone)
	lakeweirtest.Await(t, 2*limit, "the partition of the deleted topic stops", func() bool {
		return strings.Contains(p.Log(), "a partition has stopped; the others go on")
	})
	send(t, b, stays, 0, "v", 10, 10)
	lakeweirtest.Await(t, noticed, "the other goes on", func() bool { return other.Next(t, 0) == 20 })
	if topics, err := kadm.NewClient(b.Client(t)).ListTopics(within(t)); err != nil || topics.Has(gone) {
		t.Errorf("the topic is there again, or %v", err)
	}
	stops(t, p.Stop(), 1, gone)
	same(t, "rows", other.Rows(t), rows(0, 0, "v", 0, 20))
}
