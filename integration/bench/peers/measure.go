package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// measure fills a line: a start, the rounds, the crash check.
func (p *place) measure(ctx context.Context, s sink, l *line) error {
	start, err := p.round(ctx, s, few, fewCount, l)
	if err != nil {
		return fmt.Errorf("with %d records: %w", fewCount, err)
	}
	l.Start, l.StartSeconds = start.clock.Seconds(), start.cpu.Seconds()
	var rates, micros []float64
	for range p.rounds {
		c, err := p.round(ctx, s, all, p.records, l)
		if err != nil {
			return err
		}
		rates = append(rates, c.rate)
		micros = append(micros, float64((c.cpu-start.cpu).Microseconds())/float64(p.records-fewCount))
	}
	l.Rate, l.Micros = median(rates), median(micros)
	if !p.crash {
		return nil
	}
	if err := p.crashCheck(ctx, s, l); err != nil {
		return fmt.Errorf("crash check: %w", err)
	}
	return nil
}

// round runs a sink once, undisturbed, and checks that all is there once.
func (p *place) round(ctx context.Context, s sink, topic string, records int, l *line) (cost, error) {
	j, err := p.newJob(ctx, s, topic, records)
	if err != nil {
		return cost{}, err
	}
	c, err := j.start(ctx)
	if err != nil {
		return cost{}, err
	}
	spent, err := c.await(ctx, j, false)
	if err != nil {
		return spent, fmt.Errorf("%w\n%s", err, c.said())
	}
	seen, err := j.count(ctx)
	if err != nil {
		return spent, err
	}
	if seen.Rows != records || seen.IDs != records {
		return spent, fmt.Errorf("a reader sees %d rows with %d ids, of %d", seen.Rows, seen.IDs, records)
	}
	l.MiB, l.Objects = max(l.MiB, spent.mib), seen.files
	return spent, nil
}

// crashCheck kills a sink as soon as half the files are in the store that an
// undisturbed run left there: just then some are there of which nothing has
// been told yet. It starts it again, and counts what a reader sees in the end.
func (p *place) crashCheck(ctx context.Context, s sink, l *line) error {
	j, err := p.newJob(ctx, s, all, p.records)
	if err != nil {
		return err
	}
	c, err := j.start(ctx)
	if err != nil {
		return err
	}
	if err := c.killAt(ctx, j, max(l.Objects/2, 1)); err != nil {
		return err
	}
	if c, err = j.start(ctx); err != nil {
		return err
	}
	if _, err := c.await(ctx, j, true); err != nil {
		return fmt.Errorf("%w\n%s", err, c.said())
	}
	seen, err := j.count(ctx)
	if err != nil {
		return err
	}
	l.Checked, l.Doubled, l.Lost = true, seen.Rows-seen.IDs, p.records-seen.IDs
	return nil
}

// How often a sink is looked at, and how long nothing may happen. A sink that
// was killed waits for its own session to end; one that is at its end may still
// publish with its next commit, of which there is one in 5 seconds.
const (
	look  = 20 * time.Millisecond
	stuck = 90 * time.Second
	calm  = 15 * time.Second
)

// progress is what was seen of a run: when records were published, and how many.
type progress struct {
	first, last time.Time // when the first were seen, when the last
	early, n    int       // the first, all so far
}

func (p *progress) see(n int) {
	if n <= p.n {
		return
	}
	p.last = time.Now()
	if p.n == 0 {
		p.first, p.early = p.last, n
	}
	p.n = n
}

// rate is records a second, between the first publication and the last: a Java
// process takes long to start. Where the first one has most of them, or for a
// sink that cannot be watched, the start counts too.
func (p *progress) rate(begin time.Time) float64 {
	if p.early > p.n/2 {
		return float64(p.n) / p.last.Sub(begin).Seconds()
	}
	return float64(p.n-p.early) / p.last.Sub(p.first).Seconds()
}

// await waits until all is published, ends the process and returns its cost up
// to the last record. After a crash rows may count twice, so it waits for calm.
func (c *child) await(ctx context.Context, j *job, crashed bool) (cost, error) {
	if j.sink.published == nil {
		spent, err := c.wait(ctx)
		spent.rate = float64(j.records) / spent.clock.Seconds()
		return spent, err
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	seen := progress{last: c.begin}
	for {
		select {
		case <-ctx.Done():
			c.stop()
			return cost{}, ctx.Err()
		case <-c.done:
			return cost{}, errors.New("it ended before all was published")
		case <-tick.C:
		}
		n, err := j.sink.published(ctx, j)
		if err != nil {
			c.stop()
			return cost{}, err
		}
		seen.see(n)
		quiet := time.Since(seen.last)
		if n >= j.records && (!crashed || quiet > calm) {
			spent := c.stop()
			spent.clock, spent.rate = seen.last.Sub(c.begin), seen.rate(c.begin)
			return spent, nil
		}
		if quiet > stuck {
			c.stop()
			return cost{}, fmt.Errorf("%d of %d records are published, and for %v no more", n, j.records, stuck)
		}
	}
}

// killAt kills the process with so many files in the store.
func (c *child) killAt(ctx context.Context, j *job, files int) error {
	tick := time.NewTicker(look / 4)
	defer tick.Stop()
	late := time.After(stuck)
	for {
		stored, err := j.stored()
		if len(stored) >= files || err != nil {
			c.kill()
			return err
		}
		select {
		case <-ctx.Done():
			c.kill()
			return ctx.Err()
		case <-c.done:
			return fmt.Errorf("it ended before it could be killed\n%s", c.said())
		case <-late:
			c.kill()
			return fmt.Errorf("after %v there are %d files of %d to be killed at", stuck, len(stored), files)
		case <-tick.C:
		}
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
