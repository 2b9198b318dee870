package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/dir"
)

// A topic that was deleted and created again stops the sink. A reset prints
// what it would do and changes nothing; with --apply the new log follows the
// old rows.
func TestReset(t *testing.T) {
	c := broker(t)
	produce(t, c, 0, 25)
	path := t.TempDir()
	file := write(t, fmt.Sprintf("brokers: [%q]\nstore: \"dir:%s\"\nbatch: {max_rows: 10}\n%s", c.ListenAddrs()[0], path, quakes))
	once := func(code int, says string) {
		t.Helper()
		if got := lakeweir(t, "run", "-c", file, "--once"); got.code != code || !strings.Contains(got.err, says) {
			t.Fatalf("%+v, want code %d", got, code)
		}
	}
	once(exitOK, "")
	if err := c.DeleteTopic("quakes"); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTopic("quakes", 2, nil); err != nil {
		t.Fatal(err)
	}
	produce(t, c, 100, 30)
	once(exitError, "not the same log")

	before := heads(t, path)
	got := lakeweir(t, "reset", "quakes", "-c", file)
	if got.code != 0 || !strings.Contains(got.out, "0     25         -        1           0       another  no\n") || !strings.Contains(got.out, "Nothing was changed") {
		t.Errorf("%+v", got)
	}
	if after := heads(t, path); after[0].Version != before[0].Version || after[1].Version != before[1].Version {
		t.Error("a plan changed a head")
	}
	var r struct{ Partitions []renewed }
	got = lakeweir(t, "reset", "quakes", "-c", file, "--apply", "--json", "--start", "5", "--partition", "1")
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	if want := (renewed{Partition: 1, Generation: 1, Published: 25, First: 5, Applied: true}); len(r.Partitions) != 1 || r.Partitions[0] != want {
		t.Errorf("%+v, want %+v", r.Partitions, want)
	}
	if got := lakeweir(t, "reset", "quakes", "-c", file, "--apply", "--partition", "0"); got.code != 0 || !strings.Contains(got.out, " yes\n") {
		t.Errorf("%+v", got)
	}
	once(exitOK, "")
	// The old rows and the new ones: 25 and 30, 25 and 25.
	for p, h := range heads(t, path) {
		if want := int64(55 - 5*p); h.Totals.Rows != want || h.Generation != 1 || h.Next != 30 {
			t.Errorf("partition %d: %d rows, generation %d, next %d", p, h.Totals.Rows, h.Generation, h.Next)
		}
	}
	if got := lakeweir(t, "verify", "quakes", "-c", file, "--id", "id"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if got := lakeweir(t, "files", "quakes", "-c", file); !strings.Contains(got.out, "/g0001-00000-") {
		t.Errorf("%+v", got)
	}
	// The same log again is allowed, and said.
	if got := lakeweir(t, "reset", "quakes", "-c", file); got.code != 0 || strings.Count(got.out, "THE SAME") != 2 {
		t.Errorf("%+v", got)
	}
}

// heads returns the heads of quakes in a directory.
func heads(t *testing.T, path string) (all []manifest.Head) {
	t.Helper()
	s, err := dir.New(t.Context(), dir.Config{Root: path})
	if err != nil {
		t.Fatal(err)
	}
	for h, err := range manifest.Heads(t.Context(), store.Sub(s, "quakes/")) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
	return all
}

// What cannot be reset says why.
func TestResetFails(t *testing.T) {
	c := broker(t)
	path := newLake(t)
	fails(t, exitUsage, "no brokers", "reset", "quakes", "--store", "dir:"+path)
	addr := c.ListenAddrs()[0]
	fails(t, exitError, "there is no table", "reset", "quake", "--store", "dir:"+path, "--brokers", addr)
	fails(t, exitError, "quakes/0: start: offset 7 is not in the log", "reset", "quakes", "--store", "dir:"+path, "--brokers", addr, "--start", "7", "--partition", "0")
	fails(t, exitUsage, "table", "reset", "--store", "dir:"+path, "--brokers", addr)
}
