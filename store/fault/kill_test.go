package fault_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/dir"
	"github.com/lakeweir/lakeweir/store/fault"
)

const childDir = "LAKEWEIR_FAULT_TEST_DIR"

// A child process kills itself after its second file under data/: that one is
// there, the third is not, and nothing deferred ran.
func TestKillProcess(t *testing.T) {
	if root := os.Getenv(childDir); root != "" {
		child(t, root)
	}
	root := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKillProcess$")
	cmd.Env = append(os.Environ(), childDir+"="+root)
	out, err := cmd.CombinedOutput()
	if err == nil || strings.Contains(string(out), "survived") {
		t.Fatalf("the child came to its end: %v\n%s", err, out)
	}
	s, err := dir.New(t.Context(), dir.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"data/1": "v", "data/2": "v", "data/3": ""} {
		if got := body(t, s, key); got != want {
			t.Errorf("%s holds %q, want %q", key, got, want)
		}
	}
}

func child(t *testing.T, root string) {
	defer os.Stdout.WriteString("survived\n")
	d, err := dir.New(t.Context(), dir.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	s := fault.Wrap(d, fault.AfterNth(2, putsUnder("data/"), fault.KillProcess))
	for _, key := range []string{"data/1", "data/2", "data/3"} {
		if _, err := s.Put(t.Context(), key, []byte("v"), store.IfAbsent()); err != nil {
			t.Error(err)
		}
	}
}
