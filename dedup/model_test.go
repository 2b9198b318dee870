package dedup

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// row is a record of the streams of the model.
type row struct {
	id           ID
	offset, time int64
	dead         bool // a dead letter: it never enters the window
}

// reference decides over a whole stream: which rows are kept.
func reference(o Options, stream []row) (kept []row) {
	largest := int64(-1 << 62)
	for _, r := range stream {
		if !r.dead && !slices.ContainsFunc(kept, func(k row) bool {
			return k.id == r.id && (o.Offsets > 0 && r.offset-k.offset <= o.Offsets || o.Time > 0 && k.time >= largest-o.Time.Milliseconds())
		}) {
			kept, largest = append(kept, r), max(largest, r.time)
		}
	}
	return kept
}

// stream returns rows with ids that come again near, far and at window edges,
// holes between offsets, and times that wander, go back and at times leap.
func stream(rnd *rand.Rand, n int) []row {
	rows := make([]row, n)
	offset, now := int64(rnd.IntN(1000)), int64(rnd.IntN(1000))
	ids := 1 + rnd.IntN(2*n)
	for i := range rows {
		if rnd.IntN(10) == 0 {
			offset += int64(rnd.IntN(20))
		}
		at := now + int64(rnd.IntN(30)) - 15
		switch rnd.IntN(60) {
		case 0:
			at += 500 // from the future
		case 1:
			at = -1 // without a time
		}
		rows[i] = row{id: ID{byte(rnd.IntN(ids)), 1}, offset: offset, time: at, dead: rnd.IntN(20) == 0}
		offset++
		now += int64(rnd.IntN(5))
	}
	return rows
}

func options(rnd *rand.Rand) Options {
	if rnd.IntN(2) == 0 {
		return Options{Offsets: 1 + rnd.Int64N(60)}
	}
	return Options{Time: time.Duration(rnd.IntN(100)+1) * time.Millisecond, MaxIDs: 1000}
}

// writer decides as the sink does: ranges at random cuts, several of them not
// yet published, of which some are thrown away and decided again; and now and
// then it dies and rebuilds its window from what is published.
type writer struct {
	t         *testing.T
	rnd       *rand.Rand
	options   Options
	window    *Window
	stream    []row
	at        int   // of the next record to decide
	open      []cut // decided ranges
	published []row
}

type cut struct {
	first int // record
	begin Mark
	kept  []row
}

func (w *writer) decide() {
	c := cut{first: w.at, begin: w.window.Mark()}
	for range 1 + w.rnd.IntN(25) {
		if w.at == len(w.stream) {
			break
		}
		r := w.stream[w.at]
		w.at++
		if r.dead {
			continue
		}
		if _, dup := w.window.Seen(r.id, r.offset); dup {
			continue
		}
		if err := w.window.Keep(r.id, r.offset, r.time); err != nil {
			w.t.Fatal(err)
		}
		c.kept = append(c.kept, r)
	}
	w.open = append(w.open, c)
}

// publish makes the oldest decided range count.
func (w *writer) publish() {
	w.published = append(w.published, w.open[0].kept...)
	w.open = w.open[1:]
	end := w.window.Mark()
	if len(w.open) > 0 {
		end = w.open[0].begin
	}
	if err := w.window.Commit(end); err != nil {
		w.t.Fatal(err)
	}
}

// giveUp throws away the decisions from a random open range on.
func (w *writer) giveUp() {
	i := w.rnd.IntN(len(w.open))
	if err := w.window.Rollback(w.open[i].begin); err != nil {
		w.t.Fatal(err)
	}
	w.at, w.open = w.open[i].first, w.open[:i]
}

// restart rebuilds the window from the published rows, in an order of its own.
func (w *writer) restart() {
	if len(w.open) > 0 {
		w.at, w.open = w.open[0].first, nil
	}
	w.window = rebuilt(w.t, w.rnd, w.options, w.published)
}

