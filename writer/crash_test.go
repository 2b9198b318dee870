package writer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/storetest"
	"github.com/lakeweir/lakeweir/writer"
)

// schema is the one of all tests here; the encoder does not look at it.
func schema(t testing.TB) manifest.Schema {
	s, err := manifest.NewSchema(manifest.Declared{Value: manifest.RawValue})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// process is a writer that runs until all is published.
type process struct {
	software string // of lines
	rows     int64  // that cut a batch
	load     bool   // the next batch is always cut before one is written; else never
}

// work returns the process as the crash harness runs it.
func (p process) work(t *testing.T) storetest.Work {
	want := schema(t)
	return func(ctx context.Context, s store.Store) error {
		src := newTape(tableRows, 5)
		c := writer.Config{
			Store: s, Table: "t", Source: src, Schema: want, Once: true,
			Limits: writer.Limits{MaxRows: p.rows},
		}
		enc := lines{software: p.software}
		if p.load {
			g := &gate{Store: s, end: tableRows, laid: map[int64]bool{}, more: make(chan struct{})}
			c.Store, enc.laidOut = g, g.laidOut
		} else {
			src.quiet, c.Published = p.rows, src.published
		}
		c.NewEncoder = enc.encoder
		return writer.New(nil).Run(ctx, c)
	}
}

// gate is a Store that holds the PUT of a data file until the range behind it
// is being encoded: what a store does that is slower than the encoder.
type gate struct {
	store.Store
	end     int64 // of the log
	mu      sync.Mutex
	laid    map[int64]bool // starts of ranges
	more    chan struct{}
	pending manifest.Range // finished before anything else is cut
}

func (g *gate) laidOut(r manifest.Range) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.laid[r.Start] = true
	close(g.more)
	g.more = make(chan struct{})
}

func (g *gate) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	o, err := g.Store.Get(ctx, key, span)
	if h, derr := manifest.DecodeHead(o.Body); err == nil && derr == nil && h.Pending != nil {
		g.mu.Lock()
		g.pending = h.Pending.Range
		g.mu.Unlock()
	}
	return o, err
}

func (g *gate) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	if n, _, err := manifest.Parse(key); err == nil {
		g.wait(ctx, n.Range)
	}
	return g.Store.Put(ctx, key, body, cond)
}

func (g *gate) wait(ctx context.Context, r manifest.Range) {
	for r.Next < g.end {
		g.mu.Lock()
		more, ready := g.more, g.laid[r.Next] || g.pending == r
		g.mu.Unlock()
		if ready {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

// then returns work that first checks what it finds, as it may be at any instant.
func then(t *testing.T, w storetest.Work) storetest.Work {
	return func(ctx context.Context, s store.Store) error {
		consistent(t, s)
		return w(ctx, s)
	}
}

// pairs are the ways in which one writer follows another.
var pairs = []struct {
	name         string
	first, again process
}{
	{"Same", process{"A", 11, false}, process{"A", 11, false}},
	{"SameLoad", process{"A", 11, true}, process{"A", 11, true}},
	{"OtherCuts", process{"A", 8, true}, process{"A", 5, true}},
	{"OtherBytes", process{"A", 11, false}, process{"a", 8, true}},
	{"OtherLayout", process{"A", 11, true}, process{"B", 8, false}},
	{"Layouts", process{"B", 8, true}, process{"C", 11, true}},
	{"Random", process{"R", 8, true}, process{"R", 8, true}},
}

// A writer stops at each of its store calls, in each of three ways, and the
// next one goes on.
func TestCrash(t *testing.T) {
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			storetest.EveryCrash(t, p.first.work(t), then(t, p.again.work(t)), whole)
		})
	}
}

// The answer of each write is lost in turn, and the process goes on without a restart.
func TestLostAnswer(t *testing.T) {
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) { storetest.EveryLost(t, p.first.work(t), whole) })
	}
}

// A writer is paused before each of its store calls, another one takes over and
// finishes, and then the first goes on.
func TestPause(t *testing.T) {
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			storetest.EveryPause(t, p.first.work(t), then(t, p.again.work(t)), whole)
		})
	}
}

// Three writers: the first crashes at each of its calls, the second is paused
// at each of its own, the third runs whole meanwhile. Two do not see every fault.
func TestThreeWriters(t *testing.T) {
	trios := []struct {
		name                 string
		first, second, third process
	}{
		{"ABA", process{"A", 11, true}, process{"B", 11, false}, process{"A", 8, true}},
		{"AaA", process{"A", 11, false}, process{"a", 8, true}, process{"A", 11, false}},
		{"BCA", process{"B", 8, true}, process{"C", 11, false}, process{"A", 8, false}},
		{"RRR", process{"R", 11, true}, process{"R", 11, true}, process{"R", 11, true}},
	}
	for _, trio := range trios {
		first, second, third := trio.first.work(t), trio.second.work(t), trio.third.work(t)
		calls := len(storetest.Whole(t, first, whole))
		for n := int64(1); n <= int64(calls); n++ {
			t.Run(fmt.Sprint(trio.name, "/crash/", n), func(t *testing.T) {
				storetest.EveryPause(t, func(ctx context.Context, s store.Store) error {
					storetest.Crash(t, s, n, first) // it may also end fenced, or whole
					return second(ctx, s)
				}, then(t, third), whole)
			})
		}
	}
}
