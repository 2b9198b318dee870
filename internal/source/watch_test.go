package source

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The bounds of a log come with the answers to fetches; an open transaction
// holds the end below the high watermark, and it is told since when (B03).
func TestMarks(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	produce(t, producer(t, c), "t", 0, values(3)...)
	tx, begin, end := transactional(t, c, "tx")
	begin()
	produce(t, tx, "t", 0, "open", "open")
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
		if m := p.Marks(); !m.At.IsZero() {
			t.Errorf("before the first fetch: %+v", m)
		}
		if _, err := read(ctx, p, 0, 3); err != nil {
			return err
		}
		var open time.Time
		until(t, "an open transaction", func() bool {
			m := p.Marks()
			open = m.Open
			return m.Start == 0 && m.End == 3 && m.High == 5 && !m.Open.IsZero() && m.Silent.IsZero()
		})
		at := p.Marks().At
		until(t, "another answer", func() bool { return p.Marks().At.After(at) })
		if m := p.Marks(); !m.Open.Equal(open) {
			t.Errorf("open since %v, before %v: it is the same transaction", m.Open, open)
		}
		end(kgo.TryCommit) // 5 is the marker
		if _, err := read(ctx, p, 3, 6); err != nil {
			return err
		}
		until(t, "no open transaction", func() bool {
			m := p.Marks()
			return m.End == 6 && m.High == 6 && m.Open.IsZero()
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Another transaction that holds the end is another one, and the end of the
// log is the high watermark for who reads uncommitted records.
func TestHeard(t *testing.T) {
	p := &Partition{}
	p.heard(&fetched{high: 10, stable: 5, start: 1}, true)
	first := p.marks.Open
	if first.IsZero() || p.marks.End != 5 || p.marks.Start != 1 {
		t.Errorf("%+v", p.marks)
	}
	p.heard(&fetched{high: 20, stable: 5, start: 1}, true)
	if !p.marks.Open.Equal(first) || p.marks.High != 20 {
		t.Errorf("the same transaction: %+v", p.marks)
	}
	p.heard(&fetched{high: 20, stable: 8, start: 1}, true)
	if !p.marks.Open.After(first) {
		t.Errorf("another transaction: %+v", p.marks)
	}
	p.heard(&fetched{high: 20, stable: 20, start: 1}, true)
	if !p.marks.Open.IsZero() {
		t.Errorf("none: %+v", p.marks)
	}
	p.heard(&fetched{high: 20, stable: 8, start: -1}, false)
	if !p.marks.Open.IsZero() || p.marks.End != 20 || p.marks.Start != -1 {
		t.Errorf("uncommitted: %+v", p.marks)
	}
	// Brokers do not tell it when it is not asked for.
	p.heard(&fetched{high: 21, stable: -1}, true)
	if p.marks.End != 21 || !p.marks.Open.IsZero() {
		t.Errorf("not told: %+v", p.marks)
	}
}

// A leader that does not answer is told, since when, and no more once it does.
func TestMarksOfASilentLeader(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	produce(t, producer(t, c), "t", 0, "v0")
	var silent atomic.Bool
	var looks atomic.Int32
	c.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		looks.Add(1)
		return nil, nil, false
	})
	c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return nil, errors.New("cut"), silent.Load()
	})
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
		if _, err := read(ctx, p, 0, 1); err != nil {
			return err
		}
		until(t, "a leader that answers", func() bool { return p.Marks().Silent.IsZero() })
		silent.Store(true)
		until(t, "a silent leader", func() bool { return !p.Marks().Silent.IsZero() })
		since := p.Marks().Silent
		// It is named as the leader again and again, which is no answer.
		before := looks.Load()
		until(t, "other looks for the leader", func() bool { return looks.Load() > before+2 })
		if m := p.Marks(); !m.Silent.Equal(since) {
			t.Errorf("silent since %v, before %v", m.Silent, since)
		}
		silent.Store(false)
		until(t, "a leader that answers again", func() bool { return p.Marks().Silent.IsZero() })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What a run is at: waited-for topics, the assignment, and that it is over.
func TestProgress(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(2, "t"), kfake.GroupMinSessionTimeout(time.Second))
	o := &owners{by: map[key]string{}}
	cfg := groupConfig(c, "a", "t", "later")
	cfg.WaitForTopics, cfg.Progress = true, &Progress{}
	if s := cfg.Progress.Now(); s.Begun || s.Assigned {
		t.Errorf("before: %+v", s)
	}
	leave := start(t, cfg, o.hold("a"))
	o.shares(t, map[string]int{"a": 2})
	s := cfg.Progress.Now()
	if !s.Begun || !s.Assigned || !slices.Equal(s.Places, []Place{{"t", 0}, {"t", 1}}) && !slices.Equal(s.Places, []Place{{"t", 1}, {"t", 0}}) ||
		!slices.Equal(s.Awaited, []string{"later"}) || s.Silent != nil || s.Refused != nil || !s.Since.IsZero() {
		t.Errorf("assigned: %+v", s)
	}
	if err := c.CreateTopic("later", 1, nil); err != nil {
		t.Fatal(err)
	}
	o.shares(t, map[string]int{"a": 3})
	if s := cfg.Progress.Now(); len(s.Awaited) != 0 || len(s.Places) != 3 {
		t.Errorf("after the topic came: %+v", s)
	}
	// A second member takes a part, and one that gets nothing is assigned too.
	others := []*Progress{{}, {}, {}}
	for i, name := range []string{"b", "c", "d"} {
		cfg := groupConfig(c, name, "t", "later")
		cfg.WaitForTopics, cfg.Progress = true, others[i]
		start(t, cfg, o.hold(name))
	}
	until(t, "four members, one without partitions", func() bool {
		n, counts := 0, map[int]int{}
		for _, p := range append(others, cfg.Progress) {
			if s := p.Now(); s.Assigned {
				n++
				counts[len(s.Places)]++
			}
		}
		return n == 4 && maps.Equal(counts, map[int]int{0: 1, 1: 3})
	})
	leave()
	if s := cfg.Progress.Now(); s.Assigned || len(s.Places) != 0 {
		t.Errorf("after the end: %+v", s)
	}
}

// Patterns that take no topic are waited for too.
func TestProgressOfPatterns(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	cfg := config(c, "t")
	cfg.Patterns, cfg.Progress = []Pattern{pattern("^x"), pattern("^t")}, &Progress{}
	start(t, cfg, func(ctx context.Context, p *Partition) error { <-ctx.Done(); return ctx.Err() })
	until(t, "one pattern that takes nothing", func() bool {
		s := cfg.Progress.Now()
		return s.Assigned && slices.Equal(s.Awaited, []string{cfg.Patterns[0].Text})
	})
}

// Since is that of the first trouble, until there is none.
func TestProgressSince(t *testing.T) {
	var p Progress
	down := errors.New("down")
	p.change(func(s *State) { s.Silent = down })
	first := p.Now().Since
	p.change(func(s *State) { s.Silent = nil; s.Refused = down })
	if now := p.Now().Since; first.IsZero() || !now.Equal(first) {
		t.Errorf("since %v, then %v", first, now)
	}
	p.change(func(s *State) { s.Refused = nil })
	if !p.Now().Since.IsZero() {
		t.Errorf("since %v though all is well", p.Now().Since)
	}
}
