package soak

import (
	"crypto/sha256"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// A process is stopped when its data PUT is on the wire. Another one takes the
// partition over, under the same layout or another, and goes on. Then the
// PUT reaches the store, late, and the stopped process wakes up. No row is there
// twice, no published object has changed, and the woken process is fenced: a
// member of a group goes on as what its group says it is, one with a partition
// of its own ends with exit code 3 (B01).
func TestZombie(t *testing.T) {
	f := func(name string, grouped bool, other string, arrives bool) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zombie(t, "zombie-"+strings.ReplaceAll(name, " ", "-"), grouped, other, arrives)
		})
	}
	// The same bytes, by the same layout.
	f("member, PUT arrives", true, "", true)
	f("member, PUT is cut", true, "", false)
	// Other bytes for the same range: the next attempt, under other names.
	f("member, other codec, PUT arrives", true, "files: {compression: none}", true)
	f("static, PUT arrives", false, "", true)
	f("static, other codec, PUT is cut", false, "files: {compression: none}", false)
}

func zombie(t *testing.T, topic string, grouped bool, other string, arrives bool) {
	topic = strings.ReplaceAll(topic, ",", "")
	broker, tb := realkafka.Shared(t), newTable(t, topic)
	mine, theirs := newWire(t, nil), newWire(t, nil)
	broker.CreateTopic(t, topic, 1, nil)
	broker.Produce(t, records(topic, 1, 0, 100))
	c := setup{brokers: broker.Addr(), store: mine.addr(), bucket: tb.bucket, topics: []string{topic}, group: topic}
	c.more = "batch: {max_age: 1s, max_rows: 50}\nsession_timeout: 2s\nheartbeat_interval: 500ms"
	if !grouped {
		c.partitions = "{" + topic + ": [0]}"
	}
	var first atomic.Pointer[proc]
	hit, release := make(chan struct{}), make(chan struct{})
	freeze(mine, &first, hit, release, arrives)
	first.Store(launch(t, c.write(t)))
	<-hit
	c.store, c.driver, c.more = theirs.addr(), "minio", c.more+"\n"+other
	config := c.write(t)
	second := launch(t, config)
	took := await(t, time.Minute, "the partition is not taken over", func() bool { return tb.head(t, 0).Next == 100 })
	published := sums(t, tb.live(t, config))
	close(release)
	first.Load().signal(syscall.SIGCONT)
	if grouped {
		await(t, time.Minute, "the woken process is not back in its group", func() bool { return first.Load().errs.has("msg=assigned") > 1 })
	} else if code, _ := first.Load().exits(t, time.Minute); code != 3 {
		t.Errorf("the woken process ended with exit code %d, want 3:\n%s", code, first.Load().errs.last())
	}
	broker.Produce(t, records(topic, 1, 100, 200))
	await(t, time.Minute, "later rows are not published", func() bool { return tb.head(t, 0).Next == 200 })
	for path, sum := range sums(t, tb.live(t, config)) {
		if was, ok := published[path]; ok && was != sum {
			t.Errorf("%s was changed after it was published", path)
		}
	}
	for _, p := range []*proc{first.Load(), second} {
		p.signal(syscall.SIGTERM)
		if code, _ := p.exits(t, time.Minute); code != 0 && (grouped || p == second) {
			t.Errorf("exit code %d:\n%s", code, p.errs.last())
		}
	}
	exact(t, "by manifest", 200, tb.live(t, config))
	exact(t, "by listing", 200, tb.listed(t))
	t.Logf("taken over after %.1f s; %d claims", took.Seconds(), tb.head(t, 0).Epoch)
}

// freeze stops the process at its first PUT of data. That one waits for the
// release, and then reaches the store or does not.
func freeze(w *wire, p *atomic.Pointer[proc], hit chan<- struct{}, release <-chan struct{}, arrives bool) {
	var hits atomic.Int32
	hold := func(r *http.Request) {
		if !strings.Contains(r.URL.Path, "/data/") || hits.Add(1) > 1 {
			return
		}
		for p.Load() == nil { // launch is about to return
			time.Sleep(time.Millisecond)
		}
		p.Load().signal(syscall.SIGSTOP)
		close(hit)
		<-release
		if !arrives {
			panic(http.ErrAbortHandler)
		}
	}
	w.set(func(w *wire) { w.hold = hold })
}

// sums returns the hashes of files.
func sums(t *testing.T, paths []string) map[string][sha256.Size]byte {
	t.Helper()
	all := map[string][sha256.Size]byte{}
	for _, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = sha256.Sum256(body)
	}
	return all
}
