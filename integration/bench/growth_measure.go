package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"time"

	"github.com/lakeweir/lakeweir/internal/verify"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// above is a store with the objects of another below it: what is written stays
// here, so a table can be measured again as it was. It counts.
type above struct {
	memory.Store
	below store.Store

	mu             sync.Mutex
	puts, gets     int // gets are all calls that do not write
	wrote, fetched int64
}

// Get is of store.Store.
func (a *above) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	o, err := a.Store.Get(ctx, key, span)
	if errors.Is(err, store.ErrNotExist) {
		o, err = a.below.Get(ctx, key, span)
	}
	a.count(len(o.Body))
	return o, err
}

// Stat is of store.Store.
func (a *above) Stat(ctx context.Context, key string) (store.Info, error) {
	i, err := a.Store.Stat(ctx, key)
	if errors.Is(err, store.ErrNotExist) {
		i, err = a.below.Stat(ctx, key)
	}
	a.count(0)
	return i, err
}

// List is of store.Store; it lists what is below.
func (a *above) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	a.count(0)
	return a.below.List(ctx, prefix, after)
}

// Put is of store.Store. The first change of an object that is below has no
// condition: nobody else is here.
func (a *above) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	a.mu.Lock()
	a.puts++
	a.wrote += int64(len(body))
	a.mu.Unlock()
	if _, err := a.Store.Stat(ctx, key); errors.Is(err, store.ErrNotExist) && !cond.Absent() {
		cond = store.Blind()
	}
	return a.Store.Put(ctx, key, body, cond)
}

func (a *above) count(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gets++
	a.fetched += int64(n)
}

// claim claims the partition of a table.
func claim(ctx context.Context, s store.Store) (*manifest.Log, error) {
	return manifest.Claim(ctx, s, manifest.Claimant{Table: tableName, Identity: tableLog})
}

// commits is how many commits are measured together: as many as fill 64 lists,
// so that each table is met at all sizes of its head, whatever it began with.
const commits = 24 * treeFan

// commitCost publishes more files in a table: with the plan of each in the
// publish before it, as under load, or with a plan of its own, as when it is
// quiet. The figures are for one commit.
func commitCost(ctx context.Context, t *table, riding bool) (micros float64, a *above, err error) {
	records, plans := make([]manifest.RangeRecord, commits), make([]*manifest.Plan, commits)
	for i := range records {
		if records[i], err = t.ranged(t.n + i); err != nil {
			return 0, nil, err
		}
		plans[i] = &manifest.Plan{Range: records[i].Range, Schema: records[i].Schema, Keys: records[i].Keys()}
	}
	a = &above{below: t}
	l, err := claim(ctx, a)
	if err != nil {
		return 0, nil, err
	}
	if riding {
		if err := l.Plan(ctx, *plans[0]); err != nil {
			return 0, nil, err
		}
	}
	a.puts, a.gets, a.wrote = 0, 0, 0
	took, err := spent(func() error {
		for i, r := range records {
			var rider *manifest.Plan
			switch {
			case riding && i+1 < commits:
				rider = plans[i+1]
			case riding: // the last one has none
			default:
				if err := l.Plan(ctx, *plans[i]); err != nil {
					return err
				}
			}
			if err := l.Publish(ctx, r, rider); err != nil {
				return err
			}
		}
		return nil
	})
	return float64(took.Microseconds()) / commits, a, err
}

// claimCost claims a table many times. The figures are for one claim; kib is
// what the heap holds of a claim after it.
func claimCost(ctx context.Context, t *table) (micros, kib float64, a *above, err error) {
	const claims = 64
	logs := make([]*manifest.Log, claims)
	stores := make([]above, claims)
	heap := liveHeap()
	took, err := spent(func() (err error) {
		for i := range logs {
			stores[i].below = t
			logs[i], err = claim(ctx, &stores[i])
			if err != nil {
				return err
			}
		}
		return nil
	})
	a = &above{puts: stores[0].puts, gets: stores[0].gets, wrote: stores[0].wrote, fetched: stores[0].fetched}
	clear(stores) // what was written is the store's
	held := liveHeap() - heap
	runtime.KeepAlive(logs)
	return float64(took.Microseconds()) / claims, float64(held) / 1024 / claims, a, err
}

// liveHeap returns the bytes of the heap that are in use.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what the first one found for finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// statusCost reads what `lakeweir status` reads of a table: its partitions,
// their heads, when the newest file was written.
func statusCost(ctx context.Context, t *table) (micros float64, a *above, err error) {
	const times = 64
	took, err := spent(func() error {
		for range times {
			a = &above{below: t}
			for h, err := range manifest.Heads(ctx, a) {
				if err != nil {
					return err
				}
				key := h.HeadKey()
				if n := len(h.Ranges); n > 0 {
					key = h.Ranges[n-1].Keys()[0]
				}
				if _, err := a.Stat(ctx, key); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return float64(took.Microseconds()) / times, a, err
}

// verified is what `lakeweir verify` of a table costs.
type verified struct {
	cpu, clock time.Duration
	mib        float64 // of the heap at the end
	calls      int
}

func verifyCost(ctx context.Context, t *table) (v verified, err error) {
	a := &above{below: t}
	heap, begin := liveHeap(), time.Now()
	v.cpu, err = spent(func() error {
		for f, err := range verify.Run(ctx, a, verify.Options{Table: tableName, Progress: func(done, total int64) {
			if done == int64(t.n) {
				v.clock = time.Since(begin)
				v.mib = float64(liveHeap()-heap) / (1 << 20)
			}
		}}) {
			if err != nil {
				return err
			}
			return fmt.Errorf("the table is not whole: %v", f)
		}
		return nil
	})
	v.calls = a.gets
	return v, err
}
