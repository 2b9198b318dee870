package demo

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/internal/source"
)

// The demo makes its directory, takes one of a former demo again, and leaves
// any other alone.
func TestPrepare(t *testing.T) {
	root := t.TempDir()
	write := func(path string) {
		t.Helper()
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	prepare := func(dir string) error {
		release, err := prepare(dir)
		if err == nil {
			release()
		}
		return err
	}
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }

	fresh := filepath.Join(root, "a", "b")
	if err := prepare(fresh); err != nil || !exists(filepath.Join(fresh, marker)) {
		t.Errorf("a directory that is not there: %v", err)
	}
	old := filepath.Join(fresh, table, "data", "x.parquet")
	notes := filepath.Join(fresh, "notes.txt")
	write(old)
	write(notes)
	if err := prepare(fresh); err != nil || exists(old) || !exists(notes) {
		t.Errorf("a former demo: %v, table kept %v, notes kept %v", err, exists(old), exists(notes))
	}

	empty := filepath.Join(root, "empty")
	write(filepath.Join(empty, "x"))
	if err := prepare(empty); !errors.Is(err, ErrUsage) || !exists(filepath.Join(empty, "x")) {
		t.Errorf("a directory of something else: %v", err)
	}
	if err := os.Remove(filepath.Join(empty, "x")); err != nil {
		t.Fatal(err)
	}
	if err := prepare(empty); err != nil {
		t.Errorf("an empty directory: %v", err)
	}
	write(filepath.Join(root, "file"))
	if err := prepare(filepath.Join(root, "file")); err == nil {
		t.Error("a file is taken for a directory")
	}
}

// A directory is one demo's at a time: another would remove the table that the
// first one is about to count.
func TestPrepareOneAtATime(t *testing.T) {
	if !contends {
		return // no such locks here
	}
	dir := t.TempDir()
	release, err := prepare(dir)
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, table)
	if err := os.Mkdir(kept, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := prepare(dir); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "another demo runs in") {
		t.Errorf("a second demo: %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("the table of the first one is gone: %v", err)
	}
	release()
	if release, err = prepare(dir); err != nil {
		t.Fatalf("after the first one: %v", err)
	}
	release()
}

// The producer logs in as the sinks do.
func TestLogin(t *testing.T) {
	f := func(mechanism, want string) {
		t.Helper()
		m, err := login(source.SASL{Mechanism: mechanism, User: "u", Password: "p"})
		if want == "" {
			if err == nil {
				t.Errorf("%q is a mechanism", mechanism)
			}
			return
		}
		if err != nil || m.Name() != want {
			t.Errorf("%q: %v, %v", mechanism, m, err)
		}
	}
	f("plain", "PLAIN")
	f("scram-sha-256", "SCRAM-SHA-256")
	f("scram-sha-512", "SCRAM-SHA-512")
	f("kerberos", "")
}

// A producer that cannot log in is not made.
func TestClientRefuses(t *testing.T) {
	if _, err := client(source.Config{Brokers: []string{"127.0.0.1:1"}, SASL: source.SASL{Mechanism: "none"}}); err == nil {
		t.Error("a client is made without a login")
	}
}
