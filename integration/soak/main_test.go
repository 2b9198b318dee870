// Package soak runs several processes of the command at once, on a real Apache
// Kafka and the S3 wire, and disturbs them: kills, pauses, restarts of the
// broker, a store that fails and dawdles. What they must keep to is checked from
// outside: by DuckDB on the files, by the offsets that the group shows, by exit
// codes and clocks.
package soak

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lakeweir/lakeweir/integration/gateway"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// What the tests share. A gateway is one to a process.
var (
	binary  string // the command, built once
	gateDir string // the buckets of the gateway are folders of it, objects plain files
	gate    *gateway.Gateway
	idsPy   string // the gateway changes the working directory, so paths are absolute
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "lakeweir-soak-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary, gateDir = filepath.Join(dir, "lakeweir"), filepath.Join(dir, "buckets")
	if idsPy, err = filepath.Abs("ids.py"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	build := exec.Command("go", "build", "-o", binary, "./cmd/lakeweir")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the command: %v\n%s", err, out)
		return 1
	}
	if err := os.Mkdir(gateDir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if gate, err = gateway.Start(gateDir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer gate.Stop()
	return realkafka.Main(m)
}
