package writer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

// failing is a tape whose log answers with an error while there is one.
type failing struct {
	*tape
	mu  sync.Mutex
	err error
}

func (f *failing) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *failing) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *failing) Bounds(ctx context.Context) (start, end int64, err error) {
	if err := f.failed(); err != nil {
		return 0, 0, err
	}
	return f.tape.Bounds(ctx)
}

func (f *failing) Identity(ctx context.Context) (record.Identity, error) {
	if err := f.failed(); err != nil {
		return record.Identity{}, err
	}
	return f.tape.Identity(ctx)
}

func (f *failing) Read(ctx context.Context) (*record.Batch, error) {
	b, err := f.tape.Read(ctx)
	if f.failed() != nil && err != nil && ctx.Err() == nil {
		err = f.failed()
	}
	return b, err
}

// The topic is deleted and does not come back: the partition ends with an
// error that says so, whether records wait for their plan or not.
func TestTopicIsDeleted(t *testing.T) {
	gone := fmt.Errorf("topic %q: %w", "t", writer.ErrNoLog)
	f := func(age time.Duration, wantNext int64) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s, src := &memory.Store{}, &failing{tape: newTape(20, 5)}
			c := config(t, s, nil)
			c.Source, c.Limits.MaxAge = src, age
			wait := run(t.Context(), writer.New(nil), c)
			time.Sleep(10 * time.Second)
			src.fail(gone)
			src.change(func() { src.start = 1000 }) // no Read succeeds
			begin := time.Now()
			if err := wait(); !errors.Is(err, writer.ErrNoLog) {
				t.Fatalf("err %v, want %v", err, writer.ErrNoLog)
			}
			if took := time.Since(begin); took > time.Minute {
				t.Fatalf("it ended after %v", took)
			}
			if h := head(t, s); h.Next != wantNext || h.Pending != nil {
				t.Fatalf("next %d, pending %v, want %d", h.Next, h.Pending, wantNext)
			}
		})
	}
	f(time.Second, 20) // all was published before
	f(time.Hour, 0)    // nothing was
}

// A topic that is away for a moment, as while brokers restart, stops nothing.
func TestTopicIsAwayForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, src := &memory.Store{}, &failing{tape: newTape(tableRows, 5), err: writer.ErrNoLog}
		time.AfterFunc(20*time.Second, func() { src.fail(nil) })
		c := config(t, s, nil)
		c.Source = src
		toEnd(t, writer.New(nil), c)
		whole(t, s)
	})
}

// A leader that is away when a partition is claimed is waited for; any other
// error ends the claim.
func TestNoAnswerAtClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, src := &memory.Store{}, &failing{tape: newTape(tableRows, 5), err: fmt.Errorf("bounds: %w", writer.ErrNoAnswer)}
		time.AfterFunc(10*time.Minute, func() { src.fail(nil) })
		c := config(t, s, nil)
		c.Source = deaf{src}
		toEnd(t, writer.New(nil), c)
		whole(t, s)
		denied := errors.New("denied")
		src.fail(denied)
		if err := writer.New(nil).Run(t.Context(), c); !errors.Is(err, denied) {
			t.Fatalf("err %v, want %v", err, denied)
		}
	})
}

// deaf is a log whose Bounds fail, and nothing else.
type deaf struct{ *failing }

func (d deaf) Identity(ctx context.Context) (record.Identity, error) { return d.tape.Identity(ctx) }

// unstable is a log whose end is lower than what was read of it: an open
// transaction holds it back, as after a change of isolation.
type unstable struct {
	*tape
	end int64
}

func (u unstable) Bounds(context.Context) (start, end int64, err error) { return 0, u.end, nil }

// What was read is still in the log: the leader epoch reaches as far. That is
// not another log, and no reason to reset anything.
func TestEndIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := finished(t, 20)
		c := config(t, s, nil)
		c.Source = unstable{newTape(tableRows, 5), 15}
		w := writer.New(nil)
		wait := run(t.Context(), w, c)
		time.Sleep(2 * time.Minute)
		w.Drain()
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		whole(t, s) // what follows is read as soon as it is there
	})
}

// A Drain does not wait for a log that does not answer, when nothing of it is
// in hand.
func TestDrainWithoutAnswer(t *testing.T) {
	f := func(wrap func(*failing) writer.Source) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			src := &failing{tape: newTape(tableRows, 5), err: fmt.Errorf("no leader: %w", writer.ErrNoAnswer)}
			c := config(t, &memory.Store{}, nil)
			c.Source = wrap(src)
			w := writer.New(nil)
			wait := run(t.Context(), w, c)
			time.Sleep(time.Hour)
			w.Drain()
			begin := time.Now()
			if err := wait(); !errors.Is(err, writer.ErrNoAnswer) {
				t.Fatalf("err %v, want %v", err, writer.ErrNoAnswer)
			}
			if took := time.Since(begin); took > 15*time.Second {
				t.Fatalf("it ended after %v", took)
			}
		})
	}
	f(func(src *failing) writer.Source { return src })
	f(func(src *failing) writer.Source { return deaf{src} })
}
