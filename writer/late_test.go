package writer_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/store/storetest"
	"github.com/lakeweir/lakeweir/writer"
)

// A PUT arrives at the store after its writer gave it up: before the very next
// call, some calls later, or when all is done.
func TestLatePut(t *testing.T) {
	for _, p := range []process{{"A", 11, true}, {"A", 11, false}, {"B", 8, true}, {"R", 8, true}} {
		work := p.work(t)
		for _, call := range storetest.Whole(t, work, whole) {
			if call.Op != fault.Put {
				continue
			}
			for _, later := range []int64{1, 2, 3, 5, 8, 1000} {
				t.Run(fmt.Sprintf("%s/load=%v/%d+%d", p.software, p.load, call.N, later), func(t *testing.T) {
					mem := &memory.Store{}
					arrive := func() error { return nil }
					s := fault.Wrap(mem, func(_ context.Context, c fault.Call) fault.Action {
						switch c.N {
						case call.N:
							return fault.Action{Late: func(f func() error) { arrive = f }}
						case call.N + later:
							return fault.Action{Before: func(context.Context) error {
								_ = arrive() // nobody waits for the answer
								return nil
							}}
						}
						return fault.Action{}
					})
					if err := work(t.Context(), s); err != nil {
						t.Fatal(err)
					}
					_ = arrive()
					whole(t, mem)
				})
			}
		}
	}
}

// Runs that are killed and started again leave the same bytes under data/ and
// dead/ as one that is not disturbed, when the cuts are the same: with the real
// encoder, on one machine.
func TestSameBytesAfterCrash(t *testing.T) {
	want := schema(t)
	work := func(ctx context.Context, s store.Store) error {
		src := newTape(tableRows, 5)
		return writer.New(nil).Run(ctx, writer.Config{
			Store: s, Table: "t", Source: src, Schema: want, Once: true, Limits: writer.Limits{MaxRows: 11},
		})
	}
	undisturbed := &memory.Store{}
	if err := work(t.Context(), undisturbed); err != nil {
		t.Fatal(err)
	}
	objects := contents(t, undisturbed)
	if len(objects) != 4 {
		t.Fatalf("%d objects, want 4", len(objects))
	}
	storetest.EveryCrash(t, work, work, func(t *testing.T, s store.Store) {
		if !maps.Equal(contents(t, s), objects) {
			t.Fatalf("objects %v differ from %v, or their bytes do", slices.Sorted(maps.Keys(contents(t, s))), slices.Sorted(maps.Keys(objects)))
		}
	})
}

// contents returns the objects under data/ and dead/ by key.
func contents(t *testing.T, s store.Store) map[string]string {
	t.Helper()
	objects := map[string]string{}
	for i, err := range s.List(context.Background(), "d", "") {
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := manifest.Parse(i.Key); err != nil {
			t.Fatal(err)
		}
		o, err := s.Get(context.Background(), i.Key, store.Span{})
		if err != nil {
			t.Fatal(err)
		}
		objects[i.Key] = string(o.Body)
	}
	return objects
}
