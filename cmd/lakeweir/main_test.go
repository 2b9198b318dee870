package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
)

// outcome is what a command line gave.
type outcome struct {
	code     int
	out, err string
}

// lakeweir runs a command line in this process.
func lakeweir(t *testing.T, args ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	code := execute(t.Context(), args, &out, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

// fails checks that a command line ends with a code and one line that has the
// text, and prints nothing else.
func fails(t *testing.T, code int, text string, args ...string) {
	t.Helper()
	got := lakeweir(t, args...)
	if got.code != code {
		t.Errorf("%q: exit code %d, want %d (%s)", args, got.code, code, got.err)
	}
	if !strings.HasPrefix(got.err, "lakeweir: ") || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, text) {
		t.Errorf("%q: stderr %q, want one line with %q", args, got.err, text)
	}
	if got.out != "" {
		t.Errorf("%q: stdout %q, want nothing", args, got.out)
	}
}

// write writes a file of settings and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lakeweir.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUsageErrors(t *testing.T) {
	// Commands.
	fails(t, exitUsage, `there is no command "statsu": did you mean "status"?`, "statsu")
	fails(t, exitUsage, `there is no command "frobnicate"`, "frobnicate")
	// Flags.
	fails(t, exitUsage, "did you mean --brokers?", "run", "--borkers", "a:1")
	fails(t, exitUsage, "lakeweir run --help", "run", "--frobnicate")
	fails(t, exitUsage, "--memory: ", "run", "--memory", "lots")
	fails(t, exitUsage, "needs an argument", "run", "--memory")
	fails(t, exitUsage, `lakeweir: --kills: "x": invalid syntax`, "demo", "--kills", "x")
	fails(t, exitUsage, "there is nothing to show without records", "demo", "--records", "0")
	// Arguments.
	fails(t, exitUsage, "takes the name of one table", "files")
	fails(t, exitUsage, "takes the name of one table", "verify", "a", "b")
	fails(t, exitUsage, "takes no arguments", "run", "now")
	// Settings that are not enough.
	fails(t, exitUsage, "no brokers", "run")
	fails(t, exitUsage, "no topics", "run", "--brokers", "a:1", "--store", "dir:x")
	fails(t, exitUsage, "store is not set", "run", "--brokers", "a:1")
	fails(t, exitUsage, "store is not set", "files", "quakes")
	fails(t, exitUsage, "store is not set", "verify", "quakes")
	fails(t, exitUsage, "store is not set", "status")
	fails(t, exitUsage, "store is not set", "probe")
	fails(t, exitUsage, "is of no known kind", "status", "--store", "gs://x")
	fails(t, exitUsage, "--format csv", "files", "quakes", "--format", "csv", "--store", "dir:.")
	// A typo in the file.
	fails(t, exitUsage, `lakeweir.yaml:1: unknown key "brokrs": did you mean "brokers"?`, "run", "-c", write(t, "brokrs: [a:1]\n"))
	fails(t, exitUsage, "no such file", "run", "-c", "/nowhere.yaml")
}

func TestExitCodes(t *testing.T) {
	f := func(err error, want int) {
		t.Helper()
		if got := exitCode(err); got != want {
			t.Errorf("%v: got %d, want %d", err, got, want)
		}
	}
	f(nil, 0)
	f(errors.New("x"), 1)
	f(usage(errors.New("x")), 2)
	f(manifest.ErrFenced, 3)
	f(manifest.ErrDamage, 4)
	f(manifest.ErrFormat, 1)
	// What is promised is what is documented.
	help := lakeweir(t, "--help").out
	for _, text := range []string{"0 ok", "1 error", "2 wrong usage", "3 run ended", "4 damage"} {
		if !strings.Contains(strings.Join(strings.Fields(help), " "), text) {
			t.Errorf("the help text does not say %q", text)
		}
	}
}

func TestHelp(t *testing.T) {
	got := lakeweir(t)
	if got.code != 0 || !strings.Contains(got.out, "Available Commands") || got.err != "" {
		t.Errorf("without arguments: %+v", got)
	}
	for _, command := range newRootCommand().Commands() {
		got := lakeweir(t, command.Name(), "--help")
		if got.code != 0 || !strings.Contains(got.out, "Usage:") || got.err != "" {
			t.Errorf("%s --help: %+v", command.Name(), got)
		}
	}
	if got := lakeweir(t, "completion", "bash"); got.code != 0 || !strings.Contains(got.out, "__lakeweir") {
		t.Errorf("completion: code %d", got.code)
	}
}

func TestVersion(t *testing.T) {
	got := lakeweir(t, "version")
	if got.code != 0 || !strings.HasPrefix(got.out, "lakeweir ") {
		t.Errorf("%+v", got)
	}
	var b build
	if err := json.Unmarshal([]byte(lakeweir(t, "version", "--json").out), &b); err != nil || b.Go == "" || b.Version == "" {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestConfig(t *testing.T) {
	t.Setenv("LAKEWEIR_SASL_PASSWORD", "hunter2")
	path := write(t, "brokers: [a:1]\ngroup: g\n")
	got := lakeweir(t, "config", "-c", path, "--group", "h")
	for _, text := range []string{"brokers: [a:1]", "From: lakeweir.yaml:1.", "group: h", "From: --group.", "# sasl.password: (hidden)", "From: LAKEWEIR_SASL_PASSWORD."} {
		if !strings.Contains(got.out, text) {
			t.Errorf("the listing does not say %q", text)
		}
	}
	// What it prints can be read back.
	again := lakeweir(t, "config", "-c", write(t, got.out))
	if got.code != 0 || again.code != 0 || !strings.Contains(again.out, "brokers: [a:1]") {
		t.Errorf("codes %d and %d: %s", got.code, again.code, again.err)
	}
	var all struct{ Settings []listed }
	asJSON := lakeweir(t, "config", "-c", path, "--json")
	if err := json.Unmarshal([]byte(asJSON.out), &all); err != nil {
		t.Fatal(err)
	}
	values := map[string]listed{}
	for _, s := range all.Settings {
		values[s.Name] = s
	}
	if s := values["group"]; s.Value != "g" || s.Origin != "lakeweir.yaml:2" || s.Flag != "--group" || s.Env != "LAKEWEIR_GROUP" {
		t.Errorf("group is %+v", s)
	}
	if s := values["batch.max_bytes"]; s.Value != "128MiB" || s.Default != "128MiB" || s.Origin != "default" {
		t.Errorf("batch.max_bytes is %+v", s)
	}
	if strings.Contains(got.out+asJSON.out, "hunter2") {
		t.Error("the listing shows a secret")
	}
}

// A command whose context is over ends with an error and no result.
func TestCancelled(t *testing.T) {
	dir := newLake(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut bytes.Buffer
	if code := execute(ctx, []string{"files", "quakes", "--store", "dir:" + dir}, &out, &errOut); code != exitError || out.Len() > 0 {
		t.Errorf("code %d, %s", code, out.String())
	}
}
