package dedup

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func window(t testing.TB, o Options) *Window {
	t.Helper()
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func keep(t testing.TB, w *Window, id ID, offset, time int64) {
	t.Helper()
	if err := w.Keep(id, offset, time); err != nil {
		t.Fatal(err)
	}
}

func TestOffsetEdge(t *testing.T) {
	w := window(t, Options{Offsets: 10})
	a := Hash(b("a"))
	keep(t, w, a, 100, 0)
	f := func(offset int64, want bool) {
		t.Helper()
		if at, dup := w.Seen(a, offset); dup != want || dup && at != 100 {
			t.Errorf("at %d: duplicate %v of %d, want %v of 100", offset, dup, at, want)
		}
	}
	f(101, true)  // the next record
	f(110, true)  // the last that counts
	f(111, false) // one further
	f(109, true)  // a look does not move the window
	f(math.MaxInt64, false)
}

func TestTimeEdge(t *testing.T) {
	w := window(t, Options{Time: 10 * time.Millisecond, MaxIDs: 100})
	a, c := Hash(b("a")), Hash(b("c"))
	f := func(id ID, want bool) {
		t.Helper()
		if _, dup := w.Seen(id, 99); dup != want {
			t.Errorf("duplicate %v, want %v", dup, want)
		}
	}
	keep(t, w, a, 0, 1000)
	keep(t, w, Hash(b("x")), 1, 1010)
	f(a, true) // as old as a row may be
	// A row that is late is in the window too, if it is not too late.
	keep(t, w, c, 2, 1000)
	keep(t, w, Hash(b("d")), 3, 999)
	f(c, true)
	f(Hash(b("d")), false)
	// A millisecond later.
	keep(t, w, Hash(b("y")), 4, 1011)
	f(a, false)
	f(c, false)
	// It may be kept again, and counts from then.
	keep(t, w, a, 5, 1011)
	if at, dup := w.Seen(a, 6); !dup || at != 5 {
		t.Errorf("duplicate %v of %d, want of 5", dup, at)
	}
	// A row without a time does not move the window, and is not in it.
	keep(t, w, Hash(b("e")), 6, -1)
	f(Hash(b("e")), false)
	f(a, true)
	// A row from far in the future that is kept moves it for good.
	keep(t, w, Hash(b("f")), 7, math.MaxInt64)
	f(a, false)
	f(Hash(b("f")), true)
	if n := w.Len(); n != 1 {
		t.Errorf("%d ids, want that of the future", n)
	}
}

// Times at the ends of what fits are in order too.
func TestTimesAtTheEnds(t *testing.T) {
	w := window(t, Options{Time: 10 * time.Millisecond, MaxIDs: 100})
	for i, at := range []int64{math.MinInt64, math.MinInt64 + 5, math.MinInt64 + 11} {
		keep(t, w, ID{byte(i)}, int64(i), at)
	}
	for i, want := range []bool{false, true, true} {
		if _, dup := w.Seen(ID{byte(i)}, 9); dup != want {
			t.Errorf("row %d: duplicate %v, want %v", i, dup, want)
		}
	}
}

func TestOptions(t *testing.T) {
	f := func(o Options, words string) {
		t.Helper()
		w, err := New(o)
		size, err2 := o.Memory()
		if words == "" {
			if err != nil || err2 != nil || size != w.Memory() {
				t.Errorf("%+v: %v, %v; %d bytes promised, %d taken", o, err, err2, size, w.Memory())
			}
			return
		}
		if err == nil || err2 == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%+v: got %v and %v, want words on %q", o, err, err2, words)
		}
	}
	f(Options{Offsets: 1}, "")
	f(Options{Offsets: 1_000_000}, "")
	f(Options{Time: time.Hour, MaxIDs: 1}, "")
	f(Options{Time: 24 * time.Hour, MaxIDs: 1_000_000}, "")
	f(Options{}, "either")
	f(Options{Offsets: 1, Time: time.Hour, MaxIDs: 1}, "either")
	f(Options{Offsets: -1}, "negative")
	f(Options{Time: -time.Hour, MaxIDs: 1}, "negative")
	f(Options{Time: time.Hour}, "max_ids")
	f(Options{Time: time.Hour, MaxIDs: -1}, "max_ids")
	f(Options{Offsets: 1, MaxIDs: 1}, "max_ids")
	f(Options{Time: time.Microsecond, MaxIDs: 1}, "milliseconds")
	f(Options{Offsets: maxIDs + 1}, "do not fit")
	f(Options{Time: time.Hour, MaxIDs: maxIDs + 1}, "do not fit")
}

