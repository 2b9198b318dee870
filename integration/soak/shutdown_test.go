package soak

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// stopping is a process with ten rows in memory that nothing but its end would
// publish for half an hour.
type stopping struct {
	*proc
	tb     table
	broker *realkafka.Broker
	wire   *wire
	config string
	begun  time.Time // of the SIGTERM
}

const bufferedRows = 10

func newStopping(t *testing.T, name string, hold func(*stopping) func(*http.Request)) *stopping {
	t.Helper()
	s := &stopping{broker: realkafka.Shared(t), wire: newWire(t, nil), tb: newTable(t, name)}
	s.broker.CreateTopic(t, name, 1, nil)
	s.broker.Produce(t, records(name, 1, 0, bufferedRows))
	listen := freeAddr(t)
	s.config = setup{
		brokers: s.broker.Addr(), store: s.wire.addr(), bucket: s.tb.bucket, topics: []string{name}, group: name,
		more: "batch: {max_age: 30m}\nhttp: " + listen,
	}.write(t)
	s.proc = launch(t, s.config)
	await(t, time.Minute, "the rows are not read", func() bool {
		return metric(listen, "lakeweir_read_records_total") == bufferedRows
	})
	if h := s.tb.head(t, 0); h.Next != 0 {
		t.Fatalf("%d rows are published", h.Next)
	}
	if hold != nil {
		f := hold(s)
		s.wire.set(func(w *wire) { w.hold = f })
	}
	return s
}

// term sends a SIGTERM.
func (s *stopping) term() {
	s.begun = time.Now()
	s.signal(syscall.SIGTERM)
}

// ended checks how the process ended, that its group is empty at once, and that
// the broker was told no more than what is published.
func (s *stopping) ended(t *testing.T, limit time.Duration, published int64) {
	t.Helper()
	code, _ := s.exits(t, limit+10*time.Second)
	took := time.Since(s.begun)
	t.Logf("ended %.2f s after SIGTERM, %d of %d rows published", took.Seconds(), s.tb.head(t, 0).Next, bufferedRows)
	if code != 0 || took > limit {
		t.Errorf("exit code %d after %v, want 0 within %v:\n%s", code, took, limit, s.errs.last())
	}
	if got := s.tb.head(t, 0).Next; got != published {
		t.Errorf("%d rows published, want %d", got, published)
	}
	admin := kadm.NewClient(s.broker.Client(t))
	groups, err := admin.DescribeGroups(t.Context(), s.tb.topic)
	if g := groups[s.tb.topic]; err != nil || len(g.Members) != 0 || g.State != "Empty" {
		t.Errorf("the group was not left: %s with %d members, %v", g.State, len(g.Members), err)
	}
	told, err := committed(t.Context(), admin, s.tb.topic)
	if at := told[place{s.tb.topic, 0}]; err != nil || at > published {
		t.Errorf("the broker was told %d, %d rows are published, %v", at, published, err)
	}
}

// resumed checks that the next run leaves every row once.
func (s *stopping) resumed(t *testing.T) {
	t.Helper()
	s.wire.set(func(w *wire) { w.hold = nil })
	command(t, "run", "--config", s.config, "--once", "--http", "", "--batch-max-age", "1s")
	exact(t, "by manifest", bufferedRows, s.tb.live(t, s.config))
	exact(t, "by listing", bufferedRows, s.tb.listed(t))
}

// slowly holds each PUT of a key that has the text for 20 s.
func slowly(text string) func(*stopping) func(*http.Request) {
	return func(*stopping) func(*http.Request) {
		return func(r *http.Request) {
			if strings.Contains(r.URL.Path, text) {
				rest(r, 20*time.Second)
			}
		}
	}
}

// at sends a signal when the PUT with the given number, counted from 1, of a key
// that has the text is on its way, and holds that PUT for a second.
func at(text string, number int32, send func(*stopping)) func(*stopping) func(*http.Request) {
	return func(s *stopping) func(*http.Request) {
		var seen atomic.Int32
		return func(r *http.Request) {
			if strings.Contains(r.URL.Path, text) && seen.Add(1) == number {
				send(s)
				rest(r, time.Second)
			}
		}
	}
}

