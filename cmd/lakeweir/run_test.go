package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// broker is a Kafka in this process with the topic quakes of two partitions.
func broker(t *testing.T) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "quakes"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// produce sends n events to each partition. Ids go on from first.
func produce(t *testing.T, c *kfake.Cluster, first, n int) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for p := range int32(2) {
		for i := range n {
			r := &kgo.Record{Topic: "quakes", Partition: p, Value: fmt.Appendf(nil, `{"id":"%d-%d"}`, p, first+i)}
			if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

const quakes = `
topics:
  quakes:
    value: json
    columns: [{name: id, type: string, required: true}]
`

func TestRunOnce(t *testing.T) {
	c := broker(t)
	produce(t, c, 0, 25)
	path := t.TempDir()
	file := write(t, fmt.Sprintf("brokers: [%q]\nstore: \"dir:%s\"\nbatch: {max_rows: 10}\n%s", c.ListenAddrs()[0], path, quakes))
	unpublished := func(want int64) {
		t.Helper()
		var r report
		got := lakeweir(t, "status", "-c", file, "--json")
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || len(r.Partitions) != 2 || r.Broker != "" {
			t.Fatalf("%v: %+v", err, got)
		}
		for _, p := range r.Partitions {
			if p.Unpublished == nil || *p.Unpublished != want {
				t.Errorf("partition %d: %s", p.Partition, got.out)
			}
		}
	}
	unpublished(25)
	for round := 1; round <= 2; round++ {
		if got := lakeweir(t, "run", "-c", file, "--once"); got.code != 0 || got.out != "" {
			t.Fatalf("round %d: %+v", round, got)
		}
		unpublished(0)
		got := lakeweir(t, "files", "quakes", "-c", file)
		if n := strings.Count(got.out, "\n"); got.code != 0 || n != 6*round {
			t.Errorf("round %d: %d files: %+v", round, n, got)
		}
		if got := lakeweir(t, "verify", "quakes", "-c", file, "--id", "id"); got.code != 0 {
			t.Errorf("round %d: %+v", round, got)
		}
		if round == 1 {
			produce(t, c, 25, 25)
			unpublished(25)
		}
	}
	// The table of a status has the same figures.
	if got := lakeweir(t, "status", "-c", file); !strings.Contains(got.out, "quakes  0     50    -        50   0    ") {
		t.Errorf("%+v", got)
	}
}

// watched is a store that tells of every head that is written.
type watched struct {
	store.Store
	heads chan struct{}
}

func (w watched) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	info, err := w.Store.Put(ctx, key, body, cond)
	if strings.Contains(key, "/manifest/") && err == nil {
		select {
		case w.heads <- struct{}{}:
		default:
		}
	}
	return info, err
}

// running is a sink that was started by start.
type running struct {
	root    store.Store
	heads   chan struct{}
	signals chan os.Signal
	done    chan error
	log     *safeBuffer
}

// start runs a sink on a store in memory until it is told to end.
func start(t *testing.T, s *settings.Settings) *running {
	t.Helper()
	r := &running{
		root: &memory.Store{}, heads: make(chan struct{}, 1), signals: make(chan os.Signal, 2),
		done: make(chan error, 1), log: &safeBuffer{},
	}
	o := runOptions{settings: s, signals: r.signals, open: func(context.Context) (store.Store, error) {
		return watched{r.root, r.heads}, nil
	}}
	go func() { r.done <- runRun(t.Context(), o, r.log) }()
	return r
}

// rows waits until so many rows are published in a partition.
func (r *running) rows(t *testing.T, partition int32, want int64) {
	t.Helper()
	for {
		h, err := manifest.Read(t.Context(), store.Sub(r.root, "quakes/"), partition)
		if err == nil && h.Totals.Rows >= want {
			return
		}
		select {
		case <-r.heads:
		case err := <-r.done:
			t.Fatalf("the sink ended: %v, %s", err, r.log)
		}
	}
}

// safeBuffer is a buffer that several goroutines write.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// sinkSettings are those of a sink that reads quakes of c, ten rows to a batch.
func sinkSettings(c *kfake.Cluster) *settings.Settings {
	s := settings.New()
	s.Brokers, s.Store, s.Batch.MaxRows = c.ListenAddrs(), "dir:not-used", 10
	s.Topics = []settings.Topic{{Name: "quakes"}}
	return s
}

// The first signal publishes what was read, with a group and without.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, group := range []string{"", "lakeweir"} {
		c := broker(t)
		produce(t, c, 0, 25)
		s := sinkSettings(c)
		s.Group = group
		r := start(t, s)
		r.rows(t, 0, 20)
		r.rows(t, 1, 20)
		r.signals <- os.Interrupt
		if err := <-r.done; err != nil {
			t.Errorf("group %q: %v, %s", group, err, r.log)
		}
		if !strings.Contains(r.log.String(), "stopping: publishing what was read") {
			t.Errorf("group %q: log %s", group, r.log)
		}
	}
}