// Ten million ids take less than 420 MB.
func TestMemoryOfTenMillion(t *testing.T) {
	for _, o := range []Options{{Offsets: 10_000_000}, {Time: time.Hour, MaxIDs: 10_000_000}} {
		if n, err := o.Memory(); err != nil || n > 420_000_000 {
			t.Errorf("%+v: %d bytes, %v", o, n, err)
		}
	}
}

// A window that is full says so and is as it was; it never forgets early.
func TestFull(t *testing.T) {
	w := window(t, Options{Time: 10 * time.Millisecond, MaxIDs: 3})
	for i := range 3 {
		keep(t, w, ID{byte(i)}, int64(i), 1000+int64(i))
	}
	err := w.Keep(ID{9}, 3, 1005)
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "3") || !strings.Contains(err.Error(), "10ms") {
		t.Errorf("got %v", err)
	}
	for i := range 3 {
		if _, dup := w.Seen(ID{byte(i)}, 9); !dup {
			t.Errorf("id %d was forgotten", i)
		}
	}
	// A row that puts out the oldest of them has room.
	keep(t, w, ID{9}, 3, 1011)
	// Rows that are restored meet the limit too.
	again := window(t, Options{Time: 10 * time.Millisecond, MaxIDs: 3})
	for i := range 4 {
		err = again.Restore(ID{byte(i)}, int64(i), 1000)
	}
	if !errors.Is(err, ErrFull) {
		t.Errorf("restore: got %v, want ErrFull", err)
	}
}

func TestRollbackBringsBackWhatWasReplaced(t *testing.T) {
	for _, o := range []Options{{Offsets: 10}, {Time: 10 * time.Millisecond, MaxIDs: 9}} {
		w := window(t, o)
		a := Hash(b("a"))
		keep(t, w, a, 100, 100)
		m := w.Mark()
		keep(t, w, Hash(b("x")), 111, 111) // puts a out
		keep(t, w, a, 112, 112)            // takes its place
		if err := w.Rollback(m); err != nil {
			t.Fatal(err)
		}
		if at, dup := w.Seen(a, 105); !dup || at != 100 {
			t.Errorf("%+v: duplicate %v of %d, want of 100", o, dup, at)
		}
		if _, dup := w.Seen(Hash(b("x")), 105); dup || w.Len() != 1 {
			t.Errorf("%+v: a row that was taken back is remembered", o)
		}
	}
}

// Calls that do not follow from each other are defects, and change nothing.
func TestOrder(t *testing.T) {
	w := window(t, Options{Offsets: 10})
	f := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrOrder) {
			t.Errorf("%s: got %v, want ErrOrder", what, err)
		}
	}
	f("negative offset", w.Keep(ID{1}, -1, 0))
	f("no offset", w.Restore(ID{1}, math.MaxInt64, 0))
	f("negative begin", w.Begin(-1, 0))
	zero := w.Mark()
	keep(t, w, ID{1}, 5, 0)
	one := w.Mark()
	f("same offset", w.Keep(ID{2}, 5, 0))
	f("lower offset", w.Keep(ID{2}, 4, 0))
	f("begin late", w.Begin(9, 0))
	f("restore late", w.Restore(ID{2}, 3, 0))
	keep(t, w, ID{2}, 6, 0)
	two := w.Mark()
	if err := w.Commit(one); err != nil {
		t.Fatal(err)
	}
	f("back before what is committed", w.Rollback(zero))
	f("commit goes back", w.Commit(zero))
	f("restore after a commit", w.Restore(ID{3}, 3, 0))
	if err := w.Rollback(one); err != nil {
		t.Fatal(err)
	}
	f("forward to what was taken back", w.Rollback(two))
	if n := w.Len(); n != 1 {
		t.Errorf("%d ids, want 1", n)
	}
}

