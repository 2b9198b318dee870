package soak

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// The processes and what they share.
const (
	groupProcesses  = 3
	staticProcesses = 2
	ofEachTopic     = 6 // partitions; there are two topics
	failingShare    = 0.1
	session         = 2 * time.Second
	shutdown        = 10 * time.Second
)

// size is how large a soak is.
type size struct {
	seed    uint64
	records int
	strikes int // kills and pauses
	length  time.Duration
}

// sized returns the size that the environment asks for, by default the one
// that is promised.
func sized(t *testing.T) size {
	t.Helper()
	number := func(name string, otherwise int) int {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s is not a number above 0: %q", name, text)
		}
		return n
	}
	s := size{
		seed:    uint64(number("LAKEWEIR_SOAK_SEED", 1)),
		length:  time.Duration(number("LAKEWEIR_SOAK_SECONDS", 180)) * time.Second,
		records: number("LAKEWEIR_SOAK_RECORDS", 2_000_000),
	}
	s.strikes = number("LAKEWEIR_SOAK_STRIKES", int(s.length/(3*time.Second)))
	return s
}

// Five processes, some with partitions of their own and some in a group, are
// killed, paused across a takeover, stopped and started, while the broker is
// killed and restarted and the store fails one PUT in ten and dawdles. Each
// event is in one row, for whoever reads the heads and for whoever lists; the
// offsets of the group never go back, nor beyond what is published (B01, B12).
func TestSoak(t *testing.T) {
	s := newSoak(t, sized(t))
	t.Logf("seed %d: %d records, %d kills and pauses in %v", s.seed, s.records, s.strikes, s.length)
	begin := time.Now()
	stop := make(chan struct{})
	var work, watch sync.WaitGroup
	work.Go(s.produce)
	work.Go(s.strike)
	watch.Go(func() { s.dawdle(stop) })
	watch.Go(func() { s.look.run(t, stop) })
	watch.Go(func() { s.progress(stop) })
	for i, restart := range []func(){s.crash, s.restart} {
		time.Sleep(time.Until(begin.Add(s.length * time.Duration(i+1) / 3)))
		restart()
	}
	work.Wait()
	struck := time.Since(begin)
	s.settle()
	close(stop)
	watch.Wait()
	s.end()
	s.check(begin, struck)
}

// soak is one run of it.
type soak struct {
	size
	t             *testing.T
	broker        *realkafka.Broker
	wire          *wire
	moving, fixed table // what the group has; what is assigned for good
	slots         []*slot
	look          *lookout

	mu               sync.Mutex
	sent             int
	kills, pauses    int
	leaves, restarts int
	tooEarly         int       // starts while the broker was restarted
	down             bool      // the broker is being restarted
	backUp           time.Time // when it was up again
}

// slot is a place for one process at a time.
type slot struct {
	name, config string
	grouped      bool

	mu   sync.Mutex
	p    *proc
	busy bool  // being disturbed
	peak int64 // MiB
}

func newSoak(t *testing.T, z size) *soak {
	s := &soak{size: z, t: t, broker: realkafka.Start(t, realkafka.Options{})}
	s.moving = newTable(t, "moving")
	s.fixed = table{s.moving.bucket, "fixed"}
	for _, tb := range []table{s.moving, s.fixed} {
		s.broker.CreateTopic(t, tb.topic, ofEachTopic, nil)
	}
	s.wire = newWire(t, rand.New(rand.NewPCG(z.seed, 1)))
	base := setup{
		brokers: s.broker.Addr(), store: s.wire.addr(), bucket: s.moving.bucket,
		more: fmt.Sprintf("batch: {max_age: 1s, max_rows: 20000}\nmemory: 128MiB\nshutdown_timeout: %v\nrebalance_timeout: 15s", shutdown),
	}
	for i := range groupProcesses {
		c := base
		c.group, c.topics, c.driver = "moving", []string{"moving"}, []string{"s3", "minio"}[i%2]
		c.more += fmt.Sprintf("\nsession_timeout: %v\nheartbeat_interval: 500ms", session)
		s.slots = append(s.slots, &slot{name: fmt.Sprintf("group-%d", i), config: c.write(t), grouped: true})
	}
	for i := range staticProcesses {
		c := base
		n := ofEachTopic / staticProcesses
		c.group, c.topics, c.driver = "fixed", []string{"fixed"}, []string{"minio", "s3"}[i%2]
		c.partitions = fmt.Sprintf("{fixed: [%d, %d, %d]}", i*n, i*n+1, i*n+2)
		s.slots = append(s.slots, &slot{name: fmt.Sprintf("static-%d", i), config: c.write(t)})
	}
	s.look = newLookout(t, s.broker, s.moving, s.fixed)
	for _, sl := range s.slots {
		s.launch(sl)
	}
	s.wire.set(func(w *wire) { w.share = failingShare })
	return s
}

// launch starts the process of a slot. It must not end unasked, but for a start
// in the middle of a restart of the broker, which a supervisor would try again.
func (s *soak) launch(sl *slot) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	s.start(sl)
}

func (s *soak) start(sl *slot) {
	p := launch(s.t, sl.config)
	sl.p = p
	go func() {
		<-p.done
		sl.mu.Lock()
		defer sl.mu.Unlock()
		mib, _ := p.usage()
		sl.peak = max(sl.peak, mib)
		switch {
		case p.asked():
		case p.code() == 1 && p.errs.has("no broker answers") > 0 && s.wasDown():
			s.count(&s.tooEarly)
			s.start(sl)
		default:
			s.t.Errorf("%s ended by itself with exit code %d:\n%s", sl.name, p.code(), p.errs.last())
		}
	}()
}

