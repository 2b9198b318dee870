package writer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

// shaky is a store that takes its time, and fails before or after the call at
// random. A PUT that its caller gave up may still arrive.
type shaky struct {
	store.Store
	mu  sync.Mutex
	rng *rand.Rand
}

func (s *shaky) roll(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.IntN(n)
}

var errShaky = errors.New("500")

func (s *shaky) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	delay := time.Duration(s.roll(400)) * time.Millisecond
	fate := s.roll(10)
	if fate == 0 {
		return store.Info{}, errShaky
	}
	type result struct {
		info store.Info
		err  error
	}
	done := make(chan result, 1)
	go func() {
		time.Sleep(delay)
		info, err := s.Store.Put(context.WithoutCancel(ctx), key, body, cond)
		done <- result{info, err}
	}()
	select {
	case r := <-done:
		if fate == 1 {
			return store.Info{}, errShaky
		}
		return r.info, r.err
	case <-ctx.Done():
		return store.Info{}, ctx.Err()
	}
}

// told remembers the offsets that a broker was told, which never go down and
// are never above what is published.
type told struct {
	t     *testing.T
	s     store.Store
	mu    sync.Mutex
	since map[string]int64 // by process
}

func (o *told) by(name string) func(context.Context, int64) error {
	return func(ctx context.Context, next int64) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		h, err := manifest.Read(ctx, o.s, 0)
		if err != nil || next > h.Next || next < o.since[name] {
			o.t.Errorf("%s told %d, published is %d, told before %d: %v", name, next, h.Next, o.since[name], err)
		}
		o.since[name] = next
		return nil
	}
}

// Two processes hand a partition to and fro under load, often before anything
// is published, sometimes both believe that it is theirs, and the store is slow
// and fails: all is published once, and all memory is given back.
func TestRebalances(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { rebalances(t, seed) })
		})
	}
}

func rebalances(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	mem := &memory.Store{}
	s := &shaky{Store: mem, rng: rand.New(rand.NewPCG(seed, 2))}
	o := &told{t: t, s: mem, since: map[string]int64{}}
	var budgets [2]*writer.Budget
	var processes [2]*writer.Writers
	for i := range processes {
		budgets[i] = writer.NewBudget(3000, 0)
		processes[i] = writer.New(budgets[i])
	}
	software := []string{"A", "R", "B", "a"}
	one := func(ctx context.Context, i int, rows int64, layout string) error {
		c := config(t, s, nil)
		c.Source = fetching{newTape(tableRows, 1+rows%4), budgets[i]}
		c.NewEncoder = lines{software: layout}.encoder
		c.Limits = writer.Limits{MaxRows: rows, MaxAge: time.Second}
		c.Confirmed = func(ctx context.Context) error { return ctx.Err() }
		c.Published, c.Once = o.by(fmt.Sprint("process ", i)), true
		return processes[i].Run(ctx, c)
	}
	for round := 0; ; round++ {
		var wg sync.WaitGroup
		both := rng.IntN(4) == 0
		for i := range processes {
			if !both && i != rng.IntN(2) && i != round/3%2 {
				continue
			}
			rows, layout := 1+rng.Int64N(9), software[rng.IntN(len(software))]
			if round >= 30 {
				layout = "A" // each change of it supersedes names, which take time to fill
			}
			after := time.Duration(rng.IntN(3000+50*round)) * time.Millisecond
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				if err := one(ctx, i, rows, layout); err != nil && ctx.Err() == nil {
					t.Errorf("round %d, process %d: %v", round, i, err)
				}
			})
		}
		wg.Wait()
		consistent(t, mem)
		if h, err := manifest.Read(t.Context(), mem, 0); round == 400 || err == nil && h.Next == tableRows {
			break
		}
	}
	time.Sleep(2 * time.Minute) // what is kept expires, what is late arrives
	whole(t, mem)
	for i, b := range budgets {
		if used := b.Used(); used != 0 {
			t.Errorf("process %d: %d bytes are still charged", i, used)
		}
	}
}
