package writer_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

// harbour counts the bytes of the objects that are being put, in all tables.
type harbour struct {
	mu          sync.Mutex
	bytes, most int
	n, mostN    int // objects
}

// pier is the Store of one table, which takes a second for an object.
type pier struct {
	store.Store
	of *harbour
}

func (p pier) Put(ctx context.Context, key string, body []byte, c store.Cond) (store.Info, error) {
	if strings.HasPrefix(key, "data/") {
		h := p.of
		h.mu.Lock()
		h.bytes, h.n = h.bytes+len(body), h.n+1
		h.most, h.mostN = max(h.most, h.bytes), max(h.mostN, h.n)
		h.mu.Unlock()
		time.Sleep(time.Second)
		h.mu.Lock()
		h.bytes, h.n = h.bytes-len(body), h.n-1
		h.mu.Unlock()
	}
	return p.Store.Put(ctx, key, body, c)
}

// Twenty partitions of a slow store share memory for the objects of a few:
// objects are put side by side as far as they fit, and all is written. With
// room for less than one object it is one by one, riders and all.
func TestObjectsShareMemory(t *testing.T) {
	for _, room := range []int64{1, 3000} {
		synctest.Test(t, func(t *testing.T) {
			budget, h := writer.NewBudget(0, room), &harbour{}
			w := writer.New(budget)
			const n = 20
			done := make(chan store.Store)
			for i := range n {
				go func() {
					s := &memory.Store{}
					defer func() { done <- s }()
					c := config(t, s, nil)
					c.Table, c.Store, c.Source = fmt.Sprintf("t%d", i), pier{s, h}, newTape(tableRows, 2)
					c.Limits.MaxRows = 5
					toEnd(t, w, c)
				}()
			}
			for range n {
				whole(t, <-done)
			}
			if room == 1 && h.mostN != 1 {
				t.Errorf("%d objects were put at once in the memory of one", h.mostN)
			}
			if room > 1 && (h.mostN < 2 || h.most > int(room)) {
				t.Errorf("%d objects of %d bytes were put at once in memory of %d", h.mostN, h.most, room)
			}
			if held := budget.Objects(); held != 0 {
				t.Errorf("%d bytes are still charged", held)
			}
		})
	}
}
