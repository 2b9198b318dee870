package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/store/dir"
)

// These are set in the environment of this test binary when it is to be a sink.
const (
	asSink  = "LAKEWEIR_TEST_SINK"  // "1", or "broken" for one that cannot even start
	atPlace = "LAKEWEIR_TEST_PLACE" // broker and directory, when the order names none
)

func TestMain(m *testing.M) {
	switch os.Getenv(asSink) {
	case "":
		os.Exit(m.Run())
	case "broken":
		os.Exit(7)
	}
	broker, root, _ := strings.Cut(os.Getenv(atPlace), ",")
	err := Sink(context.Background(), os.Stdin, os.Stdout, os.Stderr, func(ctx context.Context) (Place, error) {
		return order{Brokers: []string{broker}, Dir: root}.embedded(ctx)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// self starts this test binary as a sink.
func self(env ...string) func(ctx context.Context) *exec.Cmd {
	return func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(append(os.Environ(), asSink+"=1"), env...)
		return cmd
	}
}

// The whole show in small: every named step, two sinks at a time, a stopped
// one, and nothing lost.
func TestRun(t *testing.T) {
	kills, root := 6, filepath.Join(t.TempDir(), "lake")
	r, err := Run(t.Context(), Config{Command: self(), Dir: root, Records: 2400, Kills: &kills, Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	if r.Sent != 2400 || r.Rows+r.Dead != 2400 || r.Dead == 0 {
		t.Errorf("%d sent, %d rows, %d dead letters", r.Sent, r.Rows, r.Dead)
	}
	for _, step := range named {
		if r.Steps[step.String()] == 0 {
			t.Errorf("nobody was killed %s", step)
		}
	}
	if r.Kills != kills || contends && (r.Pauses == 0 || r.Fences < Partitions) || !contends && len(r.Notes) == 0 {
		t.Errorf("%d kills, %d stopped, %d fences, notes %q", r.Kills, r.Pauses, r.Fences, r.Notes)
	}
	if files, err := filepath.Glob(filepath.Join(root, table, "data", "*.parquet")); err != nil || len(files) == 0 {
		t.Errorf("there are %d files in %s: %v", len(files), root, err)
	}
}

// The same on brokers and a store that are there already, in a topic and a
// table of its own.
func TestRunAtAPlace(t *testing.T) {
	broker, err := startBroker()
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	root, kills := t.TempDir(), 1
	s, err := dir.New(t.Context(), dir.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), Config{
		Command: self(atPlace + "=" + broker.ListenAddrs()[0] + "," + root), Records: 600, Kills: &kills,
		Place: &Place{Source: source.Config{Brokers: broker.ListenAddrs()}, Store: s, URI: root}, Out: t.Output(),
	})
	if err := errors.Join(err, r.Err()); err != nil {
		t.Error(err)
	}
	if r.Sent != 600 || r.Kills != 1 || !strings.HasPrefix(r.Table, "lakeweir-demo-") || r.Dir != root {
		t.Errorf("%d sent, %d kills, table %q in %q", r.Sent, r.Kills, r.Table, r.Dir)
	}
	if _, err := os.Stat(filepath.Join(root, r.Table, "manifest")); err != nil {
		t.Error(err)
	}
}

// Sinks that do not work lose all, and the report says so.
func TestRunOfBrokenSinks(t *testing.T) {
	kills := 1
	r, err := Run(t.Context(), Config{
		Command: self(asSink + "=broken"), Dir: filepath.Join(t.TempDir(), "lake"), Records: 600, Kills: &kills,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Lost != 600 || r.Err() == nil {
		t.Errorf("%d lost, error %v", r.Lost, r.Err())
	}
	if all := strings.Join(r.Failed, "\n"); !strings.Contains(all, "ended by itself") {
		t.Errorf("problems: %s", all)
	}
}

// A program that cannot be started is a problem too, not a hang.
func TestRunWithoutSinks(t *testing.T) {
	kills := 0
	nothing := func(ctx context.Context) *exec.Cmd {
		return exec.CommandContext(ctx, filepath.Join(t.TempDir(), "nothing"))
	}
	r, err := Run(t.Context(), Config{Command: nothing, Dir: filepath.Join(t.TempDir(), "lake"), Records: 600, Kills: &kills})
	if err != nil {
		t.Fatal(err)
	}
	if r.Err() == nil || !strings.Contains(strings.Join(r.Failed, "\n"), "start sink 1") {
		t.Errorf("problems: %q", r.Failed)
	}
}

// A run ends with its context.
func TestRunIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	command := func(ctx context.Context) *exec.Cmd {
		cancel() // with the first sink
		return self()(ctx)
	}
	if _, err := Run(ctx, Config{Command: command, Dir: filepath.Join(t.TempDir(), "lake")}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// What makes no sense is refused before anything is done.
func TestRunRefuses(t *testing.T) {
	f := func(records, kills int, dir, want string) {
		t.Helper()
		_, err := Run(t.Context(), Config{Command: self(), Dir: dir, Records: records, Kills: &kills})
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d records, %d kills in %s: %v", records, kills, dir, err)
		}
	}
	root := t.TempDir()
	fresh := filepath.Join(root, "lake")
	f(-1, 1, fresh, "negative")
	f(1000, -1, fresh, "negative")
	f(100, 12, fresh, "too few for 12 kills: send")
	if _, err := os.Stat(fresh); err == nil {
		t.Error("the directory was made")
	}
	if err := os.WriteFile(filepath.Join(root, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f(1000, 1, root, "--dir")
}
