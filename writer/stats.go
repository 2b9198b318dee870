package writer

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/lakeweir/lakeweir/internal/latency"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// Stats is what the writers of one partition did since the process began, over
// all claims, and where the one is that runs.
type Stats struct {
	Table     string
	Partition int32

	Running  bool  // a Run is under way
	Claimed  bool  // it has the claim, so Position and Next are known
	Position int64 // behind the last record read
	Next     int64 // behind the last record published

	Records int64 // read; what was read again counts again
	Ranges  int64 // published
	Files   int64
	Bytes   int64 // of files
	Counts  manifest.Counts
	Retries int64 // object PUTs that were tried again
	Claims  int64 // made; going on with one that was kept is none
	Fences  int64 // claims that another writer ended

	Published time.Time // of the last publish; zero when there was none
	Waiting   time.Time // when the first came of what is read and not published; zero when nothing is
	Oldest    time.Time // timestamp of the first record of that; zero when it has none
	Troubles  []Trouble // what keeps it from going on
}

// Steps are how long the steps of commits took, all tries of each included,
// over all partitions. Failed ones do not count.
type Steps struct {
	Plan    latency.Histogram // making a cut durable in the head
	Write   latency.Histogram // all objects of a range
	Publish latency.Histogram // the head write that makes a range count
}

// steps are the Steps of a process.
type steps struct {
	mu sync.Mutex
	Steps
}

// took adds a duration to one of the histograms of s.
func (s *steps) took(h *latency.Histogram, begin time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.Observe(time.Since(begin))
}

// counters are the Stats of a partition. Its sessions follow each other and
// share them.
type counters struct {
	mu sync.Mutex
	Stats
	waits []wait    // what is read and not published, in order
	tries []*trying // steps that are under way
	head  *trying   // of them, the one that changes the head
}

// wait is a batch that is collected or on its way.
type wait struct {
	start  int64
	came   time.Time
	oldest time.Time
}

// claimed begins a session that has the claim. What is pending waits already.
func (c *counters) claimed(h manifest.Head) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Claimed, c.Position, c.Next, c.waits = true, h.Next, h.Next, nil
	if h.Pending != nil {
		c.waits = []wait{{start: h.Pending.Start, came: time.Now()}}
	}
}

// ended notes that a session has ended, and its claim with it.
func (c *counters) ended() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Claimed, c.waits = false, nil
}

// run notes that a Run begins or ends.
func (c *counters) run(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Running = is
}

// count adds to one of the Stats.
func (c *counters) count(n *int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

// begin notes that a batch began to wait.
func (c *counters) begin(start int64, came time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = append(c.waits, wait{start: start, came: came})
}

// read notes a batch that came.
func (c *counters) read(b *record.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Position = max(c.Position, b.Next)
	c.Records += int64(b.Len())
}

// oldest notes the first record of the batch that began to wait last, unless
// that has one already.
func (c *counters) oldest(b *record.Batch) {
	if b.Len() == 0 || b.At(0).Timestamp <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.waits); n > 0 && c.waits[n-1].oldest.IsZero() {
		c.waits[n-1].oldest = time.UnixMilli(b.At(0).Timestamp)
	}
}

func (c *counters) published(h manifest.Head, r manifest.RangeRecord) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := r.Totals()
	c.Next, c.Position = h.Next, max(c.Position, h.Next)
	c.waits = slices.DeleteFunc(c.waits, func(w wait) bool { return w.start < h.Next })
	c.Ranges++
	c.Files += t.Files
	c.Bytes += t.Bytes
	c.Counts = c.Counts.Add(t.Counts)
	c.Published = time.Now()
}

// snapshot returns the Stats of now.
func (c *counters) snapshot(now time.Time) Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.Stats
	if len(c.waits) > 0 {
		st.Waiting, st.Oldest = c.waits[0].came, c.waits[0].oldest
	}
	for _, t := range c.tries {
		if t.shows(now) {
			st.Troubles = append(st.Troubles, t.Trouble)
		}
	}
	failed := func(t Trouble) bool { return t.Err != nil }
	if slices.ContainsFunc(st.Troubles, failed) { // which says why the others wait
		st.Troubles = slices.DeleteFunc(st.Troubles, func(t Trouble) bool { return !failed(t) })
	}
	return st
}

// of returns the counters of a partition. They stay for the life of the
// process, so that what they count never falls.
func (w *Writers) of(c Config) *counters {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := place{c.Table, c.Partition}
	n := w.counters[at]
	if n == nil {
		n = &counters{Stats: Stats{Table: c.Table, Partition: c.Partition}}
		w.counters[at] = n
	}
	return n
}

// Stats returns the figures of all partitions that were ever run, by table and
// partition.
func (w *Writers) Stats() []Stats {
	w.mu.Lock()
	all := make([]*counters, 0, len(w.counters))
	for _, c := range w.counters {
		all = append(all, c)
	}
	w.mu.Unlock()
	now, stats := time.Now(), make([]Stats, 0, len(all))
	for _, c := range all {
		stats = append(stats, c.snapshot(now))
	}
	slices.SortFunc(stats, func(a, b Stats) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Partition, b.Partition))
	})
	return stats
}

// Steps returns how long the steps of commits took.
func (w *Writers) Steps() Steps {
	w.steps.mu.Lock()
	defer w.steps.mu.Unlock()
	return w.steps.Steps
}
