package demo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// asSink is set in the environment of this test binary when it is to be a sink.
const asSink = "LAKEWEIR_TEST_SINK"

func TestMain(m *testing.M) {
	if os.Getenv(asSink) != "" {
		if err := Sink(context.Background(), os.Stdin, os.Stdout, os.Stderr, nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// self starts this test binary as a sink.
func self(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), asSink+"=1")
	return cmd
}

// The whole show in small: every named step, a stopped sink, nothing lost.
func TestRun(t *testing.T) {
	kills := 7
	r, err := Run(t.Context(), Config{
		Command: self, Dir: filepath.Join(t.TempDir(), "lake"), Records: 4000, Kills: &kills, Out: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}
