package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The sizes that CONTRIBUTING.md promises.
const (
	maxFileLines = 400
	maxFuncLines = 60
)

// No file is longer than a reader keeps in mind, no function longer than a
// screen, and there is more test than source.
func TestSizes(t *testing.T) {
	var source, test int
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines := bytes.Count(body, []byte("\n"))
		if lines > maxFileLines {
			t.Errorf("%s has %d lines", path, lines)
		}
		if forTests(path) {
			test += lines
		} else {
			source += lines
		}
		return functions(t, path, body)
	})
	if err != nil {
		t.Fatal(err)
	}
	if test <= source {
		t.Errorf("%d lines of test for %d lines of source", test, source)
	}
}

// forTests reports whether a file is there for tests only.
func forTests(path string) bool {
	path = filepath.ToSlash(path)
	for _, dir := range []string{"/integration/", "/store/storetest/", "/store/internal/fakes3/", "/internal/wirefault/", "/store/internal/wiretest/", "/internal/overlay/", "/internal/tabletest/"} {
		if strings.Contains(path, dir) {
			return true
		}
	}
	return strings.HasSuffix(path, "_test.go")
}

// functions checks the length of each function of a file. One that has to be
// long says why behind "Long: ".
func functions(t *testing.T, path string, body []byte) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, body, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || strings.Contains(f.Doc.Text(), "Long: ") { // the reason
			continue
		}
		if n := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1; n > maxFuncLines {
			t.Errorf("%s: %s has %d lines", path, f.Name.Name, n)
		}
	}
	return nil
}
