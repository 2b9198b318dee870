package source

import (
	"slices"
	"sync"
	"time"
)

// Marks are the bounds of a log as its leader told them with its last answer
// to a fetch. They cost no request. While the reader is behind, nothing is
// fetched and they grow old.
type Marks struct {
	At    time.Time // of the answer; zero when there was none yet
	Start int64     // first offset; -1 when the broker does not tell (below Kafka 1.0)
	End   int64     // of what Read can deliver, as that of Partition.Bounds
	High  int64     // high watermark: the end of what is replicated

	// Open is since when this process sees the same open transaction hold End
	// below High; zero when none does.
	Open time.Time

	// Silent is since when the leader is unknown or does not answer; zero when
	// it does.
	Silent time.Time
}

// Marks returns the marks of the partition.
func (p *Partition) Marks() Marks {
	p.router.mu.Lock()
	defer p.router.mu.Unlock()
	return p.marks
}

// heard notes an answer of the leader. It is called under router.mu.
func (p *Partition) heard(f *fetched, committed bool) {
	m, now := &p.marks, time.Now()
	end := f.high
	if committed && f.stable >= 0 {
		end = min(f.stable, f.high)
	}
	switch {
	case end >= f.high:
		m.Open = time.Time{}
	case end != m.End || m.Open.IsZero(): // another transaction is the oldest one
		m.Open = now
	}
	m.At, m.Start, m.End, m.High, m.Silent = now, f.start, end, f.high, time.Time{}
}

// Place names a partition of a topic.
type Place struct {
	Topic     string
	Partition int32
}

// Progress tells from outside what a Run is at. The zero value is that of one
// that has not begun. One Progress serves one Run.
type Progress struct {
	mu sync.Mutex
	State
}

// State is what a Run is at.
type State struct {
	Begun    bool     // brokers have answered
	Assigned bool     // an assignment is in force; it may be of no partition
	Places   []Place  // that are assigned
	Awaited  []string // topics, and patterns of topics, that do not exist
	Refused  error    // why the group is not joined, for an operator; nil when it is
	Silent   error    // why no broker answers, for an operator; nil when one does
	Since    time.Time
}

// Now returns the state of now. Since is since when it is Refused or Silent.
func (p *Progress) Now() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.State
	s.Places, s.Awaited = slices.Clone(s.Places), slices.Clone(s.Awaited)
	return s
}

// change lets f change the state, and keeps Since.
func (p *Progress) change(f func(*State)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.State)
	switch well := p.Refused == nil && p.Silent == nil; {
	case well:
		p.Since = time.Time{}
	case p.Since.IsZero():
		p.Since = time.Now()
	}
}

// awaited returns the listed topics, and the patterns, that nothing exists for.
func (s *session) awaited() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.router.c.Topics {
		if _, ok := s.topics[name]; !ok && !s.met[name] {
			names = append(names, name)
		}
	}
	for _, p := range s.router.c.Patterns {
		if !s.metBy(p) {
			names = append(names, p.Text)
		}
	}
	return names
}
