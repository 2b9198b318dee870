package demo

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"
)

// show is a run of the demo: one goroutine starts sinks, listens to them and
// kills them.
type show struct {
	command  func(ctx context.Context) *exec.Cmd
	template order // what all sinks are told alike
	producer *producer
	left     int // events that are not sent
	share    int // events that go at once
	stage    *stage

	ears   chan heard
	alive  []*child
	next   [Partitions]int64 // published up to here, as the sinks say
	result *Report
}

// A sink gets this long to say its first word, and may be silent for so long
// afterwards, before it is given up.
const (
	startup  = 60 * time.Second
	patience = 10 * time.Second
)

// errLate is a sink that did not get where it was to go.
var errLate = errors.New("did not get there in time")

// sinkAge is the age at which sinks of the show cut.
const sinkAge = 300 * time.Millisecond

// order returns the order of the next sink.
func (s *show) order(step Step, nth int, c cut) order {
	o := s.template
	s.result.Sinks++
	o.Name = fmt.Sprintf("sink %d", s.result.Sinks)
	o.Rows, o.Snappy, o.Age = c.rows, c.snappy, sinkAge
	o.Hold, o.Nth = step, nth
	return o
}

// start starts a sink.
func (s *show) start(ctx context.Context, o order) (*child, error) {
	c, err := start(ctx, s.command(ctx), o, s.ears)
	if c != nil {
		s.alive = append(s.alive, c)
	}
	return c, err
}

// send lets the next n events go, or what is left of them.
func (s *show) send(n int) {
	n = min(n, s.left)
	s.left -= n
	s.producer.share(n)
}

// listen hears one report, and notes what it says.
func (s *show) listen(ctx context.Context, timeout <-chan time.Time) (heard, error) {
	select {
	case <-ctx.Done():
		return heard{}, ctx.Err()
	case <-timeout:
		return heard{}, errLate
	case h := <-s.ears:
		s.note(h)
		return h, nil
	}
}

// note keeps the figures that go into the report.
func (s *show) note(h heard) {
	h.from.spoke = true
	switch h.Kind {
	case published:
		s.next[h.Partition] = max(s.next[h.Partition], h.Next)
		s.stage.progress(s.done())
	case fenced:
		s.result.Fences++
	case held:
		h.from.at = h.report
	case ended:
		h.from.failed = h.Error
	case gone:
		h.from.over = true
		s.alive = slices.DeleteFunc(s.alive, func(c *child) bool { return c == h.from })
	}
}

// done returns how many offsets are published.
func (s *show) done() (n int64) {
	for _, next := range s.next {
		n += next
	}
	return n
}

// await listens until c says what is wanted. A c that is silent for too long is
// errLate, and one that is gone says nothing more.
func (s *show) await(ctx context.Context, c *child, wanted func(heard) bool) (heard, error) {
	for {
		silence := patience
		if !c.spoke {
			silence = startup
		}
		h, err := s.hear(ctx, c, time.After(silence))
		switch {
		case err != nil:
			return h, fmt.Errorf("%s: %w (%s)", c.name, err, c.log)
		case wanted(h):
			return h, nil
		case h.Kind == gone:
			return h, fmt.Errorf("%s ended by itself: %s (%s)", c.name, c.failed, c.log)
		}
	}
}

// hear listens until c says something.
func (s *show) hear(ctx context.Context, c *child, timeout <-chan time.Time) (heard, error) {
	for {
		if h, err := s.listen(ctx, timeout); err != nil || h.from == c {
			return h, err
		}
	}
}

// stands waits until c stands at its step.
func (s *show) stands(ctx context.Context, c *child) (report, error) {
	if c.at.Kind == held { // it was heard while another was listened to
		return c.at, nil
	}
	_, err := s.await(ctx, c, is(held))
	return c.at, err
}

// bury waits until c is gone.
func (s *show) bury(ctx context.Context, c *child) error {
	if c.over {
		return nil
	}
	_, err := s.await(ctx, c, is(gone))
	return err
}

func is(k kind) func(heard) bool { return func(h heard) bool { return h.Kind == k } }

// play lets every incident happen, and then a last sink finish the work. What
// does not go as it should is a problem in the report; an error ends the show.
func (s *show) play(ctx context.Context, all []incident) error {
	defer s.clear()
	for _, in := range all {
		s.send(s.share)
		act := s.kill
		if in.pause {
			act = s.pause
		}
		if err := act(ctx, in); err != nil {
			s.result.problem(err)
		}
		s.clear()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	s.send(s.left)
	if err := s.producer.finish(ctx); err != nil {
		return err
	}
	return s.finish(ctx)
}

// clear ends what an incident left running.
func (s *show) clear() {
	for _, c := range s.alive {
		c.kill()
	}
}
