// Package soak runs several processes of the command at once, on a real Apache
// Kafka and the S3 wire, and disturbs them: kills, pauses, restarts of the
// broker, a store that fails and dawdles. What they must keep to is checked from
// outside: by DuckDB on the files, by the offsets that the group shows, by exit
// codes and clocks.
package soak

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/lakeweir/lakeweir/integration/gateway"
	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
)

// What the tests share. A gateway is one to a process.
var (
	binary  string // the command, built once
	gateDir string // the buckets of the gateway are folders of it, objects plain files
	gate    *gateway.Gateway
	idsPy   string // the gateway changes the working directory, so paths are absolute
)

func TestMain(m *testing.M) { os.Exit(lakeweirtest.Main(m, setUp)) }

// sideBySide is how many of the parallel tests run at once, whatever the number
// of cores: what they do most is to wait.
const sideBySide = "4"

func setUp() (err error) {
	if err := flag.Set("test.parallel", sideBySide); err != nil { // what the command line says still comes after
		return err
	}
	if idsPy, err = filepath.Abs("ids.py"); err != nil {
		return err
	}
	binary = lakeweirtest.Binary()
	gate, gateDir, err = lakeweirtest.Gateway()
	return err
}
