package soak

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// What one process is given, and what it may cost.
const (
	manyPartitions = 2000
	rowsOfEach     = 5
	startRequests  = 7                // to the store for each: 2 reads, the claim, the plan, the file, the publish; listings are shared
	startPower     = 30 * time.Second // of processor time, which depends on the processor: twice of what was seen
	idleFor        = 10 * time.Second
	idleTimes      = 3
	idleShare      = 0.01 // of one core
	mostSockets    = 12   // to one broker and one store
)

// Two thousand partitions with a few rows each are claimed and published with
// few requests to the store and little processor time: how soon that is depends
// on the store. With nothing to do they then cost next to nothing: no
// processor, no connection each, no write to the store (B52).
func TestManyPartitions(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Fatal("processor time and sockets of another process are read from /proc: run this test on Linux")
	}
	broker := realkafka.Start(t, realkafka.Options{})
	w, tb := newWire(t, nil), newTable(t, "many")
	broker.CreateTopic(t, "many", manyPartitions, map[string]string{"segment.index.bytes": "4096"})
	broker.Produce(t, records("many", manyPartitions, 0, manyPartitions*rowsOfEach))
	config := setup{
		brokers: broker.Addr(), store: w.addr(), bucket: tb.bucket, topics: []string{"many"}, group: "many",
		more: "batch: {max_age: 1s}",
	}.write(t)
	begin := time.Now()
	p := launch(t, config)
	pid := p.cmd.Process.Pid
	await(t, 2*time.Minute, "rows are not published", func() bool {
		return time.Since(begin) > 2*time.Second && tb.next(t, manyPartitions) == manyPartitions*rowsOfEach
	})
	started := time.Since(begin)
	puts, _ := w.count()
	requests, power := w.requests(), cpu(t, pid)
	time.Sleep(3 * time.Second) // the broker is told, garbage is collected
	before := tb.objects(t)
	// What the start left to the collector of garbage is collected in one of
	// these, for all at once; what idling costs is in each of them.
	share := 1.0
	for range idleTimes {
		busy, from := cpu(t, pid), time.Now()
		time.Sleep(idleFor)
		share = min(share, float64(cpu(t, pid)-busy)/float64(time.Since(from)))
	}
	sockets := connections(t, pid)
	later, _ := w.count()
	after := tb.objects(t)
	p.signal(15)
	code, took := p.exits(t, time.Minute)
	mib, total := p.usage()
	t.Logf("%d partitions: all published after %.1f s, %.1f s of processor time, with %d requests, %d of them PUTs; idle: %.2f%% of a core, %d connections; %d MiB at most, %v of processor time, ended in %v",
		manyPartitions, started.Seconds(), power.Seconds(), requests, puts, 100*share, sockets, mib, total, took.Round(time.Millisecond))
	if code != 0 {
		t.Errorf("exit code %d\n%s", code, p.errs)
	}
	if power > startPower {
		t.Errorf("the start took %v of processor time, want %v", power, startPower)
	}
	if requests > startRequests*manyPartitions {
		t.Errorf("%d requests to the store, want %d for each partition", requests, startRequests)
	}
	if share > idleShare {
		t.Errorf("%.2f%% of a core", 100*share)
	}
	if sockets > mostSockets {
		t.Errorf("%d connections", sockets)
	}
	if later != puts || !maps.Equal(before, after) {
		t.Errorf("%d PUTs while idle", later-puts)
	}
	exact(t, "listed", manyPartitions*rowsOfEach, tb.listed(t))
}

// newTable returns the table of a topic in a new bucket.
func newTable(t *testing.T, topic string) table {
	t.Helper()
	bucket, err := gate.Bucket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return table{bucket, topic}
}

// ticks is what /proc counts processor time in, by the kernel's promise to
// user space (USER_HZ).
const ticks = 100

// cpu returns the processor time of a process.
func cpu(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name of the command may have spaces; what follows it has none.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var sum int64
	for _, f := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return time.Duration(sum) * time.Second / ticks
}

// connections counts the sockets of a process.
func connections(t *testing.T, pid int) (n int) {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		to, err := os.Readlink(link)
		if errors.Is(err, fs.ErrNotExist) {
			continue // closed meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
