package simulation

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
)

// truth is what was seen of one partition, for what may never be taken back.
type truth struct {
	head  manifest.Head
	seen  bool
	top   int64        // the highest next offset of all generations
	files int64        // that heads name, of all generations
	out   map[row]bool // dead letters that were handed on

	skipped manifest.Range // pending last when one had it that calls records lost

	// Of the generation of the head.
	published map[row]bool // rows and dead letters that it names
	tales     []int        // of its log, that all of it agrees with
}

// failf notes the first thing that went wrong.
func (w *world) failf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
	}
}

// wrote checks a write that has happened, whoever made it.
func (w *world) wrote(key string, body []byte) {
	sum := sha256.Sum256(body)
	w.trace = append(w.trace, fmt.Sprintf("     %s is %x", key, sum[:4]))
	if id, err := manifest.ParseHeadKey(key); err == nil {
		w.moved(id)
		return
	}
	if !strings.HasPrefix(key, "data/") && !strings.HasPrefix(key, "dead/") {
		return
	}
	if old, ok := w.named[key]; ok && old != sum {
		w.failf("%s is published and was changed", key)
	}
	w.removed(key)
	_, rows, err := read(body)
	if err != nil {
		w.failf("%s: %v", key, err)
	}
	w.objects[key] = rows
	for _, r := range rows {
		at := place(key, r)
		if other, ok := w.listed[at]; ok {
			w.failf("row %d of log %d is in %s and in %s", r.offset, r.tag, other, key)
		}
		w.listed[at] = key
	}
}

// spot is a row under a folder of a partition: what a reader that only lists
// counts.
type spot struct {
	folder string
	row
}

func place(key string, r row) spot {
	n, dead, err := manifest.Parse(key)
	if err != nil {
		return spot{key, r}
	}
	return spot{fmt.Sprint(dead, n.Partition), r}
}

// deleted checks a DELETE: nothing that writers do removes what is published.
func (w *world) deleted(key string) {
	if _, ok := w.named[key]; ok {
		w.failf("%s is published and was deleted", key)
	}
	w.removed(key)
}

// removed forgets the rows of an object that is written anew, or deleted.
func (w *world) removed(key string) {
	for _, r := range w.objects[key] {
		delete(w.listed, place(key, r))
	}
	delete(w.objects, key)
}

// moved checks a head after a change.
func (w *world) moved(id int32) {
	t := w.truths[id]
	h, err := manifest.Read(context.Background(), w.mem, id)
	if err != nil {
		w.failf("head of %d: %v", id, err)
		return
	}
	was := t.head
	if t.seen {
		again := h.Generation == was.Generation
		switch {
		case h.Version != was.Version+1 || h.Epoch < was.Epoch || h.Generation < was.Generation:
			w.failf("head of %d went from version %d, epoch %d, generation %d to %d, %d, %d", id, was.Version, was.Epoch, was.Generation, h.Version, h.Epoch, h.Generation)
		case h.Epoch == was.Epoch && h.Owner.ID != was.Owner.ID:
			w.failf("epoch %d of %d has two owners", h.Epoch, id)
		case again && (h.Next < was.Next || h.First != was.First || h.Identity != was.Identity):
			w.failf("head of %d went back: [%d,%d) after [%d,%d)", id, h.First, h.Next, was.First, was.Next)
		case !again && (h.Next != h.First || h.Pending != nil):
			w.failf("generation %d of %d begins with %d published", h.Generation, id, h.Next-h.First)
		}
	}
	from := was.Next
	if !t.seen || h.Generation != was.Generation {
		from = h.First
		t.published, t.tales = map[row]bool{}, []int{w.byTag(h.Identity.Topic[0]).now()}
	}
	t.head, t.seen, t.top = h, true, max(t.top, h.Next)
	w.newRanges(t, from)
	w.lost(t, was)
	if h.Totals.Files != t.files {
		w.failf("head of %d counts %d files, it is %d", id, h.Totals.Files, t.files)
	}
}

// lost checks that records are called lost by those that may. The others may
// still publish what one of those has written.
func (w *world) lost(t *truth, was manifest.Head) {
	h := t.head
	host, err := strconv.Atoi(h.Owner.Host)
	if err != nil { // an operator
		return
	}
	if w.processes[host].skip {
		if h.Pending != nil {
			t.skipped = h.Pending.Range
		}
		return
	}
	if h.Totals.Lost > was.Totals.Lost && (was.Pending == nil || was.Pending.Range != t.skipped) {
		w.failf("process %d calls records of %d lost, and was told to stop", host, h.ID)
	}
}

