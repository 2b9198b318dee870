package simulation

import (
	"context"
	"slices"
	"time"

	"github.com/lakeweir/lakeweir/manifest"
)

// How long a run is.
const (
	leastSteps = 100 // with faults
	moreSteps  = 300
	oldTables  = 30   // one seed in so many begins with a table that has many ranges
	calmSteps  = 4000 // without, until all must be published
)

// run drives the world: a time of troubles, then peace, in which everything has
// to be published.
func (w *world) run() {
	old := w.random.IntN(oldTables) == 0
	for id := range w.partitions {
		p := w.launch()
		if old {
			p.rows = 1
			w.logs[id].end += 60
		}
		w.assign(id, p)
	}
	if old {
		w.age()
	}
	for range leastSteps + w.random.IntN(moreSteps) {
		w.settle()
		if w.failure != "" {
			return
		}
		w.act()
	}
	w.settle()
	w.calm()
	for range calmSteps {
		w.settle()
		if w.failure != "" || w.done() {
			break
		}
		w.peace()
	}
	w.settle()
	if w.failure == "" && !w.done() {
		w.failf("not all is published after %d steps: %s", calmSteps, w.state())
	}
}

// age makes an old table: heads that are about to seal their ranges away, or
// have just done so.
func (w *world) age() {
	wanted := 54 + int64(w.random.IntN(10))
	for range calmSteps {
		w.settle()
		if w.failure != "" || w.truths[0].head.Totals.Ranges >= wanted {
			break
		}
		w.peace()
	}
}

// proceed lets one call go.
func (w *world) proceed() {
	c, ok := pick(w, w.ready())
	if !ok {
		w.pass(100 * time.Millisecond)
		return
	}
	v := w.verdict(c)
	w.step(c.kind, "%v: %v", c, v)
	if v != pass {
		w.counts["fault "+v.String()]++
	}
	w.release(c, v)
}

// pass lets time go by.
func (w *world) pass(d time.Duration) {
	w.step("time", "%v", d)
	time.Sleep(d)
}

func (w *world) log() (int32, *simLog) {
	id := int32(w.random.IntN(int(w.partitions)))
	return id, w.logs[id]
}

func (w *world) grow() {
	id, l := w.log()
	l.end += 1 + int64(w.random.IntN(16))
	w.step("grow", "%d to %d", id, l.end)
}

// land lets a write arrive that its client gave up.
func (w *world) land() {
	if len(w.puts) == 0 {
		return
	}
	i := w.random.IntN(len(w.puts))
	p := w.puts[i]
	w.puts = append(w.puts[:i:i], w.puts[i+1:]...)
	w.step("land", "%s", p.key)
	p.do()
}

// move gives a partition to another process, or back to one that had it.
func (w *world) move() {
	id, _ := w.log()
	p, ok := pick(w, w.alive())
	if !ok || len(w.alive()) < 2 || w.random.IntN(4) == 0 {
		p = w.launch()
	}
	w.step("move", "%d to %d", id, p.id)
	w.assign(id, p)
}

// bounce takes a partition from its process and gives it back, as a rebalance
// does in which nothing changes.
func (w *world) bounce() {
	id, _ := w.log()
	p := w.owners[id]
	if p.dead || p.works[id] == nil {
		return
	}
	w.step("bounce", "%d of %d", id, p.id)
	w.settle()
	p.letGo()
	p.works[id].cancel()
	w.settle()
	p.begin(id)
}

// crash ends a process, and another takes what it had, sooner or later.
func (w *world) crash() {
	p, ok := pick(w, w.alive())
	if !ok {
		return
	}
	w.step("crash", "%d", p.id)
	p.crash()
	for id := range w.partitions {
		if w.owners[id] == p {
			w.assign(id, w.launch())
		}
	}
}

// pause stops a process, or lets one go on. What it had is given away.
func (w *world) pause() {
	p, ok := pick(w, w.alive())
	if !ok {
		return
	}
	p.paused = !p.paused
	w.step("pause", "%d: %v", p.id, p.paused)
	for id := range w.partitions {
		if p.paused && w.owners[id] == p {
			w.owners[id] = w.launch()
			w.owners[id].begin(id)
		}
	}
}

// drain asks a process to end well. Its partitions go to a new one when it has.
func (w *world) drain() {
	p, ok := pick(w, w.alive())
	if !ok {
		return
	}
	w.step("drain", "%d", p.id)
	p.writers.Drain()
	for id := range w.partitions {
		if w.owners[id] == p {
			w.assign(id, w.launch())
		}
	}
}

