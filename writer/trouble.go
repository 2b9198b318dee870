package writer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lakeweir/lakeweir/internal/latency"
	"github.com/lakeweir/lakeweir/manifest"
)

// Trouble is a step that a partition does not get through.
type Trouble struct {
	Step  string    // what does not happen, in words
	Since time.Time // when the step began
	Tries int       // that have failed
	Err   error     // of the last of them; nil while the first has not ended
}

// String tells of the trouble in one line, without the partition.
func (t Trouble) String() string {
	s := fmt.Sprintf("%s for %v", t.Step, time.Since(t.Since).Round(time.Second))
	switch {
	case t.Err == nil:
		return s + ": no answer yet"
	case t.Tries > 1:
		return fmt.Sprintf("%s, tried %d times: %v", s, t.Tries, t.Err)
	}
	return fmt.Sprintf("%s: %v", s, t.Err)
}

// slow is how long a step may take before it counts as trouble although it has
// not failed: a store that hangs gives no error for a minute and more. At
// 1 MB/s, the slowest that drivers wait for, 30 MB arrive in that time.
const slow = 30 * time.Second

// trying is a step that is under way. Only one goroutine uses it.
type trying struct {
	Trouble
	c     *counters
	least int // failed tries that are nothing to hear of
}

// try begins a step, of which so many failed tries are nothing to hear of.
func (c *counters) try(step string, least int) *trying {
	t := &trying{Trouble: Trouble{Step: step, Since: time.Now()}, c: c, least: least}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries = append(c.tries, t)
	return t
}

// failed notes a try that failed.
func (t *trying) failed(err error) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.Tries++
	t.Err = err
}

// again notes a failed try of a step that may have been over. It is to be
// heard of: what made it fail was tried for a while already.
func (t *trying) again(err error) {
	t.c.mu.Lock()
	if !slices.Contains(t.c.tries, t) {
		t.Since, t.Tries = time.Now(), 0
		t.c.tries = append(t.c.tries, t)
	}
	t.least = 0
	t.c.mu.Unlock()
	t.failed(err)
}

// over ends the step, done or given up.
func (t *trying) over() {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.c.tries = slices.DeleteFunc(t.c.tries, func(o *trying) bool { return o == t })
	if t.c.head == t {
		t.c.head = nil
	}
}

func (t *trying) shows(now time.Time) bool {
	return t.Tries > t.least || now.Sub(t.Since) > slow
}

// changing makes t the step that changes the head.
func (c *counters) changing(t *trying) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.head = t
}

// headFailed notes a failed try of the step that changes the head.
func (c *counters) headFailed(err error) {
	c.mu.Lock()
	t := c.head
	c.mu.Unlock()
	if t != nil {
		t.failed(err)
	}
}

// changeHead runs a step that changes the head, and times it into h unless
// that is nil.
func (s *session) changeHead(h *latency.Histogram, step string, change func() error) error {
	begin, t := time.Now(), s.stats.try(step, 1)
	s.stats.changing(t)
	defer t.over()
	err := change()
	if err == nil && h != nil {
		s.writers.steps.took(h, begin)
	}
	return err
}

// publish makes a range count.
func (s *session) publish(ctx context.Context, r manifest.RangeRecord, rider *manifest.Plan) error {
	err := s.changeHead(&s.writers.steps.Publish, "a range that is written is not published", func() error {
		return s.log.Publish(ctx, r, rider)
	})
	if err == nil {
		s.stats.published(s.log.Head(), r)
	}
	return err
}
