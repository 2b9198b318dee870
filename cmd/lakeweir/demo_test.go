package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A demo that makes no sense is wrong usage, and leaves nothing behind.
func TestDemoUsage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	fails(t, exitUsage, "too few for 12 kills: send", "demo", "--dir", dir, "--records", "10")
	fails(t, exitUsage, "neither may be negative", "demo", "--dir", dir, "--kills", "-1")
	fails(t, exitUsage, "takes no arguments", "demo", "now")
	fails(t, exitUsage, "did you mean --records?", "demo", "--recods", "5")
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory was made")
	}
	// Something of a user's is in the directory.
	mine := t.TempDir()
	if err := os.WriteFile(filepath.Join(mine, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, exitUsage, "is not empty and not of a former demo", "demo", "--dir", mine)
	// A real place is named by halves, or twice.
	fails(t, exitUsage, "store is not set", "demo", "--brokers", "127.0.0.1:1")
	fails(t, exitUsage, "no brokers", "demo", "--store", "dir:"+dir)
	fails(t, exitUsage, "--dir is for the embedded demo", "demo", "--store", "dir:"+dir, "--dir", dir)
	fails(t, exitUsage, "unknown key", "demo", "-c", write(t, "brokrs: [a:1]\n"))
}

// A sink is a child of the demo and of nobody else.
func TestDemoSinkAlone(t *testing.T) {
	fails(t, exitUsage, "takes no arguments", "demo", "sink", "now")
	if got := lakeweir(t, "demo", "--help"); got.code != exitOK || strings.Contains(got.out, "sink [flags]") {
		t.Errorf("exit code %d; the help names the command of the child:\n%s", got.code, got.out)
	}
	root := newRootCommand()
	root.SetArgs([]string{"demo", "sink"})
	root.SetIn(strings.NewReader(""))
	if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "started by the demo only") {
		t.Errorf("error %v", err)
	}
}

// The sinks get the flags that say where Kafka and the store are, as they were
// given, and none of the demo's own.
func TestDemoPassesFlagsOn(t *testing.T) {
	file := write(t, "store: dir:x\n")
	cmd := newDemoCommand()
	given := recordedOf(t, cmd, "-c", file, "--brokers", "a:1", "--brokers=b:2", "--s3-path-style", "--records", "5", "--json")
	want := []string{"--config=" + file, "--brokers=a:1", "--brokers=b:2", "--s3-path-style=true"}
	if !slices.Equal(given, want) {
		t.Errorf("passed on %q, want %q", given, want)
	}
	child := demoSink(context.Background(), given)
	if got := child.Args[1:]; !slices.Equal(got, append([]string{"demo", "sink"}, want...)) {
		t.Errorf("the child is started with %q", got)
	}
	// And the child takes them.
	sink, _, err := cmd.Find([]string{"sink"})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.ParseFlags(want); err != nil {
		t.Error(err)
	}
}

// recordedOf parses flags and returns what is passed on.
func recordedOf(t *testing.T, cmd *cobra.Command, args ...string) []string {
	t.Helper()
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return *cmd.Flags().Lookup("brokers").Value.(*recorded).given
}

// A Kafka that does not answer is one clear line, and no table is begun.
func TestDemoAtAnUnreachablePlace(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut strings.Builder
	code := execute(ctx, []string{"demo", "--brokers", "127.0.0.1:1", "--store", "dir:" + dir}, &out, &errOut)
	if code != exitError || strings.Count(errOut.String(), "\n") != 1 {
		t.Errorf("exit code %d, %q", code, &errOut)
	}
	if tables, err := filepath.Glob(filepath.Join(dir, "lakeweir-demo-*")); err != nil || len(tables) > 0 {
		t.Errorf("there are %q, %v", tables, err)
	}
}