// newRanges checks what a change of a head has published, from an offset on.
func (w *world) newRanges(t *truth, from int64) {
	h := t.head
	if h.Next == from {
		return
	}
	at := from
	for r, err := range h.All(context.Background(), w.mem) {
		if err != nil {
			w.failf("ranges of %d: %v", h.ID, err)
			return
		}
		if r.Generation != h.Generation || r.Next <= from {
			continue
		}
		// One without files may have grown out of the one before it.
		if r.Start != at && (len(r.Keys()) > 0 || r.Start > at) {
			w.failf("range %s of %d does not begin at %d", r.Range, h.ID, at)
		}
		w.newRange(t, r, at)
		at = r.Next
	}
	if at != h.Next {
		w.failf("ranges of %d end at %d, next is %d", h.ID, at, h.Next)
	}
}

// newRange checks what a range has from an offset on: its files are there as the
// head has them, and hold every record of the log once.
func (w *world) newRange(t *truth, r manifest.RangeRecord, from int64) {
	l := w.byTag(t.head.Identity.Topic[0])
	in := map[int64]byte{}
	var rows, dead int64
	for _, f := range slices.Concat(r.Data, r.Dead) {
		t.files++
		for _, x := range w.published(f) {
			if strings.HasPrefix(f.Key, "dead/") {
				dead++
				if !t.out[x] {
					w.failf("dead letter %d of %d is published and was not handed on", x.offset, t.head.ID)
				}
			} else {
				rows++
			}
			if t.published[x] {
				w.failf("row %d of %d is published twice", x.offset, t.head.ID)
			}
			if x.offset < r.Start || x.offset >= r.Next {
				w.failf("%s has row %d", f.Key, x.offset)
			}
			t.published[x], in[x.offset] = true, x.tag
		}
	}
	if len(r.Keys()) > 0 && (r.Counts.Rows != rows || r.Counts.Dead != dead) {
		w.failf("%s of %d counts %+v, it has %d rows and %d dead letters", r.Range, t.head.ID, r.Counts, rows, dead)
	}
	if r.Counts.Lost > 0 && r.Start+r.Counts.Lost > l.start {
		w.failf("%d offsets of %s are called lost, the log begins at %d", r.Counts.Lost, r.Range, l.start)
	}
	var why string
	t.tales = slices.DeleteFunc(t.tales, func(tale int) bool {
		if s := l.disagrees(tale, r, from, in); s != "" {
			why = s
			return true
		}
		return false
	})
	if len(t.tales) == 0 {
		w.failf("%s of %d: %s", r.Range, t.head.ID, why)
	}
}

// published returns the rows of a file that a head names, which has to be as
// the head says.
func (w *world) published(f manifest.File) []row {
	o, err := w.mem.Get(context.Background(), f.Key, store.Span{})
	if err != nil || sha256.Sum256(o.Body) != f.SHA256 || o.Size != f.Bytes {
		w.failf("published %s is not as its head says: %v", f.Key, err)
		return nil
	}
	w.named[f.Key] = f.SHA256
	_, rows, err := read(o.Body)
	if err != nil || int64(len(rows)) != f.Rows {
		w.failf("published %s has %d rows, its head says %d: %v", f.Key, len(rows), f.Rows, err)
	}
	return rows
}

// disagrees says why the rows of a range, by offset, cannot be all that a tale
// has from an offset on.
func (l *simLog) disagrees(tale int, r manifest.RangeRecord, from int64, in map[int64]byte) string {
	for o := r.Start; o < r.Next; o++ {
		tag, ok := in[o]
		holds := l.holds(tale, o)
		if ok && (!holds || tag != l.tagOf(tale, o)) {
			return fmt.Sprintf("row %d of era %d is no record of tale %d of log %d", o, tag, tale, l.tag)
		}
		lost := r.Counts.Lost > 0 && o < l.start && (from > r.Start || o < r.Start+r.Counts.Lost)
		if o >= from && !ok && holds && !lost && !l.gone[o] {
			return fmt.Sprintf("record %d of tale %d of log %d is in no file", o, tale, l.tag)
		}
	}
	return ""
}

// told checks what the brokers are told. A writer that was fenced by a reset may
// still tell what the generation before had.
func (w *world) told(id int32, next int64) {
	if t := w.truths[id]; next > t.top {
		w.failf("the brokers are told %d of %d, %d is published", next, id, t.top)
	}
}

// byTag returns a log, also one that was deleted.
func (w *world) byTag(tag byte) *simLog { return w.all[tag] }
