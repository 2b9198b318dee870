package writer_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

// config is a writer of src to s that lays out as A.
func config(t testing.TB, s store.Store, src *tape) writer.Config {
	return writer.Config{Store: s, Table: "t", Source: src, Schema: schema(t), NewEncoder: lines{software: "A"}.encoder}
}

// starts returns the starts of the published ranges, and the next offset.
func starts(t *testing.T, s store.Store) []int64 {
	t.Helper()
	h, err := manifest.Read(context.Background(), s, 0)
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []int64
	for r, err := range h.All(context.Background(), s) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Start)
	}
	return append(all, h.Next)
}

// run starts a writer and returns a function that waits for its end.
func run(ctx context.Context, w *writer.Writers, c writer.Config) (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx, c) }()
	return func() error { return <-done }
}

// Each limit cuts at the record that reaches it, however the log groups its records.
func TestLimitsCut(t *testing.T) {
	f := func(step int64, l writer.Limits, want ...int64) {
		t.Helper()
		s := &memory.Store{}
		c := config(t, s, newTape(tableRows, step))
		c.Limits, c.Once = l, true
		if err := writer.New(nil).Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if got := starts(t, s); !slices.Equal(got, want) {
			t.Fatalf("ranges begin at %v, want %v", got, want)
		}
	}
	// 11 records: 0, 7 and so on are not records.
	f(5, writer.Limits{MaxRows: 11}, 0, 13, 26, 39, 40)
	f(40, writer.Limits{MaxRows: 11}, 0, 13, 26, 39, 40)
	f(1, writer.Limits{MaxRows: 11}, 0, 13, 26, 39, 40)
	// 44 bytes are 11 records of 4 bytes, or 7 and then 4 bad ones of 3 bytes and 4 more.
	f(5, writer.Limits{MaxBytes: 44}, 0, 14, 27, 40)
	f(40, writer.Limits{MaxBytes: 44}, 0, 14, 27, 40)
	// Nothing is reached: one batch at the end.
	f(5, writer.Limits{}, 0, 40)
	// A record larger than the limit is a batch of its own.
	f(20, writer.Limits{MaxBytes: 1}, append(records(), 40)...)
}

// records returns where batches of one record begin.
func records() []int64 {
	at := []int64{0}
	for o := range int64(tableRows) {
		if !absent(o) && o+1 < tableRows {
			at = append(at, o+1)
		}
	}
	return at
}

// A batch that is not full is cut when its first position is old enough, also
// when it has no records.
func TestAgeCuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, src := &memory.Store{}, newTape(3, 5)
		ctx, cancel := context.WithCancel(t.Context())
		c := config(t, s, src)
		c.Limits.MaxAge = time.Minute
		wait := run(ctx, writer.New(nil), c)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if got := starts(t, s); !slices.Equal(got, []int64{0}) {
			t.Fatalf("after 59 s: %v", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := starts(t, s); !slices.Equal(got, []int64{0, 3}) {
			t.Fatalf("after 61 s: %v", got)
		}
		// The next batch is young: its age counts from its own first position.
		time.Sleep(time.Hour)
		src.change(func() { src.n = 7 })
		time.Sleep(59 * time.Second)
		src.change(func() { src.n = 8 }) // offset 7 is not a record
		synctest.Wait()
		if got := starts(t, s); !slices.Equal(got, []int64{0, 3}) {
			t.Fatalf("59 s after the second batch began: %v", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := starts(t, s); !slices.Equal(got, []int64{0, 3, 8}) {
			t.Fatalf("61 s after the second batch began: %v", got)
		}
		// Positions without records move the head too, and take no file.
		src.change(func() { src.n = 14 })
		time.Sleep(2 * time.Minute)
		src.change(func() { src.n = 15 }) // offset 14 is not a record
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := starts(t, s); !slices.Equal(got, []int64{0, 3, 8, 14, 15}) {
			t.Fatalf("after a position without a record: %v", got)
		}
		cancel()
		if err := wait(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
}

// A Drain publishes what was collected and ends the writer without an error.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &memory.Store{}, writer.New(nil)
		wait := run(t.Context(), w, config(t, s, newTape(tableRows, 5)))
		synctest.Wait()
		w.Drain()
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		whole(t, s)
		// A writer that starts now ends at once.
		if err := w.Run(t.Context(), config(t, s, newTape(tableRows+5, 5))); err != nil {
			t.Fatal(err)
		}
	})
}

// When the budget is spent the largest open batch is cut, and what waits for
// memory goes on.
func TestPressureCuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, budget := &memory.Store{}, writer.NewBudget(5000, 0)
		w := writer.New(budget)
		c := config(t, s, newTape(20, 5))
		budget.Take(3100) // the source charged the batches that it is going to give
		ctx, cancel := context.WithCancel(t.Context())
		wait := run(ctx, w, c)
		synctest.Wait()
		if got := starts(t, s); !slices.Equal(got, []int64{0}) {
			t.Fatalf("before the pressure: %v", got)
		}
		granted := make(chan error)
		go func() { granted <- budget.Acquire(ctx, 2000) }()
		if err := <-granted; err != nil {
			t.Fatal(err)
		}
		if got := starts(t, s); !slices.Equal(got, []int64{0, 20}) {
			t.Fatalf("under pressure: %v", got)
		}
		cancel()
		_ = wait()
	})
}
