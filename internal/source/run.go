package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Work is what is done with one partition for as long as it is assigned. Its
// context ends with the assignment; it then has to return well within
// Config.Rebalance, or its partition is read by another process meanwhile.
type Work func(ctx context.Context, p *Partition) error

// Run assigns partitions and calls work for each, in a goroutine of its own,
// until ctx ends or every work has returned.
//
// A work that returns nil is done; one that returns an error stops nothing but
// its own partition. Run returns when all works have ended, with their errors
// joined, so nil means that all were done or that ctx ended. Errors of an
// ended context do not count.
//
// With a group, each generation ends the works of the one before and calls
// them anew, failed ones included, each with a new Partition; errors of earlier
// generations do not count. A member without partitions waits for some.
// Without a group, partitions and topics that appear later are added. With
// patterns, Run goes on when all works have returned, for topics that come, but
// not after one has failed by more than ErrNoTopic: its topic was deleted.
//
// Before any work, Run asks the brokers for the topics, for at most
// Config.StartTimeout: an error then says in one line what to do. A topic that
// does not exist is ErrNoTopic.
func Run(ctx context.Context, c Config, work Work) error {
	c, err := c.withDefaults()
	if err != nil {
		return fmt.Errorf("configure source: %w", err)
	}
	cl, err := newClient(c)
	if err != nil {
		return fmt.Errorf("configure source: %w", err)
	}
	defer cl.close()
	l, err := cl.check(ctx, c)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	if err := checkTopics(c, l); err != nil {
		return err
	}
	// Works may finish what they have after ctx ends, and ask brokers for it.
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := newSession(work)
	s.router = newRouter(inner, c, cl, s.learn)
	s.router.learn(l)
	s.note(l)
	s.calm()
	s.router.loops.Go(func() { s.router.run(inner) })
	defer s.router.loops.Wait()
	defer cancel()
	if c.Group == "" || c.Partitions != nil {
		return s.static(ctx)
	}
	return s.grouped(ctx)
}

// session is one Run.
type session struct {
	router  *router
	work    Work
	changed chan struct{} // topics or partitions came or went

	mu     sync.Mutex
	topics map[string]topicState // that exist
	met    map[string]bool       // those, and those that have gone
	first  map[string]int        // partitions by topic at the start
	unsure map[string]bool       // topics that no broker was sure of at the start
	fences map[key]int           // calls of Confirm since the last Commit
}

func newSession(work Work) *session {
	return &session{
		work: work, changed: make(chan struct{}, 1),
		topics: map[string]topicState{}, met: map[string]bool{}, fences: map[key]int{},
	}
}

// static reads partitions without a group.
func (s *session) static(ctx context.Context) error {
	a := s.assign(ctx, nil)
	a.add(s.wanted())
	for a.running > 0 || s.waits(a.failed) {
		select {
		case <-s.changed:
			if ctx.Err() == nil {
				a.add(s.wanted())
			}
		case err := <-a.results:
			a.ended(err)
		case <-a.over():
			return a.err()
		}
	}
	return a.err()
}

// assignment is a set of partitions and the works on them. One goroutine owns
// it.
type assignment struct {
	session *session
	ctx     context.Context
	member  *member
	started []key
	running int
	results chan error
	errs    []error
	failed  bool // a work, by more than that its topic is gone
}

func (s *session) assign(ctx context.Context, m *member) *assignment {
	s.router.c.Progress.change(func(st *State) { st.Assigned, st.Places, st.Refused = true, nil, nil })
	return &assignment{session: s, ctx: ctx, member: m, results: make(chan error)}
}

// add starts the works of partitions that have none yet.
func (a *assignment) add(keys []key) {
	for _, k := range keys {
		if slices.Contains(a.started, k) {
			continue
		}
		a.started = append(a.started, k)
		a.running++
		p := &Partition{
			key: k, session: a.session, router: a.session.router, member: a.member,
			ctx: a.ctx, ready: make(chan struct{}, 1),
		}
		a.session.router.attach(p)
		a.session.router.c.Progress.change(func(st *State) { st.Places = append(st.Places, Place{k.topic, k.partition}) })
		go a.work(p)
	}
}

// errGone is the error of a work that ended its goroutine.
var errGone = errors.New("work ended without returning")

func (a *assignment) work(p *Partition) {
	err := fmt.Errorf("%s: %w", p.key, errGone)
	defer func() {
		p.close()
		a.results <- err
	}()
	err = a.session.work(a.ctx, p)
}

// ended counts a work that returned.
func (a *assignment) ended(err error) {
	a.running--
	if err == nil || a.ctx.Err() != nil && errors.Is(err, a.ctx.Err()) {
		return
	}
	a.errs = append(a.errs, err)
	a.failed = a.failed || !errors.Is(err, ErrNoTopic)
}

// over is closed when the context has ended and no work runs any more.
func (a *assignment) over() <-chan struct{} {
	if a.running > 0 {
		return nil
	}
	return a.ctx.Done()
}

func (a *assignment) err() error { return errors.Join(a.errs...) }
