// Package overlay breaks a program for a test of its tests. It writes edited
// copies of source files, and the file that makes go build and go test take
// them in place of the originals, which stay as they are.
package overlay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Edit replaces one piece of a source file.
type Edit struct {
	File string // its path below the root
	Old  string // the piece, which must be there exactly once
	New  string // what takes its place
}

// File makes the edits, in their order, to copies of files below root and
// returns the path for -overlay. The copies last until the test ends. An edit
// that does not fit any more ends the test: else nothing would be broken and
// the test mean nothing.
func File(t testing.TB, root string, edits []Edit) string {
	t.Helper()
	path, err := write(t.TempDir(), root, edits)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// write is File with the directory for what it writes.
func write(dir, root string, edits []Edit) (string, error) {
	sources, err := edited(root, edits)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, source := range sources {
		// A number, since files of two packages may have one name.
		patched := filepath.Join(dir, strconv.Itoa(len(replace))+"_"+filepath.Base(path))
		if err := os.WriteFile(patched, []byte(source), 0o600); err != nil {
			return "", err
		}
		replace[path] = patched
	}
	body, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, body, 0o600)
}

// edited returns the edited sources by their absolute paths.
func edited(root string, edits []Edit) (map[string]string, error) {
	sources := map[string]string{}
	for _, e := range edits {
		path, err := filepath.Abs(filepath.Join(root, e.File))
		if err != nil {
			return nil, err
		}
		source, ok := sources[path]
		if !ok {
			body, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			source = string(body)
		}
		if n := strings.Count(source, e.Old); n != 1 {
			return nil, fmt.Errorf("%s holds %q %d times, want once: mend the edit", e.File, e.Old, n)
		}
		sources[path] = strings.Replace(source, e.Old, e.New, 1)
	}
	return sources, nil
}
