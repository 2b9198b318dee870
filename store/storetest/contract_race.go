package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/lakeweir/lakeweir/store"
)

var raceChecks = []check{
	{"RaceIfAbsent", func(s subject) error {
		for n := range raceKeys {
			if err := s.race(fmt.Sprintf("r/%d", n), store.IfAbsent()); err != nil {
				return err
			}
		}
		return nil
	}},
	{"RaceIfMatch", func(s subject) error {
		for n := range raceKeys {
			key := fmt.Sprintf("r/%d", n%2) // two rounds on each key
			i, err := s.put(key, fmt.Sprint("begin ", n), store.Blind())
			if err != nil {
				return err
			}
			if err := s.race(key, store.IfMatch(i.ETag)); err != nil {
				return err
			}
		}
		return nil
	}},
	{"RaceCounter", raceCounter},
}

// readerChecks race readers with one writer.
var readerChecks = []check{
	{"RaceReaders", raceReaders},
}

// Stores that pass one request at a time were seen to let several of 32 racing
// writers win (versitygw before v1.8.0, SeaweedFS before 4.17).
const (
	raceKeys    = 4
	raceWriters = 16
)

// race lets many put under one condition, of whom one may win.
func (s subject) race(key string, cond store.Cond) error {
	errs := make([]error, raceWriters)
	var start, end sync.WaitGroup
	start.Add(1)
	for w := range errs {
		end.Go(func() {
			start.Wait()
			_, errs[w] = s.put(key, fmt.Sprint("writer ", w), cond)
		})
	}
	start.Done()
	end.Wait()
	winner := -1
	for w, err := range errs {
		switch {
		case err == nil && winner >= 0:
			return fmt.Errorf("%s: both writer %d and writer %d won", key, winner, w)
		case err == nil:
			winner = w
		case !errors.Is(err, store.ErrConflict):
			return fmt.Errorf("%s: writer %d: err %w, want %w", key, w, err, store.ErrConflict)
		}
	}
	if winner < 0 {
		return fmt.Errorf("%s: none of %d writers won", key, raceWriters)
	}
	return s.holds(key, fmt.Sprint("writer ", winner))
}

// raceCounter adds to one object from several writers, each of whom reads,
// writes under IfMatch and tries again on conflict: no addition may be lost.
func raceCounter(s subject) error {
	const writers, adds = 4, 5
	if _, err := s.put("n", "", store.IfAbsent()); err != nil {
		return err
	}
	errs := make([]error, writers)
	var end sync.WaitGroup
	for w := range errs {
		end.Go(func() {
			for range adds {
				if errs[w] = s.add("n", string(rune('a'+w))); errs[w] != nil {
					return
				}
			}
		})
	}
	end.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	o, err := s.Get(s.ctx, "n", store.Span{})
	if err != nil {
		return err
	}
	for w := range writers {
		if got := strings.Count(string(o.Body), string(rune('a'+w))); got != adds {
			return fmt.Errorf("n is %q: %d additions of writer %d, want %d", o.Body, got, w, adds)
		}
	}
	return nil
}

func (s subject) add(key, what string) error {
	for {
		o, err := s.Get(s.ctx, key, store.Span{})
		if err != nil {
			return err
		}
		_, err = s.put(key, string(o.Body)+what, store.IfMatch(o.ETag))
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// raceReaders reads while an object is written over: every reader sees one
// whole body and what belongs to it.
func raceReaders(s subject) error {
	long, short := strings.Repeat("long ", 20_000), strings.Repeat("short ", 10_000)
	if _, err := s.put("k", long, store.IfAbsent()); err != nil {
		return err
	}
	done := make(chan struct{})
	errs := make([]error, 4)
	var readers sync.WaitGroup
	for r := range errs {
		readers.Go(func() {
			for over := false; errs[r] == nil && !over; {
				select {
				case <-done:
					over = true // and once more: the reader may have come late
				default:
				}
				errs[r] = s.readsOneOf("k", long, short)
			}
		})
	}
	var err error
	for n := 0; n < 20 && err == nil; n++ {
		_, err = s.put("k", []string{short, long}[n%2], store.Blind())
	}
	close(done)
	readers.Wait()
	return errors.Join(append(errs, err)...)
}

func (s subject) readsOneOf(key string, bodies ...string) error {
	o, err := s.Get(s.ctx, key, store.Span{})
	if err != nil {
		return err
	}
	for _, body := range bodies {
		if string(o.Body) == body {
			return describes(o.Info, key, body)
		}
	}
	return fmt.Errorf("a reader saw %d bytes that nobody wrote", len(o.Body))
}
