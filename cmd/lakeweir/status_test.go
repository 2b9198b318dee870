package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// Which tables a status is about.
func TestStatusNames(t *testing.T) {
	mem := &memory.Store{}
	for _, name := range []string{"stored", "evt.b", "evt.a"} {
		if _, err := mem.Put(t.Context(), name+"/manifest/00000.json", nil, store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
	}
	f := func(args, topics, want []string) {
		t.Helper()
		o := statusOptions{settings: settings.New(), tables: args}
		for _, name := range topics {
			topic, err := settings.ParseTopic(name)
			if err != nil {
				t.Fatal(err)
			}
			o.settings.Topics = append(o.settings.Topics, topic)
		}
		wanted, err := o.wanted()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := names(t.Context(), mem, wanted); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q %q: got %q, %v, want %q", args, topics, got, err, want)
		}
	}
	f(nil, nil, []string{"evt.a", "evt.b", "stored"})
	f(nil, []string{"b", "a"}, []string{"a", "b"})
	f([]string{"c", "a", "c"}, []string{"a", "b"}, []string{"a", "c"})
	// Patterns mean what the store has, among the settings and as arguments.
	f(nil, []string{`/evt\..*/`, "x"}, []string{"evt.a", "evt.b", "x"})
	f([]string{"/.*d/"}, []string{"a"}, []string{"stored"})
	f(nil, []string{"/none/"}, nil)
}

// A status by pattern has tables whose topics are gone, and topics that have no
// table yet.
func TestStatusOfPatterns(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "quacks", "quakes", "other"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lake := newLake(t)
	args := []string{"status", "--store", "dir:" + lake, "--brokers", c.ListenAddrs()[0], "--json"}
	f := func(want string, code int, more ...string) {
		t.Helper()
		got := lakeweir(t, append(args, more...)...)
		var r report
		if err := json.Unmarshal([]byte(got.out), &r); got.out != "" && err != nil {
			t.Fatalf("%v: %s", err, got.out)
		}
		var have []string
		for _, p := range r.Partitions {
			name := p.Table
			if p.Head {
				name += "+"
			}
			have = append(have, name)
		}
		if text := strings.Join(have, " "); text != want || got.code != code {
			t.Errorf("%q: code %d, %s %s\nwant %d, %s", more, got.code, text, got.err, code, want)
		}
	}
	f("quacks quakes+ quakes+", 0, "--topic", "/qua.*/")
	f("quacks quakes+ quakes+", 0, "/qua.*/")
	f("quakes+ quakes+", 0, "/qua.*/", "--no-broker")
	// One that means nothing, and one that is none.
	f("", 1, "/none/")
	f("", 2, "/(/")
}

// An open transaction that holds the end of a log back is told, and since when:
// by the first of its records, not by those of others before it (B03).
func TestStatusOfAnOpenTransaction(t *testing.T) {
	c := broker(t)
	produce(t, c, 0, 2)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("tx"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	began := time.Now().Add(-7 * time.Minute).Truncate(time.Millisecond)
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		r := &kgo.Record{Topic: "quakes", Partition: 1, Value: []byte("{}"), Timestamp: began.Add(time.Duration(i) * time.Minute)}
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"status", "quakes", "--store", "dir:" + t.TempDir(), "--brokers", c.ListenAddrs()[0]}
	f := func(held int64, since *time.Time, end int64, column string, more ...string) {
		t.Helper()
		var r report
		got := lakeweir(t, slices.Concat(args, more, []string{"--json"})...)
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || len(r.Partitions) != 2 {
			t.Fatalf("%v: %+v", err, got)
		}
		other, p := r.Partitions[0], r.Partitions[1]
		if *p.Held != held || *p.LogEnd != end || (p.HeldSince == nil) != (since == nil) || since != nil && !p.HeldSince.Equal(*since) {
			t.Errorf("%q: %d held since %v behind %d, want %d since %v behind %d", more, *p.Held, p.HeldSince, *p.LogEnd, held, since, end)
		}
		if *other.Held != 0 || other.HeldSince != nil {
			t.Errorf("%q: the other partition: %+v", more, other)
		}
		lines := strings.Split(lakeweir(t, slices.Concat(args, more)...).out, "\n")
		if !strings.Contains(lines[0], "OPEN-TX") || !slices.Equal(strings.Fields(lines[2])[6:], []string{column}) {
			t.Errorf("%q: %q, want %s at the end of the last", more, lines, column)
		}
	}
	f(3, &began, 2, "7m")
	// Who reads uncommitted records waits for none.
	f(0, nil, 5, "-", "--isolation", "read_uncommitted")
	if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	f(0, nil, 6, "-")
}

// Commands about one table take no pattern, and say what to do.
func TestOneTable(t *testing.T) {
	for _, args := range [][]string{{"files"}, {"verify"}, {"reset", "--brokers", "x:1"}} {
		got := lakeweir(t, append(args, "/qua.*/", "--store", "dir:"+newLake(t))...)
		if got.code != 2 || !strings.Contains(got.err, "is a pattern, and here is one name wanted") {
			t.Errorf("%q: %+v", args, got)
		}
	}
}
