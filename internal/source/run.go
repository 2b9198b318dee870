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
// Without a group, partitions and topics that appear later are added.
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
	l, err := cl.check(ctx, c.Topics, c.StartTimeout)
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
	s := &session{work: work, changed: make(chan struct{}, 1), fences: map[key]int{}}
	s.router = newRouter(inner, c, cl, s.learn)
	s.router.learn(l)
	s.note(c.Topics, l)
	s.calm()
	s.router.loops.Go(func() { s.router.run(inner) })
	defer s.router.loops.Wait()
	defer cancel()
	if c.Group == "" || c.Partitions != nil {
		return s.static(ctx)
	}
	return s.grouped(ctx)
}

// checkTopics compares the configuration with what the brokers have.
func checkTopics(c Config, l layout) error {
	for _, name := range c.Topics {
		t, ok := l.topics[name]
		switch {
		case !ok || t.code == codeUnknownTopic:
			if !c.WaitForTopics {
				return fmt.Errorf("topic %q: %w on %v: create it, correct the name, or set wait_for_topics",
					name, ErrNoTopic, c.Brokers)
			}
			c.Log.Info("waiting for a topic that does not exist yet", "topic", name)
			continue
		case t.code != 0 && !transient(t.code):
			return fmt.Errorf("topic %q: the brokers deny it: check the name and the rights of this user: %w", name, codeError(t.code))
		}
		for _, id := range c.Partitions[name] {
			if _, ok := t.partitions[id]; !ok && t.code == 0 {
				return fmt.Errorf("topic %q has no partition %d: it has %d partitions", name, id, len(t.partitions))
			}
		}
	}
	return nil
}

// session is one Run.
type session struct {
	router  *router
	work    Work
	changed chan struct{} // topics or partitions came or went

	mu     sync.Mutex
	counts map[string]int // partitions by topic, of the topics that exist
	first  map[string]int // the same at the start, 0 for topics that did not exist
	fences map[key]int    // calls of Confirm since the last Commit
}

// note remembers which partitions there are at the start.
func (s *session) note(topics []string, l layout) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = map[string]int{}
	for _, name := range topics {
		t, ok := l.topics[name]
		switch {
		case !ok || t.code == codeUnknownTopic:
			s.first[name] = 0
		case t.code == 0:
			s.first[name] = len(t.partitions)
		}
	}
}

// late reports whether a partition was not there at the start. One of a topic
// that no broker was sure of then is not late.
func (s *session) late(k key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, known := s.first[k.topic]
	return known && int(k.partition) >= n
}

// learn notices new topics and partitions.
func (s *session) learn(l layout) {
	counts := map[string]int{}
	same := true
	s.mu.Lock()
	for name, t := range l.topics {
		if t.code == 0 && len(t.partitions) > 0 {
			counts[name] = len(t.partitions)
			same = same && s.counts[name] == counts[name]
		} else if n, ok := s.counts[name]; ok && t.code != codeUnknownTopic {
			counts[name] = n // a broker that is not sure removes nothing
		}
	}
	same = same && len(counts) == len(s.counts)
	s.counts = counts
	s.mu.Unlock()
	if !same {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
}

// calm drops the news of changes: what follows looks at all topics anyway.
func (s *session) calm() {
	select {
	case <-s.changed:
	default:
	}
}

// existing returns the listed topics that exist, in order.
func (s *session) existing() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var topics []string
	for _, t := range s.router.c.Topics {
		if s.counts[t] > 0 {
			topics = append(topics, t)
		}
	}
	return topics
}

// wanted returns the partitions to read without a group.
func (s *session) wanted() []key {
	var keys []key
	c := s.router.c
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range c.Topics {
		if c.Partitions == nil {
			for id := range s.counts[t] {
				keys = append(keys, key{t, int32(id)})
			}
		} else if s.counts[t] > 0 {
			for _, id := range c.Partitions[t] {
				keys = append(keys, key{t, id})
			}
		}
	}
	return keys
}

// static reads partitions without a group.
func (s *session) static(ctx context.Context) error {
	a := s.assign(ctx, nil)
	a.add(s.wanted())
	for a.running > 0 || len(s.existing()) < len(s.router.c.Topics) {
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
}

func (s *session) assign(ctx context.Context, m *member) *assignment {
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
}

// over is closed when the context has ended and no work runs any more.
func (a *assignment) over() <-chan struct{} {
	if a.running > 0 {
		return nil
	}
	return a.ctx.Done()
}

func (a *assignment) err() error { return errors.Join(a.errs...) }
