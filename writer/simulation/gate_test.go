package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// verdict is how a call is met.
type verdict int

const (
	pass   verdict = iota
	refuse         // an error, without effect
	lose           // the effect, and an error
	clash          // a conflict, without effect and for no reason
	late           // an error; the effect comes later, whoever lives then
	stall          // no answer until the client gives up, and no effect
	hang           // the effect, and no answer until the client gives up
	verdicts
)

// patience is how long a client waits for an answer.
const patience = 70 * time.Second

func (v verdict) String() string {
	return [...]string{"pass", "refuse", "lose", "clash", "late", "stall", "hang"}[v]
}

var (
	errDead  = errors.New("the process is dead")
	errFault = errors.New("injected fault")
)

// call is one call that waits at the gate.
type call struct {
	p         *process
	kind, key string
	n         int // of the process
	ready     func() bool
	open      chan verdict
}

func (c *call) String() string { return fmt.Sprintf("%d %s %s", c.p.id, c.kind, c.key) }

// call waits at the gate until the driver lets it go. ready, if any, says
// whether it could; a Read at the end of its log could not.
func (p *process) call(ctx context.Context, kind, key string, ready func() bool) (verdict, error) {
	w := p.w
	c := &call{p: p, kind: kind, key: key, ready: ready, open: make(chan verdict, 1)}
	w.mu.Lock()
	if p.dead {
		w.mu.Unlock()
		return pass, errDead
	}
	p.calls++
	c.n = p.calls
	w.waiting = append(w.waiting, c)
	w.mu.Unlock()
	select {
	case v := <-c.open:
		if p.isDead() {
			return pass, errDead
		}
		return v, nil
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		w.waiting = slices.DeleteFunc(w.waiting, func(x *call) bool { return x == c })
		return pass, ctx.Err()
	}
}

// wait is the time in which a client hopes for an answer.
func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(patience):
		return fmt.Errorf("%w: no answer for %v", errFault, patience)
	}
}

func (p *process) isDead() bool {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	return p.dead
}

// ready returns the calls that may go on now, in an order that does not depend
// on the scheduler.
func (w *world) ready() []*call {
	w.mu.Lock()
	defer w.mu.Unlock()
	var calls []*call
	for _, c := range w.waiting {
		if !c.p.paused && (c.ready == nil || c.ready()) {
			calls = append(calls, c)
		}
	}
	slices.SortFunc(calls, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.p.id, b.p.id), cmp.Compare(a.kind, b.kind), cmp.Compare(a.key, b.key), cmp.Compare(a.n, b.n))
	})
	return calls
}

// release lets one call go.
func (w *world) release(c *call, v verdict) {
	w.mu.Lock()
	w.waiting = slices.DeleteFunc(w.waiting, func(x *call) bool { return x == c })
	w.mu.Unlock()
	c.open <- v
}
