package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	casePackage = regexp.MustCompile("`([a-z0-9/]+)`: ((?:`Test\\w+`(?:, )?)+)")
	caseTest    = regexp.MustCompile("`(Test\\w+)`")
)

// Every test that the table of cases names is in the package that it names.
func TestCasesTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "## Cases\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	cases := 0
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| B") {
			continue
		}
		cases++
		named, found := 0, casePackage.FindAllStringSubmatch(line, -1)
		if len(found) == 0 {
			t.Errorf("no test in %q", line)
		}
		for _, m := range found {
			for _, test := range caseTest.FindAllStringSubmatch(m[2], -1) {
				named++
				if !hasTest(t, filepath.Join("../..", m[1]), test[1]) {
					t.Errorf("%s has no %s", m[1], test[1])
				}
			}
		}
		if strings.Count(line, "`Test") != named {
			t.Errorf("a test without its package in %q", line)
		}
	}
	if cases < 26 {
		t.Errorf("%d cases are listed", cases)
	}
}

// hasTest reports whether a package has a test function.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(body), "func "+name+"(") {
			return true
		}
	}
	return false
}
