package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lakeweir/lakeweir/record"
)

// key names a partition.
type key struct {
	topic     string
	partition int32
}

func (k key) String() string { return fmt.Sprintf("%s/%d", k.topic, k.partition) }

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
}

// topicGrace is how long a topic may be missing from the metadata before its
// partitions stop: brokers forget topics for moments while they restart.
const topicGrace = 30 * time.Second

// router knows which broker leads which partition, and keeps one fetch loop
// for each of these brokers. All scheduling state, that of the partitions
// included, is under its mutex.
type router struct {
	c      Config
	client *client
	ctx    context.Context // of the loops
	loops  sync.WaitGroup
	lost   chan struct{} // a partition has no leader
	seen   func(layout)  // told of every layout

	mu       sync.Mutex
	order    []*Partition // by key
	byLeader map[int32]*loop
	latest   layout
	failed   error // of the last look for leaders
}

func newRouter(ctx context.Context, c Config, cl *client, seen func(layout)) *router {
	return &router{
		c: c, client: cl, ctx: ctx, seen: seen,
		lost: make(chan struct{}, 1), byLeader: make(map[int32]*loop),
	}
}

// state is what the router keeps of a partition.
type state struct {
	leader, epoch int32 // -1 unknown
	topicID       record.TopicID
	missing       time.Time // since when the topic is not there
	active        bool      // to be fetched
	seq           uint64    // of the last Seek: answers to an older one are dropped
	fetchAt       int64
	want          int32 // bytes to ask for
	queue         []chunk
	queued        int64
	marks         Marks
	err           error // comes after the queue
}

// chunk is what one fetch brought for one partition: whole batches.
type chunk struct {
	raw    []byte
	at     int
	charge int64
	filter filter
}

// attach makes a partition known. It is fetched once it has a position.
func (r *router) attach(p *Partition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.leader, p.epoch = -1, -1
	i, _ := slices.BinarySearchFunc(r.order, p.key, func(o *Partition, k key) int { return compareKeys(o.key, k) })
	r.order = slices.Insert(r.order, i, p)
	r.place(p, r.latest)
}

// detach forgets a partition and what was fetched for it.
func (r *router) detach(p *Partition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.order, p); i >= 0 {
		r.order = slices.Delete(r.order, i, i+1)
	}
	r.drop(p)
	p.active = false
}

// drop throws away what was fetched, and the answers still to come.
func (r *router) drop(p *Partition) {
	p.seq++
	for _, c := range p.queue {
		r.c.Room.Release(c.charge)
	}
	p.queue, p.queued = nil, 0
}

// reset fetches a partition from an offset on.
func (r *router) reset(p *Partition, offset int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(p)
	p.fetchAt, p.want, p.err, p.active = offset, r.c.PartitionBytes, nil, true
	r.wake(p)
}

// pop hands out the oldest chunk, or else the error that follows it.
func (r *router) pop(p *Partition) (c chunk, ok bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(p.queue) == 0 {
		return c, false, p.err
	}
	full := p.queued >= int64(r.c.PartitionBytes)
	c = p.queue[0]
	p.queue[0] = chunk{} // else its bytes stay as long as the slice
	p.queue = p.queue[1:]
	p.queued -= c.charge
	if full && p.queued < int64(r.c.PartitionBytes) {
		r.wake(p)
	}
	return c, true, nil
}

// fail stops the fetching of a partition; the reader is told after what is
// already there.
func (r *router) fail(p *Partition, err error) {
	p.active, p.err = false, err
	p.notify()
}

// wake makes the loop that fetches p look again.
func (r *router) wake(p *Partition) {
	if l := r.byLeader[p.leader]; l != nil {
		l.notify()
		return
	}
	r.ask()
}

// ask makes the refresher look for leaders.
func (r *router) ask() {
	select {
	case r.lost <- struct{}{}:
	default:
	}
}

// strand takes the leader of a partition away, so that it is looked for.
func (r *router) strand(p *Partition) {
	p.leader = -1
	if p.marks.Silent.IsZero() {
		p.marks.Silent = time.Now()
	}
	r.ask()
}

// answered notes that the leader of a partition answers.
func (r *router) answered(p *Partition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.marks.Silent = time.Time{}
}

// leaderOf returns the leader of a partition as last heard, -1 if unknown.
func (r *router) leaderOf(p *Partition) int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return p.leader
}

