package demo

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lakeweir/lakeweir/internal/overlay"
)

// Each mutant breaks the protocol in a way that the check has to see. It is
// made by replacing pieces of the product's own sources.
var mutants = []struct {
	name  string
	edits []overlay.Edit
	loses bool // else it doubles
}{
	// A sink that wakes after a takeover brings its rows back at a name that
	// was emptied: a reader that lists files sees them twice.
	{"blind data PUT", []overlay.Edit{{
		File: "writer/commit.go",
		Old:  "s.Store.Put(ctx, key, body, store.IfAbsent())",
		New:  "s.Store.Put(ctx, key, body, store.Blind())",
	}}, false},
	// A sink that dies after the commit has not written what it committed.
	{"publish before data", []overlay.Edit{{
		File: "writer/commit.go",
		Old:  "err := s.write(ctx, u)\n\t\tif err == nil {",
		New:  "err := error(nil)\n\t\tif err == nil {",
	}, {
		File: "writer/commit.go",
		Old:  "s.published(u, time.Since(begin))\n\treturn nil",
		New:  "s.published(u, time.Since(begin))\n\treturn s.write(ctx, u)",
	}}, true},
	// A sink that dies after it wrote a file leaves it to one that cuts
	// elsewhere and writes the same records under another name.
	{"no plan", []overlay.Edit{{
		File: "writer/commit.go",
		Old:  "return s.log.Plan(ctx, *u.plan())",
		New:  "return nil",
	}, {
		File: "writer/commit.go",
		Old:  "rider = next.plan()",
		New:  "rider = nil",
	}, {
		File: "manifest/log.go",
		Old:  "if len(keys) > 0 || r.Start != h.Next {",
		New:  "if r.Start != h.Next {",
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
func build(t *testing.T, edits []overlay.Edit) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "lakeweir")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-overlay", overlay.File(t, "../..", edits),
		"-o", program, "../../cmd/lakeweir").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}
