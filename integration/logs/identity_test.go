package logs

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// recreate deletes a topic and creates it again, with n other records.
func recreate(t testing.TB, b *realkafka.Broker, topic string, n int) {
	t.Helper()
	b.DeleteTopic(t, topic)
	b.CreateTopic(t, topic, 1, nil)
	send(t, b, topic, 0, "new", 0, n)
}

// A topic that was created again, with fewer records than were published and
// with more, so that the stored offset is a legal one: the sink refuses to mix
// them. A reset is a plan first; applied, it begins a generation whose names are
// others, beside the rows of the old log (B06).
func TestRecreatedTopic(t *testing.T) {
	t.Parallel()
	const old = 10_000
	f := func(n int) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			b := realkafka.Shared(t)
			topic := topicOf(t)
			b.CreateTopic(t, topic, 1, nil)
			send(t, b, topic, 0, "old", 0, old)
			s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic)
			s.Once(t)
			before := s.Head(t, 0)
			recreate(t, b, topic, n)
			for _, flags := range [][]string{{"--once"}, nil} {
				stops(t, s.Run(t, flags...), 1, topic+"/0", "not the same log", "created again", "lakeweir reset")
			}
			unchanged(t, s, before)

			if plan := reset(t, s); plan.Applied || plan.SameLog || plan.Generation != 1 || plan.Published != old || plan.First != 0 {
				t.Errorf("plan %+v", plan)
			}
			unchanged(t, s, before)
			if done := reset(t, s, "--apply"); !done.Applied {
				t.Errorf("reset --apply: %+v", done)
			}
			s.Once(t)
			h := s.Head(t, 0)
			if h.Generation != 1 || h.First != 0 || h.Next != int64(n) || h.Totals.Rows != int64(old+n) || h.TopicID == before.TopicID {
				t.Errorf("head after the reset: %+v", h)
			}
			twoGenerations(t, s, old, n)
		})
	}
	f(50)
	f(20_000)
}

// unchanged fails the test if anything of a table was written since.
func unchanged(t testing.TB, s *lakeweirtest.Sink, before *lakeweirtest.Head) {
	t.Helper()
	if h := s.Head(t, 0); h.Version != before.Version || h.Next != before.Next {
		t.Errorf("the head was changed: version %d next %d, before %d and %d", h.Version, h.Next, before.Version, before.Next)
	}
}

// renewed is what `lakeweir reset` says of a partition.
type renewed struct {
	Generation int
	Published  int64
	First      int64 `json:"first_offset"`
	SameLog    bool  `json:"same_log"`
	Applied    bool
}