// refresh asks for the metadata of all topics and places the partitions.
func (r *router) refresh(ctx context.Context) error {
	l, err := r.client.survey(ctx, r.c)
	if err != nil {
		return err
	}
	r.learn(l)
	return nil
}

// learn places all partitions by a layout.
func (r *router) learn(l layout) {
	r.mu.Lock()
	r.latest = l
	for _, p := range r.order {
		r.place(p, l)
	}
	r.mu.Unlock()
	r.seen(l)
}

// place gives a partition the leader that a layout names, and that leader a
// loop. A layout older than what is known already is passed over.
func (r *router) place(p *Partition, l layout) {
	t, ok := l.topics[p.topic]
	at, there := t.partitions[p.partition]
	if !ok || t.code != 0 || !there {
		r.miss(p)
		return
	}
	p.missing = time.Time{}
	same := t.id == p.topicID && t.id != record.TopicID{}
	if at.leader < 0 || same && at.epoch < p.epoch {
		r.strand(p)
		return
	}
	p.leader, p.epoch, p.topicID = at.leader, at.epoch, t.id
	lp := r.byLeader[at.leader]
	if lp == nil {
		lp = &loop{router: r, node: at.leader, signal: make(chan struct{}, 1)}
		r.byLeader[at.leader] = lp
		r.loops.Go(func() { lp.run(r.ctx) })
	}
	lp.notify()
}

// miss notes that a partition is not in the metadata.
func (r *router) miss(p *Partition) {
	switch {
	case p.missing.IsZero():
		p.missing = time.Now()
	case time.Since(p.missing) > topicGrace && p.active:
		r.fail(p, fmt.Errorf("read %s: %w any more: it was deleted, or this user may not see it", p.key, ErrNoTopic))
		return
	}
	r.strand(p)
}

// away returns why no broker answers the router now, nil when one does. Whoever
// has a question waits then, so that brokers which come back, or refuse a
// login, are not asked by every partition at once.
func (r *router) away() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// Bounds of the pause between looks for leaders. It grows while partitions stay
// without one, and further while no broker answers.
const (
	minLook = 50 * time.Millisecond
	maxLook = time.Second
	maxAway = 3 * time.Second
	calm    = 2 * time.Second // without a look makes the next one come at once
)

// run looks for leaders when one is lost, and for new partitions from time to
// time. The first look is at once; what stays lost is looked for ever more
// slowly.
func (r *router) run(ctx context.Context) {
	tick := time.NewTicker(r.c.MetadataInterval)
	defer tick.Stop()
	var pause time.Duration
	var last time.Time
	var o outage
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.lost:
			limit := maxLook
			if o.is() {
				limit = maxAway
			}
			pause = min(max(2*pause, minLook), limit)
			if !o.is() && time.Since(last) > calm {
				pause = 0
			}
			if !sleep(ctx, jitter(pause)) {
				return
			}
		}
		err := r.client.explain.now(r.refresh(ctx))
		last = time.Now()
		if err != nil {
			r.ask()
		}
		r.mu.Lock()
		r.failed = err
		r.mu.Unlock()
		if !errors.Is(err, context.Canceled) {
			o.note(r, err)
			r.c.Progress.change(func(s *State) { s.Silent = err })
		}
	}
}

// outage is a time in which no broker answers. It begins with the second
// failure: the first may be of a connection that was cut while it was idle.
type outage struct {
	failures    int
	since, told time.Time
}

func (o *outage) is() bool { return o.failures > 1 }

// tellEvery is how often an outage is told of while it lasts.
const tellEvery = time.Minute

// note tells of the beginning and the end of an outage, and that it lasts.
func (o *outage) note(r *router, err error) {
	now := time.Now()
	was := o.is()
	if err == nil {
		o.failures = 0
	} else if o.failures++; o.failures == 1 {
		o.since = now
		r.c.Log.Debug("look for leaders failed", "error", err)
		return
	}
	r.mu.Lock()
	r.failed = err
	r.mu.Unlock()
	switch {
	case err == nil && was:
		r.c.Log.Info("brokers answer again", "brokers", r.c.Brokers, "after", now.Sub(o.since).Round(time.Millisecond))
	case err != nil && (!was || now.Sub(o.told) >= tellEvery):
		o.told = now
		r.c.Log.Warn("no broker answers, trying on", "brokers", r.c.Brokers, "for", now.Sub(o.since).Round(time.Second),
			"error", err)
	}
}
