package source

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"
)

// pattern takes the topics whose whole name an expression matches.
func pattern(expr string) Pattern {
	return Pattern{Text: "/" + expr + "/", Match: regexp.MustCompile(`\A(?:` + expr + `)\z`).MatchString}
}

// keysOf returns what is owned, in order, as text.
func (o *owners) keysOf() string {
	var keys []key
	for k := range o.snapshot() {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareKeys)
	return fmt.Sprint(keys)
}

// A pattern without a topic waits and says so; topics and partitions that come
// are read within 10 s, with and without a group, each of them late (B49).
func TestPatternTakesNewTopics(t *testing.T) {
	f := func(group string) {
		t.Helper()
		inBubble(t, func(t *testing.T, p *pipes) {
			p.create(t, "other", 1)
			log := &lines{}
			cfg := p.config(`evt\..*`, `.*evt`)
			cfg.Group, cfg.Log = group, logTo(log)
			o := &owners{by: map[key]string{}}
			hold := o.hold("me")
			leave := start(t, cfg, func(ctx context.Context, p *Partition) error {
				if !p.Late() {
					t.Errorf("%s is not late", p.key)
				}
				return hold(ctx, p)
			})
			f := func(change func(), want string) {
				t.Helper()
				change()
				time.Sleep(10 * time.Second)
				if have := o.keysOf(); have != want {
					t.Errorf("read %s, want %s", have, want)
				}
			}
			f(func() {}, "[]")
			if log.count("waiting for a topic that matches") != 2 {
				t.Errorf("log:\n%s", log.text.String())
			}
			f(func() { p.create(t, "evt.a", 2) }, "[evt.a/0 evt.a/1]")
			f(func() { p.create(t, "evt.b", 1) }, "[evt.a/0 evt.a/1 evt.b/0]")
			f(func() { p.grow(t, "evt.a", 4) }, "[evt.a/0 evt.a/1 evt.a/2 evt.a/3 evt.b/0]")
			// The whole name has to match.
			f(func() { p.create(t, "evt.b.x", 1); p.create(t, "an.evt.b", 1); p.create(t, "evtx", 1) }, "[evt.a/0 evt.a/1 evt.a/2 evt.a/3 evt.b/0 evt.b.x/0]")
			leave()
		})
	}
	f("")
	f("g")
}

// Members that have not seen a new topic yet do not break the group: whoever
// has gets it, and it is shared when all have (B49).
func TestPatternInGroup(t *testing.T) {
	inBubble(t, func(t *testing.T, p *pipes) {
		p.create(t, "evt.a", 4)
		o := &owners{by: map[key]string{}}
		slow, fast := p.config("evt.*"), p.config("evt.*")
		slow.Group, slow.Member, slow.MetadataInterval = "g", "slow", time.Hour
		fast.Group, fast.Member, fast.MetadataInterval = "g", "fast", time.Second
		leaveSlow := start(t, slow, o.hold("slow"))
		time.Sleep(5 * time.Second)
		leaveFast := start(t, fast, o.hold("fast"))
		time.Sleep(10 * time.Second)
		o.shares(t, map[string]int{"slow": 2, "fast": 2})
		p.create(t, "evt.b", 4)
		time.Sleep(10 * time.Second)
		// The slow one looks when the fast one makes the group assign anew.
		o.shares(t, map[string]int{"slow": 4, "fast": 4})
		leaveFast()
		time.Sleep(10 * time.Second)
		o.shares(t, map[string]int{"slow": 8})
		leaveSlow()
	})
}

