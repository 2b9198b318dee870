package writer

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// Stats is what a writer did since its claim, and where it is.
type Stats struct {
	Table     string
	Partition int32
	Position  int64 // behind the last record read
	Next      int64 // behind the last record published
	Records   int64 // read since the claim
	Ranges    int64 // published since the claim
	Files     int64
	Bytes     int64 // of files
	Counts    manifest.Counts
	Retries   int64     // object PUTs that were tried again
	Published time.Time // of the last publish; zero when there was none
}

// counters are the Stats of a session that runs.
type counters struct {
	mu sync.Mutex
	Stats
}

func (c *counters) claimed(h manifest.Head) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Position, c.Next = h.Next, h.Next
}

func (c *counters) read(b *record.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Position = b.Next
	c.Records += int64(b.Len())
}

func (c *counters) retried() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Retries++
}

func (c *counters) published(h manifest.Head, r manifest.RangeRecord) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := r.Totals()
	c.Next = h.Next
	c.Ranges++
	c.Files += t.Files
	c.Bytes += t.Bytes
	c.Counts = c.Counts.Add(t.Counts)
	c.Published = time.Now()
}

// Stats returns the figures of all writers that run, by table and partition.
func (w *Writers) Stats() []Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]Stats, 0, len(w.running))
	for s := range w.running {
		s.stats.mu.Lock()
		st := s.stats.Stats
		s.stats.mu.Unlock()
		st.Table, st.Partition = s.Table, s.Partition
		all = append(all, st)
	}
	slices.SortFunc(all, func(a, b Stats) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Partition, b.Partition))
	})
	return all
}
