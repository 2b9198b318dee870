package writer_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

// charged is a tape that charges a budget for its batches and counts them.
type charged struct {
	*tape
	budget *writer.Budget
	reads  int
}

func (c *charged) Read(ctx context.Context) (*record.Batch, error) {
	b, err := c.tape.Read(ctx)
	if err == nil {
		c.budget.Take(b.Size())
		c.reads++
	}
	return b, err
}

// twice runs a partition until its batch is open, lets its assignment end, does
// between, and runs it to its end.
func twice(t *testing.T, between func(*memory.Store)) (s *memory.Store, reads int) {
	t.Helper()
	s = &memory.Store{}
	budget := writer.NewBudget(0, 0)
	w := writer.New(budget)
	src := &charged{tape: newTape(20, 5), budget: budget}
	c := config(t, s, src.tape)
	c.Source = src
	ctx, cancel := context.WithCancel(t.Context())
	wait := run(ctx, w, c)
	synctest.Wait()
	cancel()
	if err := wait(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if budget.Used() == 0 {
		t.Fatal("the open batch was not kept")
	}
	between(s)
	wait = run(t.Context(), w, c)
	synctest.Wait()
	src.change(func() { src.n = tableRows })
	synctest.Wait()
	w.Drain()
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if used := budget.Used(); used != 0 {
		t.Fatalf("%d bytes are still charged", used)
	}
	whole(t, s)
	return s, src.reads
}

// A partition that comes back to the same process goes on with its open batch,
// without a new claim and without reading anything twice.
func TestOpenBatchIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, reads := twice(t, func(*memory.Store) { time.Sleep(30 * time.Second) })
		if h := head(t, s); h.Epoch != 1 || !slices.Equal(starts(t, s), []int64{0, tableRows}) {
			t.Fatalf("epoch %d, ranges %v", h.Epoch, starts(t, s))
		}
		if reads != tableRows/5 {
			t.Fatalf("%d batches were read, want %d", reads, tableRows/5)
		}
	})
}

// After keepFor the memory is given back and the partition is claimed afresh.
func TestOpenBatchExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, reads := twice(t, func(*memory.Store) { time.Sleep(2 * time.Minute) })
		if h := head(t, s); h.Epoch != 2 || reads != 4+tableRows/5 {
			t.Fatalf("epoch %d, %d batches read", h.Epoch, reads)
		}
	})
}

// Somebody else had the partition meanwhile: the open batch is dropped.
func TestOpenBatchIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := twice(t, func(s *memory.Store) {
			c := config(t, s, newTape(13, 5))
			c.Once = true
			if err := writer.New(nil).Run(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		})
		if h := head(t, s); h.Epoch != 3 || !slices.Equal(starts(t, s), []int64{0, 13, tableRows}) {
			t.Fatalf("epoch %d, ranges %v", h.Epoch, starts(t, s))
		}
	})
}

// fence claims the only partition in the name of another process.
func fence(t *testing.T, s *memory.Store) {
	t.Helper()
	_, err := manifest.Claim(t.Context(), s, manifest.Claimant{Table: "t", Identity: identity})
	if err != nil {
		t.Fatal(err)
	}
}

// A fenced writer ends, and drops what it had, unless its assignment is
// confirmed anew: then it claims again and goes on from the head.
func TestFenced(t *testing.T) {
	f := func(confirmed func(context.Context) error, want error, wantEpoch uint64) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := &memory.Store{}
			w := writer.New(nil)
			c := config(t, s, newTape(tableRows, 5))
			c.Confirmed = confirmed
			wait := run(t.Context(), w, c)
			synctest.Wait()
			fence(t, s)
			c.Limits.MaxAge = time.Minute
			time.Sleep(2 * time.Minute) // the age cuts, and the plan meets the fence
			synctest.Wait()
			w.Drain()
			if err := wait(); !errors.Is(err, want) {
				t.Fatalf("err %v, want %v", err, want)
			}
			if h := head(t, s); h.Epoch != wantEpoch {
				t.Fatalf("epoch %d, want %d", h.Epoch, wantEpoch)
			}
			if want == nil {
				whole(t, s)
			}
		})
	}
	// Static assignment: nobody can confirm it.
	f(nil, manifest.ErrFenced, 2)
	// The group says that the partition is another's.
	f(func(context.Context) error { return errors.New("not yours") }, manifest.ErrFenced, 2)
	// The group confirms it.
	f(func(context.Context) error { return nil }, nil, 3)
}
