package sink

import (
	"context"
	"maps"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lakeweir/lakeweir/internal/source"
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

// Figures returns the figures of now.
func (s *Sink) Figures() Figures {
	f := Figures{Memory: s.budget.Used()}
	for _, st := range s.writers.Stats() {
		f.Records += st.Records
		f.Rows += st.Counts.Rows
		f.Dead += st.Counts.Dead
		f.Files += st.Files
		f.Bytes += st.Bytes
		if st.Running {
			f.Partitions++
		}
		if !st.Waiting.IsZero() {
			f.Open++
		}
	}
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