// Rows that wait for Commit are never forgotten: the table grows for them, and
// only for them.
func TestTableGrowsForOpenRanges(t *testing.T) {
	o := Options{Offsets: 100}
	w := window(t, o)
	size := w.table.memory()
	for i := range int64(10_000) {
		keep(t, w, ID{byte(i), byte(i >> 8)}, i, 0)
		if err := w.Commit(w.Mark()); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.table.memory(); got != size {
		t.Errorf("%d bytes with nothing open, want %d", got, size)
	}
	again := window(t, o)
	for i := range int64(10_000) {
		if err := again.Restore(ID{byte(i), byte(i >> 8)}, i, 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := again.table.memory(); got != size {
		t.Errorf("%d bytes when restored, want %d", got, size)
	}
	m := w.Mark()
	for i := range int64(1000) {
		keep(t, w, ID{byte(i), byte(i >> 8), 1}, 10_000+i, 0)
	}
	if got := w.table.memory(); got <= size {
		t.Errorf("%d bytes with 1000 rows open, want more than %d", got, size)
	}
	if err := w.Rollback(m); err != nil {
		t.Fatal(err)
	}
	for i := int64(9_900); i < 10_000; i++ {
		if at, dup := w.Seen(ID{byte(i), byte(i >> 8)}, 10_000); !dup || at != i {
			t.Fatalf("the row at %d is forgotten", i)
		}
	}
}

// The table against a map, with ids that share slots and removals in between.
func TestTable(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for _, times := range []bool{false, true} {
		tab, want := newTable(50, times), map[ID]entry{}
		for range 50_000 {
			id := ID{byte(rnd.IntN(100)), 15: byte(rnd.IntN(2))}
			slot, ok := tab.find(id)
			if _, in := want[id]; ok != in {
				t.Fatalf("%v is found: %v, want %v", id, ok, in)
			}
			if ok && rnd.IntN(3) == 0 {
				tab.remove(slot)
				delete(want, id)
				continue
			}
			if !ok && tab.full() {
				if tab.limit > 150 {
					continue
				}
				tab.grow()
			}
			e := newEntry(rnd.Int64N(1000), 0)
			if times {
				e.time = rnd.Int64() - rnd.Int64()
			}
			tab.set(id, e)
			want[id] = e
		}
		for id, e := range want {
			if slot, ok := tab.find(id); !ok || tab.entry(slot) != e {
				t.Fatalf("%v: found %v, want %+v", id, ok, e)
			}
		}
		if tab.used != len(want) {
			t.Errorf("%d used, want %d", tab.used, len(want))
		}
	}
}

// Ids that were chosen alike are spread all the same, and differently each time.
func TestCraftedIDs(t *testing.T) {
	longest := 0
	tab := newTable(10_000, false)
	for i := range uint64(10_000) {
		var id ID
		binary.BigEndian.PutUint64(id[8:], i<<40) // equal but for a few bits
		slot, _ := tab.find(id)
		longest = max(longest, tab.distance(tab.home(split(id)), slot))
		tab.set(id, newEntry(int64(i), 0))
	}
	if longest > 500 {
		t.Errorf("a probe of %d slots", longest)
	}
	other, same := newTable(10_000, false), 0
	for i := range uint64(1000) {
		if tab.home(0, i) == other.home(0, i) {
			same++
		}
	}
	if same > 20 {
		t.Errorf("%d of 1000 ids have one slot in two tables: the seed does nothing", same)
	}
}

func TestSeenAndKeepDoNotAllocate(t *testing.T) {
	w := window(t, Options{Offsets: 1000})
	at := int64(0)
	w.undo = make([]change, 0, 1)
	n := testing.AllocsPerRun(5000, func() {
		id := ID{byte(at), byte(at >> 8)}
		if _, dup := w.Seen(id, at); !dup {
			keep(t, w, id, at, 0)
		}
		if err := w.Commit(w.Mark()); err != nil {
			t.Fatal(err)
		}
		at++
	})
	if n != 0 {
		t.Errorf("%v allocations for a record", n)
	}
}

// BenchmarkFresh is the worst case: every id is new, in a full window.
func BenchmarkFresh(b *testing.B) {
	for name, o := range map[string]Options{"offsets": {Offsets: 1_000_000}, "time": {Time: 1_000_000 * time.Millisecond, MaxIDs: 1_100_000}} {
		b.Run(name, func(b *testing.B) {
			w := window(b, o)
			rnd := rand.New(rand.NewPCG(1, 2))
			at := int64(0)
			next := func() {
				var id ID
				binary.BigEndian.PutUint64(id[:8], rnd.Uint64())
				if _, dup := w.Seen(id, at); !dup {
					keep(b, w, id, at, at)
				}
				if at++; at%10_000 == 0 {
					if err := w.Commit(w.Mark()); err != nil {
						b.Fatal(err)
					}
				}
			}
			for range 1_000_000 {
				next()
			}
			for b.Loop() {
				next()
			}
		})
	}
}
