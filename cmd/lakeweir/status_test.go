package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

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

// Commands about one table take no pattern, and say what to do.
func TestOneTable(t *testing.T) {
	for _, args := range [][]string{{"files"}, {"verify"}, {"reset", "--brokers", "x:1"}} {
		got := lakeweir(t, append(args, "/qua.*/", "--store", "dir:"+newLake(t))...)
		if got.code != 2 || !strings.Contains(got.err, "is a pattern, and here is one name wanted") {
			t.Errorf("%q: %+v", args, got)
		}
	}
}
