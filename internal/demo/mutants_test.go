package demo

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// edit replaces one piece of a source file, which must be there exactly once.
type edit struct{ file, old, new string }

// Each mutant breaks the protocol in a way that the check has to see. It is
// made by replacing pieces of the product's own sources.
var mutants = []struct {
	name  string
	edits []edit
	loses bool // else it doubles
}{
	// A sink that wakes after a takeover brings its rows back at a name that
	// was emptied: a reader that lists files sees them twice.
	{"blind data PUT", []edit{{
		"writer/commit.go",
		"s.Store.Put(ctx, key, body, store.IfAbsent())",
		"s.Store.Put(ctx, key, body, store.Blind())",
	}}, false},
	// A sink that dies after the commit has not written what it committed.
	{"publish before data", []edit{{
		"writer/commit.go",
		"err := s.write(ctx, u)\n\t\tif err == nil {",
		"err := error(nil)\n\t\tif err == nil {",
	}, {
		"writer/commit.go",
		"s.published(u, time.Since(begin))\n\treturn nil",
		"s.published(u, time.Since(begin))\n\treturn s.write(ctx, u)",
	}}, true},
	// A sink that dies after it wrote a file leaves it to one that cuts
	// elsewhere and writes the same records under another name.
	{"no plan", []edit{{
		"writer/commit.go",
		"return s.log.Plan(ctx, *u.plan())",
		"return nil",
	}, {
		"writer/commit.go",
		"rider = next.plan()",
		"rider = nil",
	}, {
		"manifest/log.go",
		"if len(keys) > 0 || r.Start != h.Next {",
		"if r.Start != h.Next {",
	}}, false},
}

// The check of the demo reports what each mutant loses or doubles.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			r := runProduct(t, build(t, m.edits), 1)
			if m.loses && r.Lost == 0 || !m.loses && r.Doubled == 0 {
				t.Errorf("%d lost, %d doubled: the check does not see it", r.Lost, r.Doubled)
			}
			if r.Err() == nil {
				t.Error("the report has no error")
			}
		})
	}
}

// Unbroken, the same program with the same seed loses nothing.
func TestProduct(t *testing.T) {
	t.Parallel()
	r := runProduct(t, build(t, nil), 0)
	if r.Sent != 2000 || r.Rows+r.Dead != 2000 || r.Kills != 5 || r.Err() != nil {
		t.Errorf("%+v", r)
	}
}

// runProduct runs the demo, which must end with the exit code and a report.
func runProduct(t *testing.T, program string, code int) (r Report) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "demo", "--json", "--dir", filepath.Join(t.TempDir(), "lake"),
		"--records", "2000", "--kills", "5", "--seed", "11")
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("ended with %v, want exit code %d\n%s", err, code, &log)
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("no report: %v\n%s\n%s", err, &out, &log)
	}
	t.Logf("%d sent, %d lost, %d doubled, %q", r.Sent, r.Lost, r.Doubled, r.Failed)
	return r
}

// build builds the product from sources with the edits in them.
func build(t *testing.T, edits []edit) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "lakeweir")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-overlay", overlay(t, edits),
		"-o", program, "../../cmd/lakeweir").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

// overlay writes edited copies of source files, and the file that tells go
// build to take them in place of the originals. An edit that does not fit any
// more is an error: else nothing would be broken and the test mean nothing.
func overlay(t *testing.T, edits []edit) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, bodies := t.TempDir(), map[string]string{}
	for _, e := range edits {
		path := filepath.Join(root, e.file)
		if _, ok := bodies[path]; !ok {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			bodies[path] = string(body)
		}
		if n := strings.Count(bodies[path], e.old); n != 1 {
			t.Fatalf("%s holds %q %d times, want once: mend the mutant", e.file, e.old, n)
		}
		bodies[path] = strings.Replace(bodies[path], e.old, e.new, 1)
	}
	replace := map[string]string{}
	for path, body := range bodies {
		replace[path] = filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(replace[path], []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return list
}
