package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/writer"
)

// process is one run of the software. It works on partitions that it believes
// to be its own.
type process struct {
	w        *world
	id       int
	software string
	rows     int64
	skip     bool // counts lost records and goes on
	budget   *writer.Budget
	writers  *writer.Writers
	works    map[int32]*work
	coins    int // of the software R

	calls        int
	dead, paused bool // dead ones never act again, paused ones not now
}

// work is the writing of one partition by one process.
type work struct {
	cancel context.CancelFunc
	ended  bool
	err    error
}

// errLeft ends the work on a partition that the group gave to another process.
var errLeft = errors.New("the partition is another's")

// begin works on a partition, unless the process does so already.
func (p *process) begin(id int32) {
	if k := p.works[id]; k != nil && !k.ended {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	k := &work{cancel: cancel}
	p.works[id] = k
	c := writer.Config{
		Store: simStore{p}, Table: "t", Partition: id, Source: &simSource{p: p, id: id}, Schema: p.w.schema,
		NewEncoder: func(manifest.Schema) (writer.Encoder, error) { return encoder{p, p.software}, nil },
		Limits:     writer.Limits{MaxRows: p.rows, MaxAge: time.Second},
		Published: func(ctx context.Context, next int64) error {
			_, err := p.call(ctx, "told", fmt.Sprint(id, next), nil)
			if err == nil {
				p.w.told(id, next)
			}
			return err
		},
		Rejected: func(ctx context.Context, _ string, letters iter.Seq2[manifest.DeadLetter, error]) (int64, error) {
			return p.reject(ctx, id, letters)
		},
		Confirmed: func(ctx context.Context) error { return p.confirm(ctx, id) },
		Host:      fmt.Sprint(p.id), Software: p.software,
	}
	if p.skip {
		c.OnDataLoss = writer.SkipLost
	}
	go func() {
		err := p.writers.Run(ctx, c)
		p.w.mu.Lock()
		defer p.w.mu.Unlock()
		k.ended, k.err = true, err
		// Nothing that happens here is damage, or a reason to break a rule.
		if (errors.Is(err, manifest.ErrChange) || errors.Is(err, manifest.ErrDamage)) && p.w.failure == "" {
			p.w.failure = fmt.Sprintf("process %d on %d: %v", p.id, id, err)
		}
	}()
}

// reject hands dead letters on, one by one or not at all.
func (p *process) reject(ctx context.Context, id int32, letters iter.Seq2[manifest.DeadLetter, error]) (done int64, err error) {
	v, err := p.call(ctx, "reject", fmt.Sprint(id), nil)
	if err != nil {
		return 0, err
	}
	for l, err := range letters {
		if err != nil {
			return done, err
		}
		if v != pass && done == 1 {
			return done, errFault
		}
		p.w.truths[id].out[row{l.Offset, byte(l.Partition)}] = true
		done++
	}
	return done, nil
}

// confirm asks the group.
func (p *process) confirm(ctx context.Context, id int32) error {
	if _, err := p.call(ctx, "confirm", fmt.Sprint(id), nil); err != nil {
		return err
	}
	if p.w.owners[id] != p {
		return errLeft
	}
	return nil
}

// letGo gives up some of the writes that are on their way: they have an effect
// later.
func (p *process) letGo() {
	w := p.w
	w.mu.Lock()
	var waiting []*call
	for _, c := range w.waiting {
		if c.p == p && (c.kind == "put" || c.kind == "head") {
			waiting = append(waiting, c)
		}
	}
	w.mu.Unlock()
	slices.SortFunc(waiting, func(a, b *call) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.n, b.n)) })
	for _, c := range waiting {
		if w.random.IntN(2) == 0 {
			w.release(c, late)
		}
	}
	w.settle()
}

// crash ends the process at once. Calls that are on their way have an effect
// later, or none.
func (p *process) crash() {
	w := p.w
	p.letGo()
	w.mu.Lock()
	p.dead = true
	w.mu.Unlock()
	p.cancel()
	w.settle()
}

// cancel ends all works of the process.
func (p *process) cancel() {
	for id := range p.w.partitions {
		if k := p.works[id]; k != nil {
			k.cancel()
		}
	}
}
