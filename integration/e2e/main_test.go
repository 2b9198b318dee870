// Package e2e runs the command as its users do: real processes, a real Apache
// Kafka, the S3 wire, and DuckDB to read what was written.
package e2e

import (
	"bytes"
	"os"
	"os/exec"
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
	checkPy string // the gateway changes the working directory, so paths are absolute
)

func TestMain(m *testing.M) { os.Exit(lakeweirtest.Main(m, setUp)) }

func setUp() (err error) {
	if checkPy, err = filepath.Abs("../duckdb/check.py"); err != nil {
		return err
	}
	binary = lakeweirtest.Binary()
	gate, gateDir, err = lakeweirtest.Gateway()
	return err
}

// lakeweir returns the command with credentials for the gateway in its environment.
func lakeweir(t *testing.T, args ...string) (cmd *exec.Cmd, out, errs *bytes.Buffer) {
	t.Helper()
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	cmd = exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+gateway.AccessKey, "AWS_SECRET_ACCESS_KEY="+gateway.SecretKey)
	cmd.Stdout, cmd.Stderr = out, errs
	return cmd, out, errs
}

// must runs the command to its end, which must be a success, and returns what it printed.
func must(t *testing.T, args ...string) string {
	t.Helper()
	cmd, out, errs := lakeweir(t, args...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("lakeweir %v: %v\n%s", args, err, errs)
	}
	return out.String()
}

// duckDB runs ../duckdb/check.py on the files that hold the events of a file.
func duckDB(t *testing.T, events string, files []string) {
	t.Helper()
	python := os.Getenv("LAKEWEIR_DUCKDB")
	if python == "" {
		t.Fatal("LAKEWEIR_DUCKDB must name the interpreter that ../duckdb/install.sh prints: use `make integration`")
	}
	out, err := exec.CommandContext(t.Context(), python, append([]string{checkPy, events}, files...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("DuckDB does not read what was sent: %v\n%s", err, out)
	}
	t.Logf("DuckDB: %s", bytes.TrimSpace(out))
}
