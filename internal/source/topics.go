package source

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Pattern takes topics by their names, those that come later too. It takes
// none that brokers call internal.
type Pattern struct {
	Text  string // for people
	Match func(topic string) bool
}

// takes reports whether a pattern takes a topic.
func (p Pattern) takes(name string, t topicLayout) bool { return !t.internal && p.Match(name) }

// Topics asks the brokers which topics Run would read: those of c.Topics that
// exist, and those that its patterns take; sorted. It takes at most
// c.StartTimeout, and says in one line what is wrong as Run does.
func Topics(ctx context.Context, c Config) ([]string, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("configure source: %w", err)
	}
	cl, err := newClient(c)
	if err != nil {
		return nil, fmt.Errorf("configure source: %w", err)
	}
	defer cl.close()
	l, err := cl.check(ctx, c)
	if err != nil {
		return nil, err
	}
	names := slices.Collect(maps.Keys(l.topics))
	return slices.Sorted(slices.Values(slices.DeleteFunc(names, func(name string) bool { return l.topics[name].code != 0 }))), nil
}

// survey asks for all topics that are read. With patterns it asks for every
// topic of the cluster and leaves out those that are not; one that is listed
// by name and not among them is asked for by name, since only then do brokers
// say whether it is denied or not there.
func (c *client) survey(ctx context.Context, cfg Config) (layout, error) {
	if len(cfg.Patterns) == 0 {
		return c.metadata(ctx, cfg.Topics)
	}
	l, err := c.metadata(ctx, nil)
	if err != nil {
		return layout{}, err
	}
	maps.DeleteFunc(l.topics, func(name string, t topicLayout) bool {
		return !slices.Contains(cfg.Topics, name) &&
			!slices.ContainsFunc(cfg.Patterns, func(p Pattern) bool { return p.takes(name, t) })
	})
	var missing []string
	for _, name := range cfg.Topics {
		if _, ok := l.topics[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return l, nil
	}
	named, err := c.metadata(ctx, missing)
	maps.Copy(l.topics, named.topics)
	return l, err
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
	return checkPatterns(c, l)
}

// checkPatterns tells of patterns that take no topic, which is no error: one
// may come. Where none is waited for, it is one.
func checkPatterns(c Config, l layout) error {
	for _, p := range c.Patterns {
		any := false
		for name, t := range l.topics {
			any = any || p.takes(name, t)
		}
		switch {
		case any:
		case c.Settled && !c.WaitForTopics:
			return fmt.Errorf("pattern %s: %w that matches it on %v: correct the pattern, or set wait_for_topics", p.Text, ErrNoTopic, c.Brokers)
		default:
			c.Log.Info("waiting for a topic that matches", "pattern", p.Text)
		}
	}
	return nil
}

// note remembers which partitions there are at the start.
func (s *session) note(l layout) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first, s.unsure = map[string]int{}, map[string]bool{}
	for name, t := range l.topics {
		switch t.code {
		case 0:
			s.first[name] = len(t.partitions)
		case codeUnknownTopic:
		default:
			s.unsure[name] = true
		}
	}
}

// late reports whether a partition was not there at the start. One of a topic
// that no broker was sure of then is not late.
func (s *session) late(k key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.unsure[k.topic] && int(k.partition) >= s.first[k.topic]
}

// topicState is what a session knows of a topic that it has met.
type topicState struct {
	partitions int
	missing    time.Time // since when brokers do not know it; zero is not
}

// goneAfter is how long a topic may be missing before it is none of the topics
// that are there. Its partitions have stopped by then and told why.
func (s *session) goneAfter() time.Duration {
	return topicGrace + 2*s.router.c.MetadataInterval
}

// learn notices new topics and partitions. News are told when something came,
// and when a topic has been away for long: a group is then joined without it.
func (s *session) learn(l layout) {
	s.mu.Lock()
	news := false
	for name, t := range l.topics {
		if t.code != 0 || len(t.partitions) == 0 {
			continue
		}
		st, met := s.topics[name]
		news = news || !met || st.partitions != len(t.partitions)
		s.topics[name], s.met[name] = topicState{partitions: len(t.partitions)}, true
		if !met && s.first != nil {
			s.router.c.Log.Info("found a topic", "topic", name, "partitions", len(t.partitions))
		}
	}
	for name, st := range s.topics {
		t, ok := l.topics[name]
		switch {
		case ok && t.code != codeUnknownTopic: // there, or no broker is sure
		case st.missing.IsZero():
			st.missing = time.Now()
			s.topics[name] = st
		case time.Since(st.missing) > s.goneAfter():
			delete(s.topics, name)
			s.router.c.Log.Warn("a topic is gone", "topic", name)
			news = true
		}
	}
	s.mu.Unlock()
	awaited := s.awaited()
	s.router.c.Progress.change(func(st *State) { st.Begun, st.Awaited = true, awaited })
	if news {
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

// existing returns the topics that exist, in order.
func (s *session) existing() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.topics))
}

// wanted returns the partitions to read without a group, in order.
func (s *session) wanted() []key {
	c := s.router.c
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []key
	for name, st := range s.topics {
		if c.Partitions != nil {
			for _, id := range c.Partitions[name] {
				keys = append(keys, key{name, id})
			}
			continue
		}
		for id := range st.partitions {
			keys = append(keys, key{name, int32(id)})
		}
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

// partitions returns all partitions of the topics that exist.
func (s *session) partitions() []key {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []key
	for name, st := range s.topics {
		for id := range st.partitions {
			keys = append(keys, key{name, int32(id)})
		}
	}
	return keys
}

// waits reports whether there is something to wait for although no work runs:
// a topic that never was, or one that a pattern may take. Who has failed is to
// end and tell, not to wait.
func (s *session) waits(failed bool) bool {
	c := s.router.c
	switch {
	case failed:
		return false
	case len(c.Patterns) > 0 && !c.Settled:
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range c.Topics {
		if !s.met[name] {
			return true
		}
	}
	for _, p := range c.Patterns {
		if !s.metBy(p) {
			return true
		}
	}
	return false
}

// metBy reports whether a pattern has taken a topic that was there at some
// time. It is called under s.mu.
func (s *session) metBy(p Pattern) bool {
	for name := range s.met {
		if p.Match(name) {
			return true
		}
	}
	return false
}
