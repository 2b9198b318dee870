package writer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

// fetching is a tape that waits for memory before it reads, as a source does.
type fetching struct {
	*tape
	budget *writer.Budget
}

// fetchBytes is what a read of it may take.
const fetchBytes = 500

func (f fetching) Read(ctx context.Context) (*record.Batch, error) {
	if err := f.budget.Acquire(ctx, fetchBytes); err != nil {
		return nil, err
	}
	b, err := f.tape.Read(ctx)
	if err == nil {
		f.budget.Take(b.Size())
	}
	f.budget.Release(fetchBytes)
	return b, err
}

// tiny is less than one read and one batch.
const tiny = 600

// A pending range larger than all memory, made by a run that had more, is
// finished: by one partition, and by several that all hold a part of theirs.
func TestPendingRangeIsLargerThanMemory(t *testing.T) {
	for _, n := range []int{1, 5} {
		synctest.Test(t, func(t *testing.T) {
			budget := writer.NewBudget(tiny, tiny)
			w := writer.New(budget)
			done := make(chan struct{})
			for range n {
				go func() {
					defer func() { done <- struct{}{} }()
					s := pending(t, "A", 1)
					c := config(t, s, nil)
					c.Source = fetching{newTape(tableRows, 2), budget}
					toEnd(t, w, c)
					whole(t, s)
				}()
			}
			for range n {
				<-done
			}
			if used := budget.Used(); used != 0 {
				t.Fatalf("%d bytes are still charged", used)
			}
		})
	}
}

// Fifty partitions share memory that is less than one read: batches are small,
// and all is written.
func TestTinyMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := writer.NewBudget(tiny, tiny)
		w := writer.New(budget)
		done := make(chan store.Store)
		const n = 50
		for i := range n {
			go func() {
				s := &memory.Store{}
				defer func() { done <- s }()
				c := config(t, s, nil)
				c.Table = fmt.Sprintf("t%d", i)
				c.Source = fetching{newTape(tableRows, 2), budget}
				toEnd(t, w, c)
			}()
		}
		for range n {
			whole(t, <-done)
		}
		if used := budget.Used(); used != 0 {
			t.Fatalf("%d bytes are still charged", used)
		}
	})
}

// The open batch of a partition that went elsewhere does not keep the others
// from reading.
func TestKeptBatchGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := writer.NewBudget(2000, 0)
		w := writer.New(budget)
		gone := config(t, &memory.Store{}, nil)
		gone.Table, gone.Source = "gone", fetching{newTape(15, 5), budget}
		leave(t, w, gone, time.Second)
		if budget.Used() == 0 {
			t.Fatal("the open batch was not kept")
		}
		begin := time.Now()
		if err := budget.Acquire(t.Context(), 2000); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > time.Second {
			t.Fatalf("memory was free after %v", took)
		}
		budget.Release(2000)
		// Nothing is lost by that.
		gone.Source = fetching{newTape(tableRows, 5), budget}
		toEnd(t, w, gone)
	})
}

// A large fetch is not passed over for ever by small ones of other brokers.
func TestMemoryIsGivenInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := writer.NewBudget(32, 0)
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 3 {
			go func() {
				time.Sleep(time.Duration(i) * time.Second)
				for ctx.Err() == nil && budget.Acquire(ctx, 8) == nil {
					time.Sleep(3 * time.Second)
					budget.Release(8)
				}
			}()
		}
		time.Sleep(time.Minute)
		large, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		if err := budget.Acquire(large, 24); err != nil {
			t.Fatalf("24 of 32: %v", err)
		}
		budget.Release(24)
		// One that gives up leaves the line.
		hasty, stop := context.WithTimeout(ctx, time.Millisecond)
		defer stop()
		if err := budget.Acquire(hasty, 32); err == nil {
			t.Fatal("32 of 32 while 8 are taken")
		}
		if err := budget.Acquire(ctx, 8); err != nil {
			t.Fatal(err)
		}
		cancel()
		time.Sleep(4 * time.Second)
	})
}