// compact removes records of the log that are not published.
func (w *world) compact() {
	id, l := w.log()
	w.step("compact", "%d", id)
	for o := l.start; o < l.end-2; o++ {
		if w.random.IntN(4) == 0 {
			l.gone[o] = true
		}
	}
}

// retain moves the start of the log.
func (w *world) retain() {
	id, l := w.log()
	// Not past a cut: what was there before it could not be told any more.
	if end := slices.Min(append(l.cuts, l.end)); l.start < end {
		l.start += 1 + int64(w.random.IntN(int(end-l.start)))
	}
	w.step("retain", "%d from %d", id, l.start)
}

// lead begins a leader epoch.
func (w *world) lead() {
	id, l := w.log()
	l.ends = append(l.ends, l.end)
	w.step("lead", "%d epoch %d from %d", id, len(l.ends), l.end)
}

// truncate is an unclean election: the end of the log is lost, and other
// records come to be there.
func (w *world) truncate() {
	id, l := w.log()
	if l.start == l.end {
		return
	}
	at, was := l.end-1-int64(w.random.IntN(int(min(l.end-l.start, 12)))), l.now()
	l.cut(at, w.newTag())
	if t := w.truths[id]; t.seen && t.head.Identity == l.identity() && t.head.Next <= at && slices.Contains(t.tales, was) {
		t.tales = append(t.tales, l.now())
	}
	l.end += int64(w.random.IntN(16))
	w.step("truncate", "%d at %d, then to %d", id, at, l.end)
}

// recreate deletes a topic and creates one of its name.
func (w *world) recreate() {
	id, old := w.log()
	w.create(id)
	w.logs[id].end = int64(w.random.IntN(int(2*old.end) + 2))
	w.step("recreate", "%d with %d", id, w.logs[id].end)
}

// calm ends all faults: late writes arrive, paused processes go on, an operator
// resets what belongs to a log that is gone, and one process is told to write
// all partitions, whatever was lost.
func (w *world) calm() {
	w.down, w.mute, w.mood.fault = 0, 0, 0
	w.step("calm", "%s", w.state())
	for len(w.puts) > 0 {
		w.land()
	}
	for _, p := range w.processes {
		p.paused = false
	}
	w.settle()
	last := w.launch()
	last.skip, last.rows = true, 30
	for id := range w.partitions {
		if w.stuck(id) {
			w.reset(id)
		}
		for _, p := range w.alive() {
			if k := p.works[id]; k != nil {
				k.cancel()
			}
		}
		w.settle()
		w.assign(id, last)
	}
}

// stuck reports whether the head of a partition is of another log than there
// is: all that helps is a reset.
func (w *world) stuck(id int32) bool {
	t, l := w.truths[id], w.logs[id]
	if !t.seen {
		return false
	}
	if t.head.Identity != l.identity() {
		return true
	}
	reached, end := t.head.Next, int64(-1)
	if t.head.Pending != nil {
		reached = t.head.Pending.Next
	}
	if t.head.LeaderEpoch >= 0 {
		end = l.epochEnd(t.head.LeaderEpoch)
	}
	return end >= 0 && end < t.head.Next || reached > l.end && end < reached
}

// reset begins a new generation.
func (w *world) reset(id int32) {
	l := w.logs[id]
	if !w.truths[id].seen {
		return
	}
	w.step("reset", "%d to log %d", id, l.tag)
	_, err := manifest.Reset(context.Background(), direct{w}, manifest.Claimant{
		Table: "t", Partition: id, Identity: l.identity(),
		First: func(context.Context) (int64, error) { return l.start, nil },
	})
	if err != nil {
		w.failf("reset %d: %v", id, err)
	}
}

// direct is the store without a gate.
type direct struct{ w *world }

// peace lets a call go, or time.
func (w *world) peace() {
	if c, ok := pick(w, w.ready()); ok {
		w.step(c.kind, "%v: pass", c)
		w.release(c, pass)
		return
	}
	for id := range w.partitions {
		// What was adopted may have shown that the log was truncated.
		if p := w.owners[id]; p.skip && p.works[id].ended && w.stuck(id) {
			w.reset(id)
			p.begin(id)
		}
	}
	w.pass(300 * time.Millisecond)
}

// done reports whether all logs are published to their ends.
func (w *world) done() bool {
	for id := range w.partitions {
		if t := w.truths[id]; !t.seen || t.head.Identity != w.logs[id].identity() || t.head.Next != w.logs[id].end || t.head.Pending != nil {
			return false
		}
	}
	return true
}