// A SIGTERM ends the process inside shutdown_timeout, here the default, with
// exit code 0, whatever the store is at: what can be published is, the rest is
// left to the next run (B14).
func TestSIGTERM(t *testing.T) {
	t.Parallel()
	const limit = 25 * time.Second // shutdown_timeout
	t.Run("rows wait for half an hour", func(t *testing.T) {
		t.Parallel()
		s := newStopping(t, "stop-buffered", nil)
		s.term()
		s.ended(t, 5*time.Second, bufferedRows)
		s.resumed(t)
	})
	// One PUT of 20 s is through in time.
	t.Run("a data PUT takes 20 s", func(t *testing.T) {
		t.Parallel()
		s := newStopping(t, "stop-slow-data", slowly("/data/"))
		s.term()
		s.ended(t, limit, bufferedRows)
		s.resumed(t)
	})
	// Three are not.
	t.Run("every PUT takes 20 s", func(t *testing.T) {
		t.Parallel()
		s := newStopping(t, "stop-slow-all", slowly("/"))
		s.term()
		s.ended(t, limit, 0)
		s.resumed(t)
	})
	t.Run("a second SIGTERM", func(t *testing.T) {
		t.Parallel()
		s := newStopping(t, "stop-twice", slowly("/"))
		s.term()
		await(t, 10*time.Second, "the first signal is not obeyed", func() bool { return s.errs.has("stopping") == 1 })
		s.term()
		s.ended(t, 3*time.Second, 0)
		s.resumed(t)
	})
}

// A SIGTERM, the first or the second, while one particular PUT is on its way:
// the plan, the data, the publish (B14).
func TestSIGTERMWithinAStep(t *testing.T) {
	t.Parallel()
	t.Run("claim", func(t *testing.T) { // nothing is read yet
		t.Parallel()
		s := newStopping(t, "step-claim", nil)
		hit := make(chan struct{})
		hold := at("/manifest/00000.json", 1, func(*stopping) { close(hit) })(s)
		s.wire.set(func(w *wire) { w.hold = hold })
		s.kill()
		s.proc = launch(t, s.config)
		<-hit
		s.term()
		s.ended(t, 5*time.Second, 0)
		s.resumed(t)
	})
	for _, step := range []struct {
		name, key string
		number    int32
	}{{"plan", "/manifest/00000.json", 1}, {"data", "/data/", 1}, {"publish", "/manifest/00000.json", 2}} {
		// The commit that the SIGTERM finds under way is finished.
		t.Run(step.name, func(t *testing.T) {
			t.Parallel()
			s := newStopping(t, "step-"+step.name, nil)
			hit := make(chan struct{})
			number := step.number
			if step.key != "/data/" { // the claim of the second process writes the head too
				number++
			}
			hold := at(step.key, number, func(*stopping) { close(hit) })(s)
			s.wire.set(func(w *wire) { w.hold = hold })
			// A row more than a batch may have cuts it, long before it is old.
			s.kill()
			s.proc = launch(t, s.config, "--batch-max-rows", strconv.Itoa(bufferedRows))
			<-hit
			s.term()
			s.ended(t, 5*time.Second, bufferedRows)
			s.resumed(t)
		})
		// The second SIGTERM comes in the middle of what the first one began.
		t.Run(step.name+" twice", func(t *testing.T) {
			t.Parallel()
			s := newStopping(t, "twice-"+step.name, at(step.key, step.number, (*stopping).term))
			s.term()
			<-s.done
			s.ended(t, 3*time.Second, s.tb.head(t, 0).Next)
			s.resumed(t)
		})
	}
}

// freeAddr returns an address that nobody listens at.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// metric sums a metric over its labels; -1 while the process does not answer.
func metric(addr, name string) (sum float64) {
	res, err := http.Get(fmt.Sprintf("http://%s/metrics", addr))
	if err != nil {
		return -1
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(body)) {
		if rest, ok := strings.CutPrefix(line, name); ok && (rest[0] == '{' || rest[0] == ' ') {
			n, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' '):]), 64)
			if err != nil {
				return -1
			}
			sum += n
		}
	}
	return sum
}
