package source

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// fetchSlack is what a fetch may take beyond the time that the broker may hold
// it: the way there and back for a full response.
const fetchSlack = 15 * time.Second

// minWait is the first pause between fetches while partitions are left out
// because their readers are behind. It doubles up to MaxWait.
const minWait = 4 * time.Millisecond

// loop fetches from one broker for all partitions that it leads: one request
// at a time, so one connection, however many partitions.
type loop struct {
	router *router
	node   int32
	signal chan struct{} // look again

	turn  int           // rotates the order: the broker fills from the front
	wait  time.Duration // how long the broker may hold the next fetch
	quiet bool          // the last fetch brought nothing, for any partition
	spare round         // slices for the next fetch: of many partitions they are large
}

func (l *loop) notify() {
	select {
	case l.signal <- struct{}{}:
	default:
	}
}

// round is one fetch and whom its slots are for.
type round struct {
	fetch
	owners []*Partition
	seqs   []uint64
	charge int64
}

// run fetches until ctx ends. The memory of a response is charged before it is
// asked for; a Room that has none left stops the loop, and nothing else does.
func (l *loop) run(ctx context.Context) {
	for ctx.Err() == nil {
		q := l.plan()
		if len(q.slots) == 0 {
			select {
			case <-ctx.Done():
			case <-l.signal:
				l.wait = 0
			}
			continue
		}
		if l.router.c.Room.Acquire(ctx, q.charge) != nil {
			return
		}
		res, err := l.exchange(ctx, &q)
		l.settle(&q, res, err)
	}
}

func (l *loop) exchange(ctx context.Context, q *round) ([]fetched, error) {
	return ask[[]fetched](ctx, l.router.client, &call{
		key: keyFetch, version: negotiated, node: l.node,
		encode: q.encode,
		decode: func(d *decoder, v int16) (any, error) {
			if v < 4 || v > 11 {
				return nil, fmt.Errorf("broker offers Fetch v%d: v4 to v11 are supported (Kafka 0.11 or later)", v)
			}
			return decodeFetch(d, v)
		},
	}, q.maxWait+fetchSlack)
}

// plan makes the next request: the partitions of this broker whose readers
// have room, beginning at another one each time.
func (l *loop) plan() round {
	r := l.router
	r.mu.Lock()
	defer r.mu.Unlock()
	q := round{fetch: fetch{maxBytes: r.c.FetchBytes, committed: !r.c.ReadUncommitted, slots: l.spare.slots[:0]}, owners: l.spare.owners[:0], seqs: l.spare.seqs[:0]}
	full := false
	n := len(r.order)
	for i := range n {
		p := r.order[(l.turn+i)%n]
		if !p.active || p.leader != l.node || p.ctx.Err() != nil {
			continue
		}
		if p.queued >= int64(r.c.PartitionBytes) {
			full = true
			continue
		}
		q.slots = append(q.slots, slot{p.topic, p.partition, p.epoch, p.fetchAt, p.want})
		q.owners = append(q.owners, p)
		q.seqs = append(q.seqs, p.seq)
		q.charge += int64(p.want)
	}
	l.turn++
	l.spare = q
	if len(q.slots) == 0 {
		return q
	}
	q.join()
	q.maxBytes = max(q.maxBytes, q.slots[0].maxBytes)
	q.charge = min(q.charge, int64(q.maxBytes))
	q.maxWait = l.patience(full)
	return q
}

// patience is how long the broker may hold a fetch. One that leaves out a
// partition is kept short: its reader may be done any moment. After one that
// brought nothing the next is held twice as long: with nothing to do, fetches
// of thousands of partitions are all that costs.
func (l *loop) patience(full bool) time.Duration {
	if !full {
		l.wait = 0
		if l.quiet {
			return 2 * l.router.c.MaxWait
		}
		return l.router.c.MaxWait
	}
	select {
	case <-l.signal:
		l.wait = 0
	default:
	}
	l.wait = min(max(2*l.wait, minWait), l.router.c.MaxWait)
	return l.wait
}

