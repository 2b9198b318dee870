package demo

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// stubborn is how often a sink that is to reach its step claims again when the
// one beside it fences it; modest is how often that one does.
const (
	stubborn = 1000
	modest   = 2
)

// fightFor is how long two sinks may fence each other.
const fightFor = time.Second

// kill starts a sink and kills it at its step or when its time is up.
func (s *show) kill(ctx context.Context, in incident) error {
	o := s.order(in.step, in.nth, in.cut)
	o.Reclaim = stubborn
	c, err := s.start(ctx, o)
	if err != nil {
		return err
	}
	var beside *child
	if in.overlap {
		o := s.order(Anytime, 0, in.other)
		o.Reclaim = modest
		if beside, err = s.start(ctx, o); err != nil {
			return err
		}
	}
	at, err := s.reach(ctx, c, beside, in)
	if err != nil {
		return err
	}
	c.kill()
	s.result.killed(in.step)
	s.stage.killed(s, c, beside, in, at)
	if err := s.bury(ctx, c); err != nil {
		return err
	}
	return s.dismiss(ctx, beside)
}

// reach waits until c stands at its step, or until its time is up. One beside
// it may leave it nothing to do; so that one is dismissed after a while, and c
// gets a share of its own.
func (s *show) reach(ctx context.Context, c, beside *child, in incident) (report, error) {
	if beside != nil {
		defer s.send(s.share)
	}
	if in.step == Anytime {
		return report{}, s.pass(ctx, in.after)
	}
	if beside != nil {
		if err := s.fight(ctx, c); err != nil || c.at.Kind == held {
			return c.at, err
		}
		if err := s.dismiss(ctx, beside); err != nil {
			return report{}, err
		}
		s.send(s.share)
	}
	return s.stands(ctx, c)
}

// fight listens while two sinks fight, until c gets to its step.
func (s *show) fight(ctx context.Context, c *child) error {
	over := time.After(fightFor)
	for {
		h, err := s.hear(ctx, c, over)
		switch {
		case errors.Is(err, errLate):
			return nil
		case err != nil:
			return err
		case h.Kind == held:
			return nil
		case h.Kind == gone:
			return fmt.Errorf("%s ended by itself: %s (%s)", c.name, c.failed, c.log)
		}
	}
}

// pass listens for a while.
func (s *show) pass(ctx context.Context, d time.Duration) error {
	timer := time.After(d)
	for {
		if _, err := s.listen(ctx, timer); errors.Is(err, errLate) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// dismiss lets a sink publish what it has and end. It may be gone already:
// fenced once more than it cares to claim.
func (s *show) dismiss(ctx context.Context, c *child) error {
	if c == nil || c.over {
		return nil
	}
	c.word(drain)
	return s.bury(ctx, c)
}

// pause stops a sink that is about to create a data file, lets another take
// over and publish, and wakes it. It must end fenced, and harm nobody.
func (s *show) pause(ctx context.Context, in incident) error {
	c, err := s.start(ctx, s.order(in.step, in.nth, in.cut))
	if err != nil {
		return err
	}
	at, err := s.reach(ctx, c, nil, in)
	if err != nil {
		return err
	}
	if err := stop(c.cmd.Process); err != nil {
		return fmt.Errorf("stop %s: %w", c.name, err)
	}
	heir, err := s.start(ctx, s.order(Anytime, 0, in.other))
	if err != nil {
		return err
	}
	if _, err := s.await(ctx, heir, func(h heard) bool {
		return h.Kind == published && h.Partition == at.Partition
	}); err != nil {
		return err
	}
	if err := s.wake(ctx, c, heir, at); err != nil {
		return err
	}
	return s.dismiss(ctx, heir)
}

// wake lets a stopped sink go on, with something to write for every partition
// of it, and sees it end.
func (s *show) wake(ctx context.Context, c, heir *child, at report) error {
	s.send(s.share)
	if err := wake(c.cmd.Process); err != nil {
		return fmt.Errorf("wake %s: %w", c.name, err)
	}
	c.word(goOn)
	fences := s.result.Fences
	if err := s.bury(ctx, c); err != nil {
		return err
	}
	s.result.Pauses++
	s.stage.paused(s, c, heir, at, s.result.Fences-fences)
	if s.result.Fences == fences {
		return fmt.Errorf("%s was stopped while %s took over, and was not fenced", c.name, heir.name)
	}
	return nil
}

// finish lets a last sink publish all that is in the log.
func (s *show) finish(ctx context.Context) error {
	o := s.order(Anytime, 0, cut{rows: int64(max(s.share, 1))})
	o.Once = true
	c, err := s.start(ctx, o)
	if err != nil {
		return err
	}
	err = s.bury(ctx, c)
	if err == nil && c.failed != "" {
		err = fmt.Errorf("the last sink: %s", c.failed)
	}
	return err
}
