package writer_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// edit replaces one piece of a source file, which must be there exactly once.
type edit struct{ file, old, new string }

// Each mutant breaks a rule of the protocol. The first seven are the bugs of
// the model that the protocol was proved with.
var mutants = []struct {
	name  string
	edits []edit
}{
	{"BlindPut", []edit{{
		"commit.go",
		"s.Store.Put(ctx, key, body, store.IfAbsent())",
		"s.Store.Put(ctx, key, body, store.Blind())",
	}}},
	{"NoPlan", []edit{{
		"commit.go",
		"return s.log.Plan(ctx, *u.plan())",
		"return nil",
	}, {
		"commit.go",
		"rider = next.plan()",
		"rider = nil",
	}, {
		"../manifest/log.go",
		"if len(keys) > 0 || r.Start != h.Next {",
		"if r.Start != h.Next {",
	}}},
	{"Overwrite", []edit{{
		"commit.go",
		`return fmt.Errorf("%s: %w", key, errOther)`,
		"_, err = s.Store.Put(ctx, key, body, store.Blind())\n\t\t\t\treturn err",
	}}},
	{"AdoptOther", []edit{{
		"commit.go",
		"return sha256.Sum256(o.Body) == want, nil",
		"return sha256.Sum256(o.Body) == want || true, nil",
	}, {
		"commit.go",
		"return *info.SHA256 == want, nil",
		"return *info.SHA256 == want || true, nil",
	}}},
	{"VoidAfter", []edit{{
		"commit.go",
		"return nil\n}\n\n// vacate puts",
		`for _, key := range u.superseded {
			if err := s.vacate(ctx, u, key); err != nil {
				return err
			}
		}
		return nil
	}

	// vacate puts`,
	}, {
		"commit.go",
		"for _, key := range u.superseded {\n\t\tif err := s.vacate(ctx, u, key); err != nil {",
		"for range 0 {\n\t\tif err := error(nil); err != nil {",
	}}},
	{"DeleteSuperseded", []edit{{
		"commit.go",
		"_, err := s.Store.Put(ctx, key, body, store.Blind())",
		"_, err := body, s.Store.Delete(ctx, key)",
	}}},
	{"AdoptETag", []edit{{
		"../manifest/log.go",
		"case err == nil && (h.Epoch != l.head.Epoch || h.Owner.ID != l.head.Owner.ID):",
		"case false:",
	}, {
		"../manifest/log.go",
		"l.head, l.etag = h, etag",
		"l.head.Version, l.etag = h.Version, etag",
	}}},
	{"DeleteInRecover", []edit{{
		"recover.go",
		"if err := s.layOutAgain(ctx, u, p.Keys); err != nil {",
		"for _, key := range p.Keys {\n\t\t\t_ = s.Store.Delete(ctx, key)\n\t\t}\n\t\tp.Keys = nil\n\t\tif err := s.layOutAgain(ctx, u, p.Keys); err != nil {",
	}}},
	{"PublishFirst", []edit{{
		"commit.go",
		"err := s.write(ctx, u)\n\t\tif err == nil {",
		"err := error(nil)\n\t\tif err == nil {",
	}, {
		"commit.go",
		"s.published(u, time.Since(begin))\n\treturn nil",
		"s.published(u, time.Since(begin))\n\treturn s.write(ctx, u)",
	}}},
}

// Every mutant of the writer is caught by one of the crash tests.
func TestMutantsAreCaught(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			out, err := exec.Command("go", "test", "-count=1", "-failfast", "-overlay", overlay(t, m.edits),
				"-run", "^(TestCrash|TestLostAnswer|TestPause|TestThreeWriters)$", ".").CombinedOutput()
			if err == nil {
				t.Fatal("no crash test fails")
			}
			if !strings.Contains(string(out), "--- FAIL: Test") {
				t.Fatalf("the mutant does not build or run:\n%s", out)
			}
		})
	}
}

// overlay writes patched copies of source files and returns the overlay that
// puts them in place of the files.
func overlay(t *testing.T, edits []edit) string {
	t.Helper()
	dir := t.TempDir()
	replace, sources := map[string]string{}, map[string]string{}
	for _, e := range edits {
		path, err := filepath.Abs(e.file)
		if err != nil {
			t.Fatal(err)
		}
		source, ok := sources[path]
		if !ok {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			source = string(body)
		}
		if n := strings.Count(source, e.old); n != 1 {
			t.Fatalf("%s has the piece to be replaced %d times:\n%s", e.file, n, e.old)
		}
		sources[path] = strings.Replace(source, e.old, e.new, 1)
	}
	for path, source := range sources {
		patched := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(patched, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = patched
	}
	body, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
