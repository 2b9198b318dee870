package demo

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
)

// Step is a moment of a commit at which a sink is held.
type Step string

// The steps, in the order of the protocol.
const (
	Anytime   Step = ""                         // wherever it is when its time is up
	Claimed   Step = "after claim"              // the head has the new epoch
	Planned   Step = "after plan"               // the cut is durable, no byte of it written
	Writing   Step = "before data PUT"          // about to create a data file
	Written   Step = "after data PUT"           // it is there and no head names it
	Published Step = "after publish"            // the commit has happened
	Telling   Step = "before the broker commit" // and the broker was not told
)

// named are the steps at which sinks are killed.
var named = []Step{Claimed, Planned, Written, Published, Telling}

// String returns the step in words.
func (s Step) String() string {
	if s == Anytime {
		return "at a random moment"
	}
	return string(s)
}

// watch is a store that remembers the heads which this process wrote or read,
// so that a step is told from the body of a write.
type watch struct {
	store.Store
	mu     sync.Mutex
	heads  map[string]manifest.Head
	claims map[int32]bool // partitions that this process has claimed
}

func newWatch(s store.Store) *watch {
	return &watch{Store: s, heads: map[string]manifest.Head{}, claims: map[int32]bool{}}
}

// Get implements store.Store.
func (w *watch) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	o, err := w.Store.Get(ctx, key, span)
	if err == nil {
		w.learn(key, o.Body)
	}
	return o, err
}

// Put implements store.Store.
func (w *watch) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	i, err := w.Store.Put(ctx, key, body, cond)
	if err == nil {
		w.learn(key, body)
	}
	return i, err
}

func (w *watch) learn(key string, body []byte) {
	if _, err := manifest.ParseHeadKey(key); err != nil {
		return
	}
	if h, err := manifest.DecodeHead(body); err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.heads[key] = h
	}
}

// claimed notes a claim.
func (w *watch) claimed(partition int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claims[partition] = true
}

// claimedAll reports whether this process has claimed every partition. One that
// was stopped before would claim the rest when it wakes, and rightly so.
func (w *watch) claimedAll() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.claims) == Partitions
}

func (w *watch) head(key string) manifest.Head {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heads[key]
}

// script holds the process at the calls to the store that make up step: hold is
// called before or after them and returns when the process may go on.
func (w *watch) script(step Step, hold func(partition int32, key string)) fault.Script {
	return func(_ context.Context, c fault.Call) fault.Action {
		switch {
		case c.Op != fault.Put:
			return fault.Action{}
		case strings.HasPrefix(c.Key, "data/"):
			return w.atData(step, c.Key, hold)
		}
		id, err := manifest.ParseHeadKey(c.Key)
		if err != nil {
			return fault.Action{}
		}
		before := w.head(c.Key)
		return fault.Action{After: func(err error) error {
			after := w.head(c.Key)
			if err == nil && changes(before, after, Claimed) {
				w.claimed(id)
			}
			if err == nil && changes(before, after, step) {
				hold(id, c.Key)
			}
			return err
		}}
	}
}

// atData meets the PUT of a data file with rows. One at a superseded key is
// none: that is how names are emptied that nobody may publish any more.
func (w *watch) atData(step Step, key string, hold func(int32, string)) (a fault.Action) {
	n, err := manifest.ParseData(key)
	if err != nil {
		return a
	}
	if p := w.head(n.HeadKey()).Pending; p != nil && slices.Contains(p.Superseded, key) {
		return a
	}
	switch {
	case step == Writing && w.claimedAll():
		a.Before = func(context.Context) error { hold(n.ID, key); return nil }
	case step == Written:
		a.After = func(err error) error {
			if err == nil {
				hold(n.ID, key)
			}
			return err
		}
	}
	return a
}

// changes reports whether the change of a head is the given step.
func changes(before, after manifest.Head, step Step) bool {
	switch step {
	case Claimed:
		return after.Epoch != before.Epoch
	case Planned:
		return after.Epoch == before.Epoch && after.Pending != nil && after.Next == before.Next
	case Published:
		return after.Next > before.Next
	default:
		return false
	}
}
