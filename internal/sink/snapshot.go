package sink

import (
	"cmp"
	"slices"
	"time"

	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/store/metered"
	"github.com/lakeweir/lakeweir/writer"
)

// Snapshot is all that a Sink tells of itself, as plain values. It asks
// neither brokers nor the store.
type Snapshot struct {
	Partitions []Partition // that are assigned, by topic and partition
	Steps      writer.Steps
	Store      [metered.Operations]metered.Calls // by operation
	Records    Memory                            // raw bytes of records: fetched, collected and being written
	Objects    Memory                            // what laying out takes, with the objects until they are published
	Reasons    []string                          // why it is not ready, in lines for people; none when it is
}

// Memory is how much of a kind is held and how much may be, in bytes.
type Memory struct{ Used, Limit int64 }

// Partition is what is known of a partition that is assigned.
type Partition struct {
	writer.Stats
	Marks      source.Marks
	CanPublish bool // what it reads now could be published

	Lag    int64         // records, by offsets, in the log and not published; -1 when unknown
	LagAge time.Duration // of the oldest of them; see docs/monitoring.md
	Waits  time.Duration // since the first came of what is read and not published
}

// Snapshot returns the state of now.
func (s *Sink) Snapshot() Snapshot {
	now, state := time.Now(), s.progress.Now()
	snap := Snapshot{
		Steps: s.writers.Steps(), Store: s.meter.Calls(),
		Records: Memory{s.budget.Used(), s.Settings.Memory / rawShare},
		Objects: Memory{s.budget.Objects(), s.Settings.Memory / objectShare},
	}
	stats := map[place]writer.Stats{}
	for _, st := range s.writers.Stats() {
		stats[place{st.Table, st.Partition}] = st
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var reasons []string
	for _, a := range state.Places {
		at := place{a.Topic, a.Partition}
		p := Partition{Stats: stats[at]}
		p.Table, p.Partition = at.topic, at.partition
		if of := s.running[at]; of != nil {
			p.Marks = of.Marks()
		}
		p.measure(now)
		why := s.obstacles(at, p, now)
		p.CanPublish = len(why) == 0
		if state.Silent == nil || p.Marks.Silent.IsZero() { // else one line says it for all
			reasons = append(reasons, why...)
		}
		snap.Partitions = append(snap.Partitions, p)
	}
	slices.SortFunc(snap.Partitions, func(a, b Partition) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Partition, b.Partition))
	})
	slices.Sort(reasons)
	snap.Reasons = few(append(s.general(state, now), reasons...))
	return snap
}

// measure computes how far p is behind.
func (p *Partition) measure(now time.Time) {
	p.Lag = -1
	if !p.Claimed {
		return
	}
	if !p.Waiting.IsZero() {
		p.Waits = now.Sub(p.Waiting)
	}
	if !p.Marks.At.IsZero() {
		p.Lag = max(p.Marks.End, p.Position) - p.Next
	}
	switch {
	case !p.Oldest.IsZero():
		p.LagAge = now.Sub(p.Oldest)
	case !p.Waiting.IsZero():
		p.LagAge = p.Waits
	case p.Lag > 0: // seen in the log, and not read yet
		p.LagAge = now.Sub(p.Marks.At)
	}
	p.LagAge = max(p.LagAge, 0) // the clock of a producer may be ahead
}
