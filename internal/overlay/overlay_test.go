package overlay

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree makes two packages that have a file of the same name.
func tree(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, body := range map[string]string{"a/x.go": "one two two", "b/x.go": "three"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// Each file has its own copy with all its edits, and the originals are as before.
func TestFile(t *testing.T) {
	root := tree(t)
	body, err := os.ReadFile(File(t, root, []Edit{
		{File: "a/x.go", Old: "one", New: "1"},
		{File: "b/../b/x.go", Old: "three", New: "3"},
		{File: "a/x.go", Old: "1 two", New: "1 2"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	var o struct{ Replace map[string]string }
	if err := json.Unmarshal(body, &o); err != nil {
		t.Fatal(err)
	}
	want := map[string][2]string{"a/x.go": {"one two two", "1 2 two"}, "b/x.go": {"three", "3"}}
	if len(o.Replace) != len(want) {
		t.Errorf("replaces %v", o.Replace)
	}
	for name, bodies := range want {
		path := filepath.Join(root, name)
		for i, path := range []string{path, o.Replace[path]} {
			if got, err := os.ReadFile(path); err != nil || string(got) != bodies[i] {
				t.Errorf("%s: %q, err %v, want %q", path, got, err, bodies[i])
			}
		}
	}
}

// An edit that does not fit names the file and what to do.
func TestMisfit(t *testing.T) {
	root := tree(t)
	f := func(want string, edits ...Edit) {
		t.Helper()
		if _, err := write(t.TempDir(), root, edits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err %v, want %q", err, want)
		}
	}
	// The piece is gone.
	f(`a/x.go holds "four" 0 times`, Edit{File: "a/x.go", Old: "four"})
	// It is there twice.
	f(`a/x.go holds "two" 2 times`, Edit{File: "a/x.go", Old: "two"})
	// An edit before it took it away.
	f(`a/x.go holds "one" 0 times`, Edit{File: "a/x.go", Old: "one"}, Edit{File: "a/x.go", Old: "one"})
	// The file is gone.
	f("c.go", Edit{File: "c.go", Old: "one"})
}
