// Package lakeweirtest runs the built command as its users do, as a child
// process, and reads what it did: exit code, text, heads as they lie in the
// store, and rows as DuckDB sees them.
//
// A test makes a [Sink] over a [Place], a directory or a bucket behind a
// [Proxy], and calls Run for a run that ends by itself or Start for one that it
// ends.
package lakeweirtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// What the tests of a binary share.
var (
	binary  string // the command, built once
	scratch string // holds it, and the buckets of the gateway
	source  string // this module's folder: the gateway changes the working directory
)

// Main builds the command, runs the tests and ends what they share. It returns
// the exit code, for os.Exit in TestMain of a package beside this one. What the
// package has to set up itself it does in before, when the command is there.
func Main(m *testing.M, before ...func() error) int {
	err := prepare()
	defer os.RemoveAll(scratch)
	defer stopGate()
	defer stopDuckDB()
	for _, f := range before {
		if err == nil {
			err = f()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return realkafka.Main(m)
}

// Binary returns the path of the command that Main has built.
func Binary() string { return binary }

func prepare() (err error) {
	if source, err = filepath.Abs(".."); err != nil {
		return err
	}
	if scratch, err = os.MkdirTemp("", "lakeweir-test-"); err != nil {
		return err
	}
	binary = filepath.Join(scratch, "lakeweir")
	build := exec.Command("go", "build", "-o", binary, "./cmd/lakeweir")
	build.Dir = filepath.Dir(source)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the command: %w\n%s", err, out)
	}
	return nil
}

// Await asks again and again until ok says yes, and fails the test when that
// has not come within the limit. What is for the reader of a failure.
func Await(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	late := time.After(limit)
	for !ok() {
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("after %v still not so: %s", limit, what)
		}
	}
}