// When another writer has every partition, the sink ends with its own code.
func TestFenced(t *testing.T) {
	t.Parallel()
	c := broker(t)
	produce(t, c, 0, 10)
	r := start(t, sinkSettings(c))
	r.rows(t, 0, 10)
	r.rows(t, 1, 10)
	topic := c.TopicInfo("quakes").TopicID
	for p := range int32(2) {
		h, err := manifest.Read(t.Context(), store.Sub(r.root, "quakes/"), p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := manifest.Claim(t.Context(), store.Sub(r.root, "quakes/"), manifest.Claimant{
			Table: "quakes", Partition: p, Host: "another",
			Identity: record.Identity{Cluster: h.Identity.Cluster, Topic: topic},
		}); err != nil {
			t.Fatal(err)
		}
	}
	produce(t, c, 10, 10)
	err := <-r.done
	if exitCode(err) != exitFenced || !strings.Contains(err.Error(), "lakeweir status") {
		t.Errorf("got %v", err)
	}
}

// forgetful is a store that ignores conditions.
type forgetful struct{ store.Store }

func (f forgetful) Put(ctx context.Context, key string, body []byte, _ store.Cond) (store.Info, error) {
	return f.Store.Put(ctx, key, body, store.Blind())
}

// keys returns what a store holds.
func keys(t *testing.T, s store.Store) (all []string) {
	t.Helper()
	for info, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, info.Key)
	}
	return all
}

// A start that cannot go well ends with one line, and has written nothing.
func TestBadStart(t *testing.T) {
	t.Parallel()
	c := broker(t)
	produce(t, c, 0, 1)
	f := func(change func(*settings.Settings), wrap func(store.Store) store.Store, code int, want string) {
		t.Helper()
		s, mem := sinkSettings(c), &memory.Store{}
		change(s)
		o := runOptions{settings: s, open: func(context.Context) (store.Store, error) { return wrap(mem), nil }}
		err := runRun(t.Context(), o, io.Discard)
		if err == nil || exitCode(err) != code || !strings.Contains(oneLine(err), want) || len(oneLine(err)) > 400 {
			t.Errorf("got %v, want %q", err, want)
		}
		if got := keys(t, mem); len(got) > 1 {
			t.Errorf("%s: the store holds %q", want, got)
		}
	}
	plain := func(s store.Store) store.Store { return s }
	nothing := func(*settings.Settings) {}
	// A topic that is not there, and stays so.
	f(func(s *settings.Settings) { s.Topics = []settings.Topic{{Name: "quake"}} }, plain, exitError, `topic "quake": topic does not exist`)
	if c.TopicInfo("quake") != nil {
		t.Error("the topic was created")
	}
	// A partition that is not there.
	f(func(s *settings.Settings) { s.Partitions = map[string][]int32{"quakes": {7}} }, plain, exitError, "has no partition 7")
	// A store that ignores conditions: the probe removes what it wrote.
	f(nothing, func(s store.Store) store.Store { return forgetful{s} }, exitError, "single_writer: true")
	// A head of a format to come.
	f(nothing, func(s store.Store) store.Store {
		if _, err := s.Put(t.Context(), "quakes/manifest/00001.json", []byte(`{"format":"2.0"}`), store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
		return s
	}, exitError, "format not known to this version")
	// A head that is damaged.
	f(nothing, func(s store.Store) store.Store {
		if _, err := s.Put(t.Context(), "quakes/manifest/00001.json", []byte(`{"format":"1.0"}`), store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
		return s
	}, exitDamage, "damaged table")
	// An offset that the log does not hold.
	f(func(s *settings.Settings) {
		n := int64(99)
		s.Start = settings.Start{Offset: &n}
	}, plain, exitError, "start: offset 99 is not in the log")
	// Where no broker is.
	f(func(s *settings.Settings) { s.Brokers = []string{"127.0.0.1:1"} }, plain, exitError, "no broker answers at")
	// Files that are not there.
	f(func(s *settings.Settings) { s.TLS.CA = "/nowhere.pem" }, plain, exitError, "tls.ca: ")
}

// A bucket that is not there, and one that may not be read.
func TestBadBucket(t *testing.T) {
	f := func(status int, code, want string) {
		t.Helper()
		var written []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet && r.Method != http.MethodHead {
				written = append(written, r.Method+" "+r.URL.Path)
			}
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
		}))
		defer server.Close()
		for _, args := range [][]string{
			{"run", "--brokers", "127.0.0.1:1", "--topic", "quakes"}, {"status"}, {"files", "quakes"}, {"verify", "quakes"},
		} {
			at := "minio://" + strings.TrimPrefix(server.URL, "http://") + "/lake/raw"
			got := lakeweir(t, append(args, "--store", at, "--s3-access-key", "key", "--s3-secret-key", "hunter2")...)
			if got.code != exitError || !strings.Contains(got.err, want) || strings.Contains(got.err, "hunter2") {
				t.Errorf("%s: %+v", args[0], got)
			}
		}
		if written != nil {
			t.Errorf("%s: %q was asked for", code, written)
		}
	}
	f(http.StatusNotFound, "NoSuchBucket", "there is no such bucket: create it, or correct store")
	f(http.StatusForbidden, "AccessDenied", "access is denied: check the credentials")
	f(http.StatusForbidden, "InvalidAccessKeyId", "does not know the access key")
}
