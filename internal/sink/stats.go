package sink

import (
	"context"
	"maps"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/writer"
)

// Figures is what a Sink has done since its start, and what it is at.
type Figures struct {
	Partitions int   // assigned now
	Open       int   // of them, those with records that are not published
	Records    int64 // read
	Rows, Dead int64 // published
	Files      int64
	Bytes      int64 // of files
	Memory     int64 // bytes of raw records held
}

// tally sums the figures of writers, which begin at zero with each claim.
type tally struct {
	mu   sync.Mutex
	last map[place]writer.Stats
	sum  Figures
}

// add takes what changed since the last call.
func (t *tally) add(stats []writer.Stats) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = map[place]writer.Stats{}
	}
	for _, s := range stats {
		at := place{s.Table, s.Partition}
		last := t.last[at]
		if s.Ranges < last.Ranges || s.Records < last.Records { // another claim
			last = writer.Stats{}
		}
		t.last[at] = s
		t.sum.Records += s.Records - last.Records
		t.sum.Rows += s.Counts.Rows - last.Counts.Rows
		t.sum.Dead += s.Counts.Dead - last.Counts.Dead
		t.sum.Files += s.Files - last.Files
		t.sum.Bytes += s.Bytes - last.Bytes
	}
}

// Figures returns the figures of now.
func (s *Sink) Figures() Figures {
	stats := s.writers.Stats()
	s.tally.add(stats)
	s.tally.mu.Lock()
	f := s.tally.sum
	s.tally.mu.Unlock()
	for _, st := range stats {
		f.Partitions++
		if st.Position > st.Next {
			f.Open++
		}
	}
	f.Memory = s.budget.Used()
	return f
}

// Lag asks the brokers how many positions of the assigned partitions are not
// published yet.
func (s *Sink) Lag(ctx context.Context) (int64, error) {
	s.mu.Lock()
	running := maps.Clone(s.running)
	s.mu.Unlock()
	var mu sync.Mutex
	ends := map[place]int64{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(checkers)
	for at, p := range running {
		g.Go(func() error {
			end, err := logEnd(ctx, p)
			mu.Lock()
			defer mu.Unlock()
			ends[at] = end
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	var lag int64
	for _, st := range s.writers.Stats() {
		if end, ok := ends[place{st.Table, st.Partition}]; ok {
			lag += max(end-st.Next, 0)
		}
	}
	return lag, nil
}

func logEnd(ctx context.Context, p *source.Partition) (int64, error) {
	_, end, err := p.Bounds(ctx)
	return end, err
}