// wasDown reports whether the broker is being restarted, or was a moment ago.
func (s *soak) wasDown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down || time.Since(s.backUp) < 10*time.Second
}

// produce sends the records at an even pace, in 90% of the time.
func (s *soak) produce() {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.broker.Addr()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(20*time.Millisecond), kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		s.t.Error(err)
		return
	}
	defer client.Close()
	begin := time.Now()
	for id := 0; id < s.records; {
		due := int(float64(s.records) * float64(time.Since(begin)) / float64(s.length*9/10))
		for ; id < min(due, s.records); id++ {
			client.Produce(s.t.Context(), s.record(id), func(r *kgo.Record, err error) {
				if err != nil {
					s.t.Errorf("produce to %s/%d: %v", r.Topic, r.Partition, err)
				}
			})
		}
		s.mu.Lock()
		s.sent = id
		s.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
	}
	if err := client.Flush(s.t.Context()); err != nil {
		s.t.Error(err)
	}
}

func (s *soak) record(id int) *kgo.Record {
	r := &kgo.Record{Topic: "moving", Partition: int32(id % (2 * ofEachTopic)), Value: value(id)}
	if r.Partition >= ofEachTopic {
		r.Topic, r.Partition = "fixed", r.Partition-ofEachTopic
	}
	return r
}

// strike disturbs processes, one after the other is chosen, several at once.
func (s *soak) strike() {
	random := rand.New(rand.NewPCG(s.seed, 2))
	acts := slices.Concat(
		slices.Repeat([]func(*slot, *rand.Rand){s.kill}, (s.strikes+1)/2),
		slices.Repeat([]func(*slot, *rand.Rand){s.pause}, s.strikes/2),
		slices.Repeat([]func(*slot, *rand.Rand){s.leave}, (s.strikes+4)/5),
	)
	random.Shuffle(len(acts), func(i, j int) { acts[i], acts[j] = acts[j], acts[i] })
	begin := time.Now()
	var under sync.WaitGroup
	for i, act := range acts {
		time.Sleep(time.Until(begin.Add(s.length * time.Duration(i+1) / time.Duration(len(acts)+1))))
		sl := s.free(random)
		own := rand.New(rand.NewPCG(random.Uint64(), 0))
		under.Go(func() {
			act(sl, own)
			sl.mu.Lock()
			sl.busy = false
			sl.mu.Unlock()
		})
	}
	under.Wait()
}

// free picks a slot that is not being disturbed.
func (s *soak) free(random *rand.Rand) *slot {
	for {
		for _, i := range random.Perm(len(s.slots)) {
			sl := s.slots[i]
			sl.mu.Lock()
			was := sl.busy
			sl.busy = true
			sl.mu.Unlock()
			if !was {
				return sl
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// now returns the process that runs in a slot.
func (sl *slot) now() *proc {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return sl.p
}

func (s *soak) count(n *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}

// kill ends a process with SIGKILL and starts it again.
func (s *soak) kill(sl *slot, random *rand.Rand) {
	s.count(&s.kills)
	sl.now().kill()
	time.Sleep(between(random, 0, 3*time.Second))
	s.launch(sl)
}

// pause stops a process for so long that its group has given its partitions to
// others, and lets it go on.
func (s *soak) pause(sl *slot, random *rand.Rand) {
	s.count(&s.pauses)
	p := sl.now()
	p.signal(syscall.SIGSTOP)
	if sl.grouped {
		time.Sleep(between(random, session+time.Second, 3*session))
	} else {
		time.Sleep(between(random, 0, 2*session))
	}
	p.signal(syscall.SIGCONT)
}

// leave stops a process in good order and starts it again.
func (s *soak) leave(sl *slot, random *rand.Rand) {
	s.count(&s.leaves)
	s.stop(sl)
	time.Sleep(between(random, 0, 3*time.Second))
	s.launch(sl)
}

// stop ends a process by SIGTERM, which must be in time and exit code 0,
// whatever the broker and the store are at.
func (s *soak) stop(sl *slot) {
	p := sl.now()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
		if p.code() != 0 {
			s.t.Errorf("%s: exit code %d after SIGTERM:\n%s", sl.name, p.code(), p.errs.last())
		}
	case <-time.After(shutdown + 2*time.Second): // of a busy machine
		s.t.Errorf("%s has not ended %v after SIGTERM:\n%s", sl.name, shutdown, p.errs.last())
		p.kill()
	}
}

func between(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(most-least)))
}

// crash kills the broker and starts it again.
func (s *soak) crash() {
	s.without(func() {
		s.broker.Kill9()
		s.broker.Up(s.t)
	})
}

// restart stops the broker in good order and starts it again.
func (s *soak) restart() {
	s.without(func() { s.broker.Restart(s.t) })
}

// without notes that there is no broker while f runs.
func (s *soak) without(f func()) {
	s.mu.Lock()
	s.down = true
	s.restarts++
	s.mu.Unlock()
	f()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down, s.backUp = false, time.Now()
}

// dawdle makes the store slow for seconds, again and again.
func (s *soak) dawdle(stop <-chan struct{}) {
	random := rand.New(rand.NewPCG(s.seed, 3))
	for {
		for _, pause := range []time.Duration{0, between(random, 100*time.Millisecond, 800*time.Millisecond)} {
			s.wire.set(func(w *wire) { w.pause = pause })
			length := between(random, 2*time.Second, 6*time.Second)
			if pause == 0 {
				length *= 3
			}
			select {
			case <-stop:
				return
			case <-time.After(length):
			}
		}
	}
}