func rebuilt(t *testing.T, rnd *rand.Rand, o Options, rows []row) *Window {
	t.Helper()
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if rnd.IntN(2) == 0 { // a table that has to sweep and to grow
		w.table = newTable(1+rnd.IntN(30), o.Time > 0)
	}
	rows = slices.Clone(rows)
	slices.Reverse(rows) // newest first
	told := len(rows) > 0 && rnd.IntN(2) == 0
	if told {
		newest := slices.MaxFunc(rows, func(a, b row) int { return int(a.time - b.time) })
		if err := w.Begin(rows[0].offset+1, newest.time); err != nil {
			t.Fatal(err)
		}
	}
	if rnd.IntN(2) == 0 {
		rnd.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	for _, r := range rows {
		if told && !w.Covers(r.offset, r.time) {
			continue // what is not covered need not be read
		}
		if err := w.Restore(r.id, r.offset, r.time); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// Whatever the cuts, retries and restarts: the rows are those of the reference.
func TestModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range uint64(1000) {
		modelRun(t, rand.New(rand.NewPCG(seed, i)))
		if t.Failed() {
			t.Fatalf("stream %d of seed %d", i, seed)
		}
	}
}

func modelRun(t *testing.T, rnd *rand.Rand) {
	t.Helper()
	w := &writer{t: t, rnd: rnd, options: options(rnd), stream: stream(rnd, 20+rnd.IntN(180))}
	w.restart()
	for w.at < len(w.stream) || len(w.open) > 0 {
		switch k := rnd.IntN(20); {
		case k == 0:
			w.restart()
		case k < 3 && len(w.open) > 0:
			w.giveUp()
		case k < 10 && len(w.open) > 0:
			w.publish()
		case w.at < len(w.stream):
			w.decide()
		}
	}
	want := reference(w.options, w.stream)
	if !slices.Equal(w.published, want) {
		t.Errorf("%+v: %d rows, want %d", w.options, len(w.published), len(want))
	}
	sameState(t, rnd, w)
}

// sameState compares the window at the end with one that is rebuilt.
func sameState(t *testing.T, rnd *rand.Rand, w *writer) {
	t.Helper()
	other := rebuilt(t, rnd, w.options, w.published)
	if w.window.Len() != other.Len() {
		t.Errorf("%+v: %d ids, rebuilt %d", w.options, w.window.Len(), other.Len())
	}
	last := w.stream[len(w.stream)-1].offset
	for b := range 256 {
		id := ID{byte(b), 1}
		for _, at := range []int64{last + 1, last + 30} {
			a, dup := w.window.Seen(id, at)
			b, dup2 := other.Seen(id, at)
			if a != b || dup != dup2 {
				t.Errorf("%+v: id %v at %d: %d %v, rebuilt %d %v", w.options, id[0], at, a, dup, b, dup2)
			}
		}
	}
}

// The limit of a window in time is met at the very row that would pass it,
// whatever was forgotten when.
func TestLimitModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	met := 0
	for i := range uint64(1000) {
		rnd := rand.New(rand.NewPCG(seed, i))
		o := Options{Time: time.Duration(rnd.IntN(100)+1) * time.Millisecond, MaxIDs: 5 + rnd.IntN(30)}
		w, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		largest, kept := int64(-1<<62), []row{}
		for _, r := range stream(rnd, 200) {
			if _, dup := w.Seen(r.id, r.offset); dup {
				continue
			}
			edge := max(largest, r.time) - o.Time.Milliseconds()
			inside := slices.DeleteFunc(append(slices.Clone(kept), r), func(k row) bool { return k.time < edge })
			if rnd.IntN(4) == 0 { // rows that are taken back leave no trace in the count
				m := w.Mark()
				if err := w.Keep(ID{2: 1}, r.offset, r.time+400); err != nil && !errors.Is(err, ErrFull) {
					t.Fatal(err)
				}
				w.Len()
				if err := w.Rollback(m); err != nil {
					t.Fatal(err)
				}
			}
			err := w.Keep(r.id, r.offset, r.time)
			if full := len(inside) > o.MaxIDs; full != errors.Is(err, ErrFull) {
				t.Fatalf("stream %d of seed %d: %d ids of %d, got %v", i, seed, len(inside), o.MaxIDs, err)
			} else if full {
				met++
				continue // the row is not kept, the window as before
			}
			kept, largest = append(kept, r), max(largest, r.time)
			if w.Len() != len(inside) && rnd.IntN(4) == 0 {
				t.Fatalf("stream %d of seed %d: %d ids, want %d", i, seed, w.Len(), len(inside))
			}
			if rnd.IntN(10) == 0 {
				if err := w.Commit(w.Mark()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if met == 0 {
		t.Error("no stream met its limit")
	}
}
