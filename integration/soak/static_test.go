package soak

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// owners are two processes that were given the same partitions by mistake, under
// load.
type owners struct {
	*wire
	tb     table
	config string
	all    []int32
	stop   func() (sent int)
}

func newOwners(t *testing.T, topic string) *owners {
	t.Helper()
	broker := realkafka.Shared(t)
	o := &owners{wire: newWire(t, nil), tb: newTable(t, topic), all: []int32{0, 1, 2, 3}}
	broker.CreateTopic(t, topic, loadedParts, nil)
	o.config = setup{
		brokers: broker.Addr(), store: o.addr(), bucket: o.tb.bucket, topics: []string{topic}, group: topic,
		partitions: "{" + topic + ": [0, 1, 2, 3]}", more: "batch: {max_age: 1s, max_rows: 50000}",
	}.write(t)
	o.stop = load(t, broker, topic, loadedParts)
	return o
}

// moved waits until every partition has published something more.
func (o *owners) moved(t *testing.T) {
	t.Helper()
	moved(t, o.tb, nexts(t, o.tb, o.all))
}

// claims returns how often each partition was claimed.
func (o *owners) claims(t *testing.T) (epochs []int64) {
	t.Helper()
	for _, p := range o.all {
		epochs = append(epochs, o.tb.head(t, p).Epoch)
	}
	return epochs
}

// lost checks how a process ends that has lost every partition.
func lost(t *testing.T, p *proc) time.Duration {
	t.Helper()
	code, took := p.exits(t, time.Minute)
	if code != 3 || !strings.Contains(p.errs.String(), "every partition of this process is written by another one") {
		t.Errorf("exit code %d, want 3:\n%s", code, p.errs.last())
	}
	return took
}

// Of two processes with the same partitions the second takes them all, and the
// first ends with exit code 3. They do not take turns.
func TestTwoOwners(t *testing.T) {
	t.Parallel()
	o := newOwners(t, "owners")
	first := launch(t, o.config)
	o.moved(t)
	second := launch(t, o.config)
	took := lost(t, first)
	o.moved(t)
	finish(t, o.tb, o.config, o.stop(), second)
	claims := o.claims(t)
	if !slices.Equal(claims, []int64{2, 2, 2, 2}) {
		t.Errorf("claims: %v", claims)
	}
	t.Logf("the first ended %.1f s after the start of the second; claims: %v", took.Seconds(), claims)
}

// Two processes with the same partitions start at the same moment, on a store
// that makes the claims overlap. Each partition goes to one of them for good: the
// other one does not claim it again. Who is left with none ends with exit code 3.
func TestTwoOwnersAtOnce(t *testing.T) {
	t.Parallel()
	o := newOwners(t, "at-once")
	o.set(func(w *wire) { w.pause = slowRequests })
	procs := []*proc{launch(t, o.config), launch(t, o.config)}
	o.moved(t)
	o.set(func(w *wire) { w.pause = 0 })
	o.moved(t)
	claims := o.claims(t)
	for _, n := range claims {
		if n > 2 {
			t.Errorf("claims: %v, want two of a partition at most", claims)
		}
	}
	time.Sleep(5 * time.Second) // a loop of fences has a second's period at most, by max_age
	if now := o.claims(t); !slices.Equal(now, claims) {
		t.Errorf("claims went on: %v, then %v", claims, now)
	}
	running := slices.DeleteFunc(slices.Clone(procs), func(p *proc) bool {
		select {
		case <-p.done:
			lost(t, p)
			return true
		default:
			return false
		}
	})
	finish(t, o.tb, o.config, o.stop(), running...)
	t.Logf("%d of 2 are left; claims: %v", len(running), claims)
}
