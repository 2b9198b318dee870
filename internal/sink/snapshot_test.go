package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/store/metered"
	"github.com/lakeweir/lakeweir/writer"
)

// places returns the ids of the partitions of a snapshot.
func places(s Snapshot) (ids []int32) {
	for _, p := range s.Partitions {
		ids = append(ids, p.Partition)
	}
	return ids
}

// beginSink runs a sink until the returned function ends it.
func beginSink(t *testing.T, k *Sink) (end func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- k.Run(t.Context()) }()
	return func() {
		t.Helper()
		k.Drain()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// member is a sink of a group that is looked at again and again.
type member struct {
	*Sink
	t    *testing.T
	last map[int32]writer.Stats
}

// newMember returns a member of a group on c, with a name of its own.
func newMember(t *testing.T, c *kfake.Cluster, mem store.Store, name string) *member {
	t.Helper()
	set := of(c)
	set.Group, set.Member = "lakeweir", name
	set.HeartbeatInterval, set.SessionTimeout = 50*time.Millisecond, 6*time.Second
	k, err := New(Config{Settings: set, Store: mem})
	if err != nil {
		t.Fatal(err)
	}
	return &member{k, t, map[int32]writer.Stats{}}
}

// monotone returns a snapshot none of whose counts is below that of an earlier one.
func (m *member) monotone() Snapshot {
	m.t.Helper()
	s := m.Snapshot()
	for _, p := range s.Partitions {
		was := m.last[p.Partition]
		if p.Records < was.Records || p.Ranges < was.Ranges || p.Counts.Rows < was.Counts.Rows || p.Claims < was.Claims || p.Files < was.Files {
			m.t.Errorf("partition %d fell: %+v after %+v", p.Partition, p.Stats, was)
		}
		m.last[p.Partition] = p.Stats
	}
	return s
}

// settled waits until the member has n partitions, is ready, and has published
// so many rows.
func (m *member) settled(n int, rows int64) {
	m.t.Helper()
	wait(m.t, fmt.Sprintf("%d partitions with lag 0", n), func() bool {
		s := m.monotone()
		sum := int64(0)
		for _, p := range s.Partitions {
			sum += p.Lag
		}
		return len(s.Partitions) == n && sum == 0 && len(s.Reasons) == 0 && m.Figures().Rows >= rows
	})
}

// Over rebalances the counts of a partition that stays never fall, one that
// goes to another process disappears, and one that comes back goes on.
func TestSnapshotOverRebalances(t *testing.T) {
	c := cluster(t, 4)
	mem := &memory.Store{}
	a, b := newMember(t, c, mem, "a"), newMember(t, c, mem, "b")
	if s := a.Snapshot(); len(s.Reasons) != 1 || !strings.HasPrefix(s.Reasons[0], "starting: ") {
		t.Errorf("before the start: %q", s.Reasons)
	}
	endA := beginSink(t, a.Sink)
	a.settled(4, 0)
	for p := range int32(4) {
		send(t, c, p, 0, 10)
	}
	a.settled(4, 40)
	endB := beginSink(t, b.Sink)
	wait(t, "both ready with half of the partitions", func() bool {
		return len(a.monotone().Partitions) == 2 && len(b.Snapshot().Partitions) == 2 && len(b.Snapshot().Reasons) == 0
	})
	if both := slices.Sorted(slices.Values(append(places(a.Snapshot()), places(b.Snapshot())...))); !slices.Equal(both, []int32{0, 1, 2, 3}) {
		t.Errorf("partitions of both: %v", both)
	}
	for p := range int32(4) {
		send(t, c, p, 10, 10)
	}
	a.settled(2, 60)
	endB()
	a.settled(4, 60)
	for _, p := range a.Snapshot().Partitions {
		if p.Counts.Rows < 10 || p.Claims == 0 || p.Next != 20 || !p.CanPublish || p.LagAge != 0 || p.Waits != 0 {
			t.Errorf("at the end: %+v", p)
		}
	}
	calls := a.Snapshot().Store
	if calls[metered.Put].Outcomes[metered.OK] == 0 || calls[metered.Get].Outcomes[metered.OK] == 0 {
		t.Errorf("calls to the store: %+v", calls)
	}
	endA()
	a.monotone()
}

// How far a partition is behind, and for how long.
func TestMeasure(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	f := func(p Partition, lag int64, age, waits time.Duration) {
		t.Helper()
		p.measure(now)
		if p.Lag != lag || p.LagAge != age || p.Waits != waits {
			t.Errorf("%+v: lag %d, age %v, waits %v, want %d, %v, %v", p.Stats, p.Lag, p.LagAge, p.Waits, lag, age, waits)
		}
	}
	marks := source.Marks{At: ago(3 * time.Second), End: 100}
	// Nothing is known without a claim, or before the first answer.
	f(Partition{Stats: writer.Stats{Next: 5}, Marks: marks}, -1, 0, 0)
	f(Partition{Stats: writer.Stats{Claimed: true, Next: 5}}, -1, 0, 0)
	// All is published.
	f(Partition{Stats: writer.Stats{Claimed: true, Next: 100, Position: 100}, Marks: marks}, 0, 0, 0)
	// What is read waits since it came; its record is older.
	st := writer.Stats{Claimed: true, Next: 90, Position: 100, Waiting: ago(time.Second), Oldest: ago(time.Hour)}
	f(Partition{Stats: st, Marks: marks}, 10, time.Hour, time.Second)
	// A record without a timestamp, or from a clock that is ahead.
	st.Oldest = time.Time{}
	f(Partition{Stats: st, Marks: marks}, 10, time.Second, time.Second)
	st.Oldest = ago(-time.Minute)
	f(Partition{Stats: st, Marks: marks}, 10, 0, time.Second)
	// Nothing is read, but the broker said that there is more.
	f(Partition{Stats: writer.Stats{Claimed: true, Next: 90, Position: 90}, Marks: marks}, 10, 3*time.Second, 0)
	// More is read than the last answer that was looked at said.
	f(Partition{Stats: writer.Stats{Claimed: true, Next: 100, Position: 120, Waiting: ago(0)}, Marks: marks}, 20, 0, 0)
}

// What is said of a sink as a whole, before anything of a partition.
func TestGeneralReasons(t *testing.T) {
	now := time.Now()
	f := func(drained bool, st source.State, want ...string) {
		t.Helper()
		s := newSink(t, func(*settings.Settings) {})
		s.drained, s.Settings.Group = drained, "g"
		got := s.general(st, now)
		if !slices.Equal(got, want) {
			t.Errorf("%+v: got %q, want %q", st, got, want)
		}
	}
	const joining = `no partitions are assigned yet: the group "g" is being joined or rebalances`
	down, since := errors.New("two\nlines"), now.Add(-42*time.Second)
	f(false, source.State{}, "starting: the heads of the tables are read and the brokers are asked")
	f(false, source.State{Begun: true}, joining)
	// An assignment of nothing is one: the process stands by.
	f(false, source.State{Begun: true, Assigned: true})
	f(false, source.State{Begun: true, Silent: down, Since: since}, "no broker answers for 42s: two lines")
	f(false, source.State{Begun: true, Refused: down, Since: since}, `the group "g" is not joined for 42s: two lines`)
	f(false, source.State{Begun: true, Assigned: true, Awaited: []string{"a", "^b"}}, "waiting for topic a: it does not exist", "waiting for topic ^b: it does not exist")
	f(true, source.State{Begun: true, Assigned: true}, "stopping: what was read is being published")
}

// What keeps a single partition from publishing.
func TestObstacles(t *testing.T) {
	now, at := time.Now(), place{"quakes", 3}
	f := func(ended error, has bool, p Partition, want ...string) {
		t.Helper()
		s := newSink(t, func(*settings.Settings) {})
		if has {
			s.ended[at] = ended
		}
		got := s.obstacles(at, p, now)
		if len(got) != len(want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		for i := range got {
			if !strings.HasPrefix(got[i], want[i]) {
				t.Errorf("got %q, want %q", got[i], want[i])
			}
		}
	}
	claimed := writer.Stats{Claimed: true}
	f(nil, false, Partition{Stats: claimed})
	f(nil, false, Partition{}, "quakes/3: no claim yet")
	// Done, with --once.
	f(nil, true, Partition{})
	f(fmt.Errorf("quakes/3: %w", errors.New("broken")), true, Partition{}, "quakes/3: stopped: broken")
	claimed.Troubles = []writer.Trouble{{Step: "nothing happens", Since: now.Add(-7 * time.Second), Tries: 2, Err: errors.New("down")}}
	f(nil, false, Partition{Stats: claimed}, "quakes/3: nothing happens for 7s, tried 2 times: down")
	// A leader has a moment to move.
	claimed.Troubles = nil
	f(nil, false, Partition{Stats: claimed, Marks: source.Marks{Silent: now.Add(-quiet)}})
	f(nil, false, Partition{Stats: claimed, Marks: source.Marks{Silent: now.Add(-quiet - time.Second)}}, "quakes/3: its broker does not answer for 6s")
}

// A long list of reasons is cut, and says so.
func TestFewReasons(t *testing.T) {
	var many []string
	for i := range maxReasons {
		many = append(many, fmt.Sprint(i))
	}
	if got := few(many); len(got) != maxReasons || got[maxReasons-1] != "49" {
		t.Errorf("%q", got)
	}
	if got := few(append(many, "x", "y")); len(got) != maxReasons+1 || got[maxReasons] != "and 2 more" {
		t.Errorf("%q", got)
	}
}

// A snapshot of a sink that does nothing is one, at any time.
func TestSnapshotOfNothing(t *testing.T) {
	s := newSink(t, func(*settings.Settings) {})
	if got := s.Snapshot(); len(got.Partitions) != 0 || got.Records != (Memory{0, s.Settings.Memory / 2}) || got.Objects != (Memory{0, s.Settings.Memory / 4}) {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = s.Run(ctx)
	if got := s.Snapshot(); len(got.Reasons) != 1 {
		t.Errorf("after a run that did not begin: %q", got.Reasons)
	}
}
