package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page lists every fuzz target of the module with its package, and none
// that is not there.
func TestFuzzTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if name := code(cells[0]); strings.HasPrefix(name, "Fuzz") && len(cells) == 5 {
			listed[strings.TrimSpace(cells[1])+" "+name] = true
		}
	}
	found := fuzzTargets(t)
	for name := range found {
		if !listed[name] {
			t.Errorf("docs/reliability.md does not list %s", name)
		}
	}
	for name := range listed {
		if !found[name] {
			t.Errorf("docs/reliability.md lists %s, which is not there", name)
		}
	}
	// At 20 s each they are to end in five minutes.
	if n := len(found); n == 0 || n > 15 {
		t.Errorf("%d targets", n)
	}
}

var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// fuzzTargets returns all as "package name".
func fuzzTargets(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel("../..", filepath.Dir(path))
		for _, m := range fuzzTarget.FindAllSubmatch(body, -1) {
			found[filepath.ToSlash(dir)+" "+string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
