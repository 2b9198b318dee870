package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/dir"
	"github.com/lakeweir/lakeweir/store/memory"
)

// totals returns what is published of quakes, over all partitions.
func totals(t *testing.T, s store.Store) (sum manifest.Totals) {
	t.Helper()
	for h, err := range manifest.Heads(t.Context(), store.Sub(s, "quakes/")) {
		if err != nil {
			t.Fatal(err)
		}
		sum = sum.Add(h.Totals)
	}
	return sum
}

// once runs a sink to the end of the logs on a store.
func once(t *testing.T, s *settings.Settings, on store.Store) {
	t.Helper()
	o := runOptions{settings: s, once: true, open: func(context.Context) (store.Store, error) { return on, nil }}
	if err := runRun(t.Context(), o, io.Discard); err != nil {
		t.Fatal(err)
	}
}

// A group reads to the end too, and goes on in the next run.
func TestOnceInAGroup(t *testing.T) {
	t.Parallel()
	c := broker(t)
	s, mem := sinkSettings(c), &memory.Store{}
	s.Group = "lakeweir"
	for round := 1; round <= 2; round++ {
		produce(t, c, 0, 15)
		once(t, s, mem)
		if got := totals(t, mem); got.Rows != int64(30*round) || got.Dead != 0 {
			t.Errorf("round %d: %+v", round, got)
		}
	}
}

// Where the operator rules out a second writer, a store that ignores
// conditions serves.
func TestSingleWriter(t *testing.T) {
	c := broker(t)
	produce(t, c, 0, 15)
	s, mem := sinkSettings(c), &memory.Store{}
	s.SingleWriter = true
	once(t, s, store.SingleWriter(forgetful{mem}))
	if got := totals(t, mem); got.Rows != 30 {
		t.Errorf("%+v", got)
	}
	for _, key := range keys(t, mem) {
		if strings.HasPrefix(key, ".lakeweir-probe") {
			t.Errorf("%s: it was probed", key)
		}
	}
}

// A partition begins where the settings say, and never again.
func TestStart(t *testing.T) {
	f := func(start settings.Start, want int64) {
		t.Helper()
		c := broker(t)
		produce(t, c, 0, 15)
		s, mem := sinkSettings(c), &memory.Store{}
		s.Start = start
		once(t, s, mem)
		s.Start = settings.Start{}
		once(t, s, mem)
		if got := totals(t, mem); got.Rows != want {
			t.Errorf("start %s: %d rows, want %d", start, got.Rows, want)
		}
	}
	ten := int64(10)
	f(settings.Start{}, 30)
	f(settings.Start{Latest: true}, 0)
	f(settings.Start{Offset: &ten}, 10)
	f(settings.Start{Time: time.Now().Add(-time.Hour)}, 30)
	f(settings.Start{Time: time.Now().Add(time.Hour)}, 0)
}

// A topic that is waited for is read when it comes.
func TestWaitForTopics(t *testing.T) {
	t.Parallel()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	s := sinkSettings(c)
	s.WaitForTopics = true
	r := start(t, s)
	if err := c.CreateTopic("quakes", 2, nil); err != nil {
		t.Fatal(err)
	}
	produce(t, c, 0, 10)
	r.rows(t, 0, 10)
	r.signals <- os.Interrupt
	if err := <-r.done; err != nil {
		t.Error(err)
	}
}

// Partitions without a head are shown when brokers know of them.
func TestStatusWithoutHeads(t *testing.T) {
	c := broker(t)
	produce(t, c, 0, 3)
	args := []string{"status", "quakes", "--store", "dir:" + t.TempDir(), "--brokers", c.ListenAddrs()[0]}
	got := lakeweir(t, args...)
	if lines := strings.Split(got.out, "\n"); got.code != 0 || len(lines) != 4 || !strings.Contains(lines[2], "no head") {
		t.Errorf("%+v", got)
	}
	var r report
	if err := json.Unmarshal([]byte(lakeweir(t, append(args, "--json")...).out), &r); err != nil || len(r.Partitions) != 2 {
		t.Fatalf("%v: %+v", err, r)
	}
	if p := r.Partitions[1]; p.Head || p.Partition != 1 || *p.LogEnd != 3 || *p.Unpublished != 3 {
		t.Errorf("%+v", p)
	}
	// A table whose topic is gone keeps what its heads say.
	empty, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	got = lakeweir(t, "status", "quakes", "--store", "dir:"+newLake(t), "--brokers", empty.ListenAddrs()[0])
	if got.code != 0 || !strings.Contains(got.out, "quakes") || !strings.Contains(got.err, "topic does not exist") {
		t.Errorf("%+v", got)
	}
}

// All tables are found, and nothing else is taken for one.
func TestTables(t *testing.T) {
	s, err := dir.New(t.Context(), dir.Config{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"a/manifest/00000.json", "a/data/x", "b.c/manifest/00001.json", "b.c/manifest/00000.json", "notes.txt",
		"no-table/data/x", "z/manifest/00000.json", ".dotted/manifest/00000.json", ".lakeweir-probe-x/manifest/00000.json", "not a topic/manifest/00000.json",
	} {
		if _, err := s.Put(t.Context(), key, nil, store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := tables(t.Context(), s)
	if want := []string{".dotted", "a", "b.c", "z"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// An unsafe store is told check by check, and by the exit code.
func TestProbeOfAnUnsafeStore(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		set := settings.New()
		set.Store = "dir:not-used"
		err := runProbe(t.Context(), probeOptions{settings: set, json: asJSON, open: func(context.Context) (store.Store, error) {
			return forgetful{&memory.Store{}}, nil
		}}, &out)
		if !errors.Is(err, store.ErrUnsafe) || exitCode(err) != exitError {
			t.Errorf("got %v", err)
		}
		want := "FAIL  an object is created once"
		if asJSON {
			want = `"safe": false`
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s, want %q", out.String(), want)
		}
	}
}

// verify of a directory that holds rows nobody published.
func TestVerifyFindsForeignFiles(t *testing.T) {
	path := newLake(t)
	from := filepath.Join(path, "quakes", "data", "00000-00000000000000000000-00000000000000000010.parquet")
	body, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "quakes", "data", "copy.parquet"), body, 0o600); err != nil {
		t.Fatal(err)
	}
	body[len(body)/3] ^= 1
	if err := os.WriteFile(from, body, 0o600); err != nil {
		t.Fatal(err)
	}
	got := lakeweir(t, "verify", "quakes", "--store", "dir:"+path, "--deep")
	for _, want := range []string{"damage: data/copy.parquet", "damage: data/00000-00000000000000000000", "SHA-256"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is not in %s", want, got.out)
		}
	}
	if got.code != exitDamage || !strings.Contains(got.err, "2 findings") {
		t.Errorf("%+v", got)
	}
}
