package sink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
)

// cluster is a broker in this process with the topic quakes.
func cluster(t *testing.T, partitions int32) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "quakes"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// day is when the first record of a test was made; each one is a minute later.
var day = time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)

// send produces the records [first, first+n) to a partition of quakes.
func send(t *testing.T, c *kfake.Cluster, partition int32, first, n int) {
	t.Helper()
	cl := client(t, c)
	for i := first; i < first+n; i++ {
		r := &kgo.Record{Topic: "quakes", Partition: partition, Value: fmt.Appendf(nil, "%d", i), Timestamp: day.Add(time.Duration(i) * time.Minute)}
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// quakes are settings that read quakes of c, in batches of ten.
func quakes(c *kfake.Cluster) *settings.Settings {
	s := good()
	s.Brokers, s.Topics, s.Batch.MaxRows = c.ListenAddrs(), []settings.Topic{{Name: "quakes"}}, 10
	return s
}

// runOnce publishes all that there is.
func runOnce(t *testing.T, set *settings.Settings, s store.Store) error {
	t.Helper()
	k, err := New(Config{Settings: set, Store: s, Once: true})
	if err != nil {
		t.Fatal(err)
	}
	return k.Run(t.Context())
}

// head returns the head of a partition of quakes.
func head(t *testing.T, s store.Store, partition int32) manifest.Head {
	t.Helper()
	h, err := manifest.Read(t.Context(), store.Sub(s, "quakes/"), partition)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The start policy says where a partition begins that has no head, and nothing
// after that: the second run, under every policy, goes on from the head.
func TestStartPolicies(t *testing.T) {
	c := cluster(t, 1)
	send(t, c, 0, 0, 20)
	f := func(start string, first int64) {
		t.Helper()
		set, s := quakes(c), &memory.Store{}
		end := c.PartitionInfo("quakes", 0).HighWatermark
		var err error
		if set.Start, err = settings.ParseStart(start); err != nil {
			t.Fatal(err)
		}
		if first < 0 {
			first = end
		}
		if err := runOnce(t, set, s); err != nil {
			t.Fatalf("%s: %v", start, err)
		}
		if h := head(t, s, 0); h.First != first || h.Next != end || h.Totals.Rows != end-first {
			t.Errorf("%s: [%d,%d) with %d rows, want [%d,%d)", start, h.First, h.Next, h.Totals.Rows, first, end)
		}
		send(t, c, 0, int(end), 3)
		for _, again := range []string{"latest", "earliest", "5"} {
			if set.Start, err = settings.ParseStart(again); err != nil {
				t.Fatal(err)
			}
			if err := runOnce(t, set, s); err != nil {
				t.Fatalf("%s, then %s: %v", start, again, err)
			}
		}
		if h := head(t, s, 0); h.First != first || h.Next != end+3 || h.Totals.Rows != end+3-first {
			t.Errorf("%s, then others: [%d,%d) with %d rows, want [%d,%d)", start, h.First, h.Next, h.Totals.Rows, first, end+3)
		}
	}
	f("earliest", 0)
	f("latest", -1)
	f("7", 7)
	// A time between two records, that of one, before all, and after all.
	f("2026-01-31T00:03:30Z", 4)
	f("2026-01-31T00:05:00Z", 5)
	f("2026-01-30", 0)
	f("2027-01-01", -1)
}

// An offset that the log does not hold ends the run in words, and no head says
// that anything was read.
func TestStartOutside(t *testing.T) {
	c := cluster(t, 1)
	send(t, c, 0, 0, 3)
	set, s, far := quakes(c), &memory.Store{}, int64(4)
	set.Start = settings.Start{Offset: &far}
	err := runOnce(t, set, s)
	if err == nil || !strings.Contains(err.Error(), "quakes/0") || !strings.Contains(err.Error(), "offset 4 is not in the log, which holds [0,3)") {
		t.Errorf("got %v", err)
	}
	if _, err := manifest.Read(t.Context(), store.Sub(s, "quakes/"), 0); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("head: %v, want none", err)
	}
}

// order notes which parts of the outside are asked, in the order of the first
// question.
type order struct {
	mu    sync.Mutex
	asked []string
}

func (o *order) note(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Contains(o.asked, what) {
		o.asked = append(o.asked, what)
	}
}

// listen takes connections in place of a broker, notes them and hangs up.
func (o *order) listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			o.note("brokers")
			c.Close()
		}
	}()
	return l.Addr().String()
}

// Each check of the start comes before the next, and one that fails is the last.
func TestOrderOfChecks(t *testing.T) {
	c := cluster(t, 1)
	send(t, c, 0, 0, 3)
	denied := errors.New("access is denied")
	f := func(change func(set *settings.Settings, mem store.Store, o *order), list error, probe error, want, fails string) {
		t.Helper()
		o, set, mem := &order{}, quakes(c), &memory.Store{}
		change(set, mem, o)
		s := fault.Wrap(mem, func(_ context.Context, call fault.Call) fault.Action {
			what := "heads"
			if call.Op == fault.Put {
				what = "claim"
			}
			o.note(what)
			if call.Op == fault.List && list != nil {
				return fault.Fail(list)
			}
			return fault.Action{}
		})
		k, err := New(Config{Settings: set, Store: s, Once: true, Probe: func(context.Context) error { o.note("probe"); return probe }})
		if err != nil {
			t.Fatal(err)
		}
		err = k.Run(t.Context())
		if got := strings.Join(o.asked, " "); got != want {
			t.Errorf("%s: asked %q, want %q", fails, got, want)
		}
		if fails == "" && err != nil || fails != "" && (err == nil || !strings.Contains(err.Error(), fails)) {
			t.Errorf("got %v, want %q", err, fails)
		}
	}
	none := func(*settings.Settings, store.Store, *order) {}
	lost := func(set *settings.Settings, _ store.Store, o *order) { set.Brokers = []string{o.listen(t)} }
	// All is well.
	f(none, nil, nil, "heads probe claim", "")
	// The bucket is denied: the brokers are not asked.
	f(lost, denied, nil, "heads", "access is denied")
	// A head of a format to come.
	f(func(set *settings.Settings, mem store.Store, o *order) {
		lost(set, mem, o)
		if _, err := mem.Put(t.Context(), "quakes/manifest/00000.json", []byte(`{"format":"9.0"}`), store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
	}, nil, nil, "heads", `table "quakes"`)
	// The topic is not there: the store is not probed.
	f(func(set *settings.Settings, _ store.Store, _ *order) { set.Topics[0].Name = "quaker" }, nil, nil, "heads", `topic "quaker"`)
	// So it is when a partition is not.
	f(func(set *settings.Settings, _ store.Store, _ *order) {
		set.Partitions = map[string][]int32{"quakes": {0, 7}}
	}, nil, nil, "heads", "no partition 7")
	// The store ignores conditions: nothing is claimed.
	f(none, nil, store.ErrUnsafe, "heads probe", "not safe for several writers")
}

// The probe is made once for all partitions.
func TestProbeOfManyPartitions(t *testing.T) {
	c, probes := cluster(t, 4), 0
	k, err := New(Config{Settings: quakes(c), Store: &memory.Store{}, Once: true, Probe: func(context.Context) error { probes++; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Run(t.Context()); err != nil || probes != 1 {
		t.Errorf("%d probes, err %v", probes, err)
	}
}