// A topic that is deleted stops its partitions, with an error that says so; the
// others go on, and the group does not bring it back (B49).
func TestPatternTopicDeleted(t *testing.T) {
	f := func(group string) {
		t.Helper()
		inBubble(t, func(t *testing.T, p *pipes) {
			p.create(t, "evt.a", 1)
			p.create(t, "evt.b", 1)
			o := &owners{by: map[key]string{}}
			cfg, log := p.config("evt.*"), &lines{}
			cfg.Group, cfg.Log = group, logTo(log)
			gone := make(chan error, 1)
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			work := func(ctx context.Context, p *Partition) error {
				if p.Topic() != "evt.a" {
					return o.hold("me")(ctx, p)
				}
				_, err := read(ctx, p, 0, 1)
				gone <- err
				return err
			}
			go func() { done <- Run(ctx, cfg, work) }()
			time.Sleep(10 * time.Second)
			p.remove(t, "evt.a")
			time.Sleep(topicGrace + 30*time.Second)
			select {
			case err := <-gone:
				if !errors.Is(err, ErrNoTopic) || !strings.Contains(err.Error(), "read evt.a/0: topic does not exist any more") {
					t.Errorf("got %v", err)
				}
			default:
				t.Error("the partition goes on")
			}
			if have := o.keysOf(); have != "[evt.b/0]" {
				t.Errorf("read %s", have)
			}
			if p.TopicInfo("evt.a") != nil {
				t.Error("the topic is back")
			}
			if log.count("a topic is gone") != 1 {
				t.Errorf("log:\n%s", log.text.String())
			}
			p.create(t, "evt.c", 1) // a pattern that lost a topic still takes others
			time.Sleep(10 * time.Second)
			if have := o.keysOf(); have != "[evt.b/0 evt.c/0]" {
				t.Errorf("read %s", have)
			}
			stop()
			// Without a group, what failed is told at the end too.
			if err := <-done; (group == "") != errors.Is(err, ErrNoTopic) {
				t.Errorf("group %q: %v", group, err)
			}
		}, kfake.AllowAutoTopicCreation())
	}
	f("")
	f("g")
}

// Settled patterns wait for nothing, and one without a topic is a mistake.
func TestPatternSettled(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(2, "evt.a", "evt.b", "x"))
	cfg := config(c)
	cfg.Patterns, cfg.Settled = []Pattern{pattern(`evt\..*`)}, true
	var mu sync.Mutex
	n := 0
	err := run(t, cfg, func(_ context.Context, p *Partition) error {
		mu.Lock()
		defer mu.Unlock()
		n++
		return nil
	})
	if n != 4 || err != nil {
		t.Errorf("%d partitions, %v", n, err)
	}
	cfg.Patterns = append(cfg.Patterns, pattern("y+"))
	if err := run(t, cfg, idle); !errors.Is(err, ErrNoTopic) || !strings.Contains(err.Error(), "pattern /y+/") {
		t.Errorf("got %v", err)
	}
	// Without a wait, a named topic that is not there is one too.
	cfg.Topics = []string{"x", "wrong"}
	if err := run(t, cfg, idle); !errors.Is(err, ErrNoTopic) || !strings.Contains(err.Error(), `topic "wrong"`) {
		t.Errorf("got %v", err)
	}
}

// Works that fail end Run although a pattern waits: a store that refuses every
// write must not look like a quiet day.
func TestPatternAllFail(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(2, "evt.a"), kfake.GroupMinSessionTimeout(time.Second))
	for _, group := range []string{"", "g"} {
		cfg := groupConfig(c, "a")
		cfg.Group, cfg.Patterns = group, []Pattern{pattern("evt.*")}
		if err := run(t, cfg, func(context.Context, *Partition) error { return errTest }); !errors.Is(err, errTest) {
			t.Errorf("group %q: %v", group, err)
		}
	}
}

// No pattern takes what brokers keep for themselves (B49); which names mean
// that is for its Match.
func TestPatternInternal(t *testing.T) {
	p := pattern("__.*")
	if p.takes("__offsets", topicLayout{internal: true}) || !p.takes("__mine", topicLayout{}) || p.takes("x", topicLayout{}) {
		t.Error("takes an internal topic, or not what matches")
	}
}

// Topics lists what Run would read, from brokers old and new.
func TestTopics(t *testing.T) {
	for _, v := range []*kversion.Versions{kversion.V1_0_0(), kversion.V4_0_0()} {
		c := cluster(t, kfake.SeedTopics(1, "evt.a", "evt.b", "x", "y"), kfake.MaxVersions(v))
		cfg := config(c, "x", "none")
		cfg.Patterns = []Pattern{pattern(".*evt.*")}
		have, err := Topics(t.Context(), cfg)
		if err != nil || fmt.Sprint(have) != "[evt.a evt.b x]" {
			t.Errorf("%v, %v", have, err)
		}
		cfg.Patterns = nil
		if have, err := Topics(t.Context(), cfg); err != nil || fmt.Sprint(have) != "[x]" {
			t.Errorf("without patterns: %v, %v", have, err)
		}
	}
	if _, err := Topics(t.Context(), Config{Brokers: []string{closedPort(t)}, Topics: []string{"t"}, StartTimeout: time.Second}); err == nil || !strings.Contains(err.Error(), "no broker answers") {
		t.Errorf("got %v", err)
	}
}
