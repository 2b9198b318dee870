package lakeweirtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Place is where tables lie: Settings are the lines of the configuration that
// say so, Root is the folder that holds the objects as plain files.
type Place struct{ Settings, Root string }

// Dir returns an empty directory as a place.
func Dir(t testing.TB) Place {
	t.Helper()
	root := filepath.Join(t.TempDir(), "lake")
	return Place{Settings: "store: dir:" + root, Root: root}
}

// Sink is a configuration of the command for one topic, and its table.
type Sink struct {
	Topic  string
	Place  Place
	config string // path
}

// New writes a configuration: the brokers, the place, the topic with raw
// values, and further lines of YAML. A line that begins with "topics:" replaces
// the topic of the file, as for a pattern.
func New(t testing.TB, broker string, at Place, topic string, lines ...string) *Sink {
	t.Helper()
	body := fmt.Sprintf("brokers: [%q]\n%s\n%s\n", broker, at.Settings, strings.Join(lines, "\n"))
	if !strings.Contains("\n"+body, "\ntopics:") {
		body += fmt.Sprintf("topics: [%q]\n", topic)
	}
	s := &Sink{Topic: topic, Place: at, config: filepath.Join(t.TempDir(), "lakeweir.yaml")}
	if err := os.WriteFile(s.config, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// Run calls `lakeweir run` with flags and waits for its end.
func (s *Sink) Run(t testing.TB, flags ...string) Result {
	t.Helper()
	return s.Start(t, flags...).Wait()
}

// Once publishes what the log has now; anything but success ends the test.
func (s *Sink) Once(t testing.TB, flags ...string) Result {
	t.Helper()
	r := s.Run(t, append([]string{"--once"}, flags...)...)
	if r.Code != 0 {
		t.Fatalf("run --once %v: exit %d\n%s", flags, r.Code, r.Log)
	}
	return r
}

// Start calls `lakeweir run` with flags. The process ends with the test.
func (s *Sink) Start(t testing.TB, flags ...string) *Process {
	t.Helper()
	return start(t, append([]string{"run", "--config", s.config}, flags...)...)
}

// Must calls another command, which must be a success, and returns what it printed.
func (s *Sink) Must(t testing.TB, command string, args ...string) string {
	t.Helper()
	r := start(t, append([]string{command, "--config", s.config}, args...)...).Wait()
	if r.Code != 0 {
		t.Fatalf("lakeweir %s %v: exit %d\n%s", command, args, r.Code, r.Log)
	}
	return r.Out
}

// Files returns the live files of the table, as the command names them.
func (s *Sink) Files(t testing.TB) []string {
	t.Helper()
	var files []string
	for line := range strings.Lines(s.Must(t, "files", s.Topic, "--json")) {
		var f struct {
			File struct{ Key string } `json:"file"`
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil || f.File.Key == "" {
			t.Fatalf("%q: %v", line, err)
		}
		files = append(files, filepath.Join(s.Place.Root, s.Topic, f.File.Key))
	}
	return files
}

// Head is what a head says, read from its object without the product's code.
type Head struct {
	Generation int
	Cluster    string `json:"cluster_id"`
	TopicID    string `json:"topic_id"`
	Version    uint64
	Epoch      uint64
	First      int64 `json:"first_offset"`
	Next       int64 `json:"next_offset"`
	Pending    *Plan
	Ranges     []Range
	Totals     struct {
		Counts
		Ranges, Files int64
	}
}

// Plan is a pending plan.
type Plan struct {
	Start, Next int64
	Attempt     int
	Keys        []string
}

// Range is a range record.
type Range struct {
	Start, Next         int64
	Generation, Attempt int
	Counts              Counts
	Data, Dead          []struct{ Key string }
}

// Counts say what became of the positions of a range.
type Counts struct{ Rows, Dead, Absent, Lost int64 }

// Head returns the head of a partition, and nil if there is none.
func (s *Sink) Head(t testing.TB, partition int) *Head {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(s.Place.Root, s.Topic, "manifest", fmt.Sprintf("%05d.json", partition)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var h Head
	if err == nil {
		err = json.Unmarshal(body, &h)
	}
	if err != nil {
		t.Fatalf("read the head of %s/%d: %v", s.Topic, partition, err)
	}
	return &h
}

// Next returns the next offset of a partition, and -1 without a head.
func (s *Sink) Next(t testing.TB, partition int) int64 {
	t.Helper()
	if h := s.Head(t, partition); h != nil {
		return h.Next
	}
	return -1
}
