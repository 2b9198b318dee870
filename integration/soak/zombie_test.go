package soak

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// A process is stopped when a PUT of its first commit is on the wire. Another
// one takes the partition over, with files of the same bytes or of others, and
// goes on. Then the PUT reaches the store, late, and the stopped process wakes
// up. No row is there twice, no published object has changed, and the woken
// process is fenced: a member of a group goes on as what its group says it is,
// one with a partition of its own ends with exit code 3 (B01).
func TestZombie(t *testing.T) {
	t.Parallel()
	f := func(name string, z zombie) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z.run(t, "zombie-"+strings.NewReplacer(" ", "-", ",", "").Replace(name))
		})
	}
	const otherBytes = "files: {compression: none}"
	// The same bytes: the plan is finished by the other one.
	f("member, data arrives", zombie{step: data, grouped: true, arrives: true})
	f("member, data is cut", zombie{step: data, grouped: true})
	f("static, data arrives", zombie{step: data, arrives: true})
	// Other bytes for the same range: the next attempt, under other names.
	f("member, other bytes, data arrives", zombie{step: data, grouped: true, other: otherBytes, arrives: true})
	f("static, other bytes, data is cut", zombie{step: data, other: otherBytes})
	// Nothing is planned yet: the late plan loses against the claim.
	f("member, plan arrives", zombie{step: plan, grouped: true, arrives: true})
	f("static, other bytes, plan arrives", zombie{step: plan, other: otherBytes, arrives: true})
	// All is written: the late publish loses against that of the other one.
	f("member, publish arrives", zombie{step: publish, grouped: true, arrives: true})
	f("static, publish is cut", zombie{step: publish})
	f("static, other bytes, publish arrives", zombie{step: publish, other: otherBytes, arrives: true})
}

// step is a PUT of the first commit: the text that its key has, and which PUT of
// such keys it is. The first one of the head is the claim.
type step struct {
	key    string
	number int32
}

var (
	plan    = step{"/manifest/00000.json", 2}
	data    = step{"/data/", 1}
	publish = step{"/manifest/00000.json", 3}
)

// zombie is a process that is stopped at a step and woken up too late.
type zombie struct {
	step    step
	grouped bool   // or else the partition is its own
	other   string // how the settings of the one that takes over differ
	arrives bool   // the PUT reaches the store, or else its connection is cut
}

func (z zombie) run(t *testing.T, topic string) {
	broker, tb := realkafka.Shared(t), newTable(t, topic)
	mine, theirs := newWire(t, nil), newWire(t, nil)
	broker.CreateTopic(t, topic, 1, nil)
	broker.Produce(t, records(topic, 1, 0, 100))
	c := setup{brokers: broker.Addr(), store: mine.addr(), bucket: tb.bucket, topics: []string{topic}, group: topic}
	c.more = "batch: {max_age: 1s, max_rows: 50}\nsession_timeout: 2s\nheartbeat_interval: 500ms"
	if !z.grouped {
		c.partitions = "{" + topic + ": [0]}"
	}
	var first atomic.Pointer[proc]
	hit, release := make(chan struct{}), make(chan struct{})
	z.freeze(mine, &first, hit, release)
	first.Store(launch(t, c.write(t)))
	<-hit
	c.store, c.driver, c.more = theirs.addr(), "minio", c.more+"\n"+z.other
	config := c.write(t)
	second := launch(t, config)
	took := await(t, time.Minute, "the partition is not taken over", func() bool { return tb.head(t, 0).Next == 100 })
	published := tb.hashes(t, config)
	close(release)
	first.Load().signal(syscall.SIGCONT)
	if z.grouped {
		await(t, time.Minute, "the woken process is not back in its group", func() bool { return first.Load().errs.has("msg=assigned") > 1 })
	} else if code, _ := first.Load().exits(t, time.Minute); code != 3 {
		t.Errorf("the woken process ended with exit code %d, want 3:\n%s", code, first.Load().errs.last())
	}
	broker.Produce(t, records(topic, 1, 100, 200))
	await(t, time.Minute, "later rows are not published", func() bool { return tb.head(t, 0).Next == 200 })
	unchanged(t, published, tb.hashes(t, config))
	for _, p := range []*proc{first.Load(), second} {
		p.signal(syscall.SIGTERM)
		if code, _ := p.exits(t, time.Minute); code != 0 && (z.grouped || p == second) {
			t.Errorf("exit code %d:\n%s", code, p.errs.last())
		}
	}
	exact(t, "by manifest", 200, tb.live(t, config))
	exact(t, "by listing", 200, tb.listed(t))
	t.Logf("taken over after %.1f s; %d claims", took.Seconds(), tb.head(t, 0).Epoch)
}

// freeze stops the process at the step. That PUT waits for the release, and then
// reaches the store or does not.
func (z zombie) freeze(w *wire, p *atomic.Pointer[proc], hit chan<- struct{}, release <-chan struct{}) {
	var seen atomic.Int32
	hold := func(r *http.Request) {
		if !strings.Contains(r.URL.Path, z.step.key) || seen.Add(1) != z.step.number {
			return
		}
		for p.Load() == nil { // launch is about to return
			time.Sleep(time.Millisecond)
		}
		p.Load().signal(syscall.SIGSTOP)
		close(hit)
		<-release
		if !z.arrives {
			panic(http.ErrAbortHandler)
		}
	}
	w.set(func(w *wire) { w.hold = hold })
}

// unchanged checks that files that were published still are, and that all that
// are have the bytes that their head tells.
func unchanged(t *testing.T, before, now map[string]string) {
	t.Helper()
	for path, sum := range before {
		if now[path] != sum {
			t.Errorf("%s was published with hash %s, now %q", path, sum, now[path])
		}
	}
	for path, sum := range now {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := sha256.Sum256(body); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s does not have the hash %s of its head", path, sum)
		}
	}
}