func reset(t testing.TB, s *lakeweirtest.Sink, flags ...string) renewed {
	t.Helper()
	var r struct{ Partitions []renewed }
	out := s.Must(t, "reset", append([]string{s.Topic, "--json"}, flags...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Partitions) != 1 {
		t.Fatalf("reset: %v in %s", err, out)
	}
	return r.Partitions[0]
}

// twoGenerations checks that the table has the rows of both logs, each in files
// of its own, and nothing else under data/.
func twoGenerations(t testing.TB, s *lakeweirtest.Sink, old, fresh int) {
	t.Helper()
	var rows [][3]int
	lakeweirtest.Query(t, &rows, `select starts_with(decode(value), 'new')::int, count(*), count(distinct kafka_offset)
		from read_parquet(?) group by 1 order by 1`, s.Files(t))
	if want := [][3]int{{0, old, old}, {1, fresh, fresh}}; fmt.Sprint(rows) != fmt.Sprint(want) {
		t.Errorf("rows of the old and the new log: %v, want %v", rows, want)
	}
	listed, err := filepath.Glob(filepath.Join(s.Place.Root, s.Topic, "data", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range listed {
		var logs [][2]int
		lakeweirtest.Query(t, &logs, `select count(distinct starts_with(decode(value), 'new')), bool_or(starts_with(decode(value), 'new'))::int from read_parquet(?)`, []string{file})
		if inNew := strings.HasPrefix(filepath.Base(file), "g0001-"); logs[0][0] != 1 || (logs[0][1] == 1) != inNew {
			t.Errorf("%s has rows of %d logs, of the new one: %d", file, logs[0][0], logs[0][1])
		}
	}
	if files := s.Files(t); len(listed) != len(files) || len(files) < 2 {
		t.Errorf("%d files are listed, the head names %d", len(listed), len(files))
	}
	s.Must(t, "verify", s.Topic, "--deep")
}

// The topic is created again between two fetches of one batch. What was fetched
// by name from both logs fits together by its offsets; nothing of it is planned (B06).
func TestRecreatedInsideABatch(t *testing.T) {
	t.Parallel()
	b := realkafka.Shared(t)
	topic := topicOf(t)
	b.CreateTopic(t, topic, 1, nil)
	s := lakeweirtest.New(t, b.Addr(), lakeweirtest.Dir(t), topic, "batch: {max_rows: 1000}")
	p := s.Start(t)
	lakeweirtest.Await(t, limit, "the partition is claimed", func() bool { return s.Next(t, 0) == 0 })
	before, idle := s.Head(t, 0), p.BytesRead()
	noise := rand.NewChaCha8([32]byte{1})
	records := make([]*kgo.Record, 100)
	for i := range records {
		value := make([]byte, 20_000)
		_, _ = noise.Read(value) // never fails
		records[i] = &kgo.Record{Topic: topic, Value: value}
	}
	b.Produce(t, records)
	lakeweirtest.Await(t, limit, "the sink has fetched 2 MB", func() bool { return p.BytesRead()-idle > 2_000_000 })
	recreate(t, b, topic, 2000)
	stops(t, p.Wait(), 1, topic+"/0", "not the same log", "created again")
	if h := s.Head(t, 0); h.Next != 0 || h.Pending != nil || h.Totals.Rows != 0 || h.TopicID != before.TopicID {
		t.Errorf("head %+v", h)
	}
	if listed, _ := filepath.Glob(filepath.Join(s.Place.Root, topic, "data", "*")); len(listed) > 0 {
		t.Errorf("objects were written: %v", listed)
	}
}

// Another cluster has the topic, with the records at other offsets: refused by
// the id of the cluster. And a disk of its broker loses the end of logs: one
// below a pending range, one below what is published and then grown again, which
// only the leader epoch tells (B06).
func TestOtherClusterAndTruncation(t *testing.T) {
	t.Parallel()
	b := realkafka.Start(t, realkafka.Options{ClusterID: "b3RoZXItY2x1c3Rlci0xMg"})
	t.Run("cluster", func(t *testing.T) {
		first := realkafka.Shared(t)
		topic := topicOf(t)
		first.CreateTopic(t, topic, 1, nil)
		b.CreateTopic(t, topic, 1, nil)
		send(t, first, topic, 0, "v", 0, 100)
		send(t, b, topic, 0, "v", 30, 170) // v30 is at 0
		place := lakeweirtest.Dir(t)
		s := lakeweirtest.New(t, first.Addr(), place, topic)
		s.Once(t)
		before := s.Head(t, 0)
		moved := lakeweirtest.New(t, b.Addr(), place, topic)
		stops(t, moved.Run(t, "--once"), 1, topic+"/0", "not the same log", `cluster "`+before.Cluster+`"`, "b3RoZXItY2x1c3Rlci0xMg", "lakeweir reset")
		unchanged(t, s, before)
		s.Once(t) // the first cluster is still the right one
	})
	t.Run("truncated", func(t *testing.T) {
		proxy, place := lakeweirtest.NewProxy(t)
		pending, grown := topicOf(t)+"-pending", topicOf(t)+"-grown"
		at := map[string]int64{}
		for _, topic := range []string{pending, grown} {
			b.CreateTopic(t, topic, 1, nil)
			send(t, b, topic, 0, "v", 0, 50)
			at[topic] = sizeOf(t, b.Segment(topic, 0))
			send(t, b, topic, 0, "v", 50, 50)
		}
		p := lakeweirtest.New(t, b.Addr(), place, pending, "batch: {max_age: 1s}")
		proxy.Crash(t, p, 1, lakeweirtest.Plans, "--once")
		g := lakeweirtest.New(t, b.Addr(), place, grown)
		g.Once(t)
		b.Kill9()
		for topic, size := range at {
			if err := os.Truncate(b.Segment(topic, 0), size); err != nil {
				t.Fatal(err)
			}
		}
		b.Up(t)
		beforeP, beforeG := p.Head(t, 0), g.Head(t, 0)
		stops(t, p.Run(t, "--once"), 1, pending+"/0", "not the same log", "50", "100", "lakeweir reset")
		unchanged(t, p, beforeP)
		send(t, b, grown, 0, "other", 50, 150)
		stops(t, g.Run(t, "--once"), 1, grown+"/0", "not the same log", "ends at 50", "100", "lakeweir reset")
		unchanged(t, g, beforeG)
	})
}

func sizeOf(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
