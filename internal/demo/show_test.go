package demo

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// newShow returns a show without processes: a test says what is heard.
func newShow() *show {
	return &show{ears: make(chan heard), stage: newStage(io.Discard, nil, 100, 1), result: &Report{}}
}

// hears lets the show hear something.
func (s *show) hears(c *child, r report) { s.ears <- heard{c, r} }

// A wait for one sink hears the others too, and forgets nothing of them.
func TestAwaitHearsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a, b := newShow(), &child{name: "a", log: &tail{}}, &child{name: "b", log: &tail{}}
		s.alive = []*child{a, b}
		go func() {
			s.hears(b, report{Kind: held, Partition: 2, Key: "data/x"})
			s.hears(b, report{Kind: published, Partition: 1, Next: 7})
			s.hears(b, report{Kind: published, Partition: 1, Next: 5}) // of a claim before
			s.hears(a, report{Kind: published, Partition: 3, Next: 4})
			s.hears(b, report{Kind: fenced})
			s.hears(a, report{Kind: ended})
			s.hears(a, report{Kind: gone})
		}()
		if err := s.bury(t.Context(), a); err != nil {
			t.Error(err)
		}
		if err := s.bury(t.Context(), a); err != nil { // it is gone, nothing more is heard
			t.Error(err)
		}
		if at, err := s.stands(t.Context(), b); err != nil || at.Key != "data/x" || at.Partition != 2 {
			t.Errorf("b stands at %+v, %v", at, err)
		}
		if s.done() != 11 || s.result.Fences != 1 || len(s.alive) != 1 || s.alive[0] != b {
			t.Errorf("%d published, %d fences, %d alive", s.done(), s.result.Fences, len(s.alive))
		}
	})
}

// A sink may take long to start; once it has spoken it must not fall silent.
func TestAwaitGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c, other := newShow(), &child{name: "c", log: &tail{}}, &child{name: "other"}
		f := func(want time.Duration) {
			t.Helper()
			begin := time.Now()
			_, err := s.await(t.Context(), c, is(held))
			if !errors.Is(err, errLate) || !strings.HasPrefix(err.Error(), "c: ") {
				t.Errorf("error %v", err)
			}
			if took := time.Since(begin); took != want {
				t.Errorf("gave up after %v, want %v", took, want)
			}
		}
		f(startup)
		go func() {
			time.Sleep(startup / 2)
			s.hears(c, report{Kind: ready})
			time.Sleep(patience / 2)
			s.hears(c, report{Kind: published})
			time.Sleep(patience / 2)
			s.hears(other, report{Kind: published}) // does not count for c
		}()
		f(startup/2 + patience/2 + patience)
	})
}

// A sink that ends where it should not is an error with its own words.
func TestAwaitEndsWithTheSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShow()
		f := func(wait func(c *child) error) {
			t.Helper()
			c := &child{name: "c", log: &tail{}}
			if _, err := c.log.Write([]byte("first\nlast line\n")); err != nil {
				t.Fatal(err)
			}
			go func() {
				s.hears(c, report{Kind: ended, Error: "no such topic"})
				s.hears(c, report{Kind: gone})
			}()
			if err := wait(c); err == nil || err.Error() != "c ended by itself: no such topic (last line)" {
				t.Errorf("error %v", err)
			}
		}
		f(func(c *child) error { _, err := s.stands(t.Context(), c); return err })
		f(func(c *child) error { return s.fight(t.Context(), c) })
	})
}

// Two sinks fight until one gets to its step, and not for ever.
func TestFight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newShow(), &child{name: "c", log: &tail{}}
		begin := time.Now()
		if err := s.fight(t.Context(), c); err != nil || time.Since(begin) != fightFor || c.at.Kind == held {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		go func() {
			s.hears(c, report{Kind: fenced})
			s.hears(c, report{Kind: held, Key: "data/y"})
		}()
		if err := s.fight(t.Context(), c); err != nil || c.at.Key != "data/y" {
			t.Errorf("%v, stands at %+v", err, c.at)
		}
	})
}

// A sink that is killed at a random moment lives as long as the schedule says.
func TestReachAnytime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newShow(), &child{name: "c", log: &tail{}}
		go s.hears(c, report{Kind: published, Partition: 0, Next: 3})
		begin := time.Now()
		at, err := s.reach(t.Context(), c, nil, incident{after: 70 * time.Millisecond})
		if err != nil || at != (report{}) || time.Since(begin) != 70*time.Millisecond || s.done() != 3 {
			t.Errorf("%+v, %v after %v; %d published", at, err, time.Since(begin), s.done())
		}
	})
}

// What a show waits for ends with its context.
func TestShowIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, c := newShow(), &child{name: "c", log: &tail{}}
	f := func(err error) {
		t.Helper()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
	_, err := s.stands(ctx, c)
	f(err)
	f(s.bury(ctx, c))
	f(s.fight(ctx, c))
	f(s.pass(ctx, time.Hour))
	if err := s.dismiss(ctx, nil); err != nil {
		t.Error("one that was not started is dismissed:", err)
	}
}

// Shares go out as they are asked for, and never more than there is.
func TestSend(t *testing.T) {
	s := newShow()
	s.left, s.producer = 25, &producer{shares: make(chan int, 4)}
	for range 4 {
		s.send(10)
	}
	close(s.producer.shares)
	var got []int
	for n := range s.producer.shares {
		got = append(got, n)
	}
	if len(got) != 4 || got[0] != 10 || got[1] != 10 || got[2] != 5 || got[3] != 0 || s.left != 0 {
		t.Errorf("sent %v, %d left", got, s.left)
	}
}

// Orders differ in what the schedule says, and are alike in the rest.
func TestOrder(t *testing.T) {
	s := newShow()
	s.template = order{Topic: table, Dir: "lake", Brokers: []string{"a:1"}}
	a, b := s.order(Planned, 2, cut{rows: 7, snappy: true}), s.order(Anytime, 0, cut{rows: 8})
	if a.Name == b.Name || s.result.Sinks != 2 {
		t.Errorf("names %q and %q, %d sinks", a.Name, b.Name, s.result.Sinks)
	}
	if a.Rows != 7 || !a.Snappy || a.Hold != Planned || a.Nth != 2 || a.Age != sinkAge || a.Once || a.Reclaim != 0 {
		t.Errorf("%+v", a)
	}
	if b.Topic != table || b.Dir != "lake" || b.Brokers[0] != "a:1" || b.Rows != 8 || b.Snappy {
		t.Errorf("%+v", b)
	}
	one, err := a.schema()
	two, err2 := b.schema()
	if err := errors.Join(err, err2); err != nil || one.Layout == two.Layout {
		t.Errorf("layouts %+v and %+v, %v", one.Layout, two.Layout, err)
	}
}