// join makes the slots of one topic neighbours. The order was sorted before it
// was rotated, so only the first topic can be in two places.
func (q *round) join() {
	n := len(q.slots)
	topic := q.slots[0].topic
	tail := n
	for tail > 0 && q.slots[tail-1].topic == topic {
		tail--
	}
	if tail == 0 || tail == n {
		return
	}
	head := 0
	for q.slots[head].topic == topic {
		head++
	}
	rotate(q.slots[head:], tail-head)
	rotate(q.owners[head:], tail-head)
	rotate(q.seqs[head:], tail-head)
}

// rotate puts what is from n on in front of the rest.
func rotate[T any](s []T, n int) {
	slices.Reverse(s[:n])
	slices.Reverse(s[n:])
	slices.Reverse(s)
}

// settle hands out what came and brings the charge to what is kept.
func (l *loop) settle(q *round, res []fetched, err error) {
	r := l.router
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.c.Log.Debug("fetch failed", "broker", l.node, "error", err)
		for i, p := range q.owners {
			if p.seq == q.seqs[i] && p.leader == l.node {
				r.strand(p)
			}
		}
		r.c.Room.Release(q.charge)
		return
	}
	kept, at := int64(0), 0
	for i := range res {
		at = q.find(at, res[i].topic, res[i].partition)
		if at < 0 {
			at = 0
			continue
		}
		if p := q.owners[at]; p.seq == q.seqs[at] && p.fetchAt == q.slots[at].offset && p.active {
			kept += l.accept(p, &res[i])
		}
		at++
	}
	l.quiet = kept == 0
	if kept > q.charge {
		r.c.Room.Take(kept - q.charge)
	} else {
		r.c.Room.Release(q.charge - kept)
	}
}

// find returns the index of a slot, looking from a place on: brokers answer in
// the order of the request.
func (q *round) find(from int, topic string, partition int32) int {
	n := len(q.slots)
	for i := range n {
		j := (from + i) % n
		if q.slots[j].partition == partition && q.slots[j].topic == topic {
			return j
		}
	}
	return -1
}

// accept queues what came for one partition and returns the memory it keeps.
func (l *loop) accept(p *Partition, f *fetched) int64 {
	r := l.router
	switch {
	case f.code == 0:
		p.heard(f, !r.c.ReadUncommitted)
	case f.code == codeOutOfRange:
		r.fail(p, ErrOutOfRange)
		return 0
	case f.code == codeCorrupt:
		r.fail(p, errCRC)
		return 0
	case transient(f.code):
		r.strand(p)
		return 0
	default:
		r.fail(p, fmt.Errorf("read %s at offset %d: %w", p.key, p.fetchAt, r.client.explain.now(codeError(f.code))))
		return 0
	}
	whole, next, cut, broken := measure(f.records, p.fetchAt)
	if whole == 0 {
		l.widen(p, cut)
		return 0
	}
	if next == p.fetchAt && !broken { // nothing new: as good as no answer
		r.strand(p)
		return 0
	}
	c := chunk{raw: f.records[:whole], charge: int64(cap(f.records))}
	if !r.c.ReadUncommitted {
		c.filter = newFilter(f.aborted)
	}
	p.queue = append(p.queue, c)
	p.queued += c.charge
	p.fetchAt, p.want = next, r.c.PartitionBytes
	p.active = !broken
	p.notify()
	return c.charge
}

// widen asks for more at once when a batch did not fit.
func (l *loop) widen(p *Partition, cut int) {
	limit := l.router.c.BatchBytes
	switch {
	case cut > int(limit):
		l.router.fail(p, fmt.Errorf("read %s at offset %d: batch of %d bytes: %w of %d bytes", p.key, p.fetchAt, cut, errTooLarge, limit))
	case cut > 0:
		p.want = max(p.want, int32(cut))
	}
}
