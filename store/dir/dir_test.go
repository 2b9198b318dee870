package dir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/storetest"
)

func open(t *testing.T, root string) *Store {
	t.Helper()
	s, err := New(t.Context(), Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *Store, key, body string) store.Info {
	t.Helper()
	i, err := s.Put(t.Context(), key, []byte(body), store.Blind())
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, t.TempDir()) })
}

// A file system without files that have no name keeps the contract too.
func TestContractNamed(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		s := open(t, t.TempDir())
		s.named = true
		return s
	})
}

// After any writes, refused ones too, the root holds the objects and nothing
// unfinished.
func TestLeavesNothing(t *testing.T) {
	for _, named := range []bool{false, true} {
		s := open(t, t.TempDir())
		s.named = named
		i := put(t, s, "a/b/k", "1")
		_, _ = s.Put(t.Context(), "a/b/k", []byte("2"), store.IfAbsent())
		_, _ = s.Put(t.Context(), "a/b/k", []byte("3"), store.IfMatch("stale"))
		if _, err := s.Put(t.Context(), "a/b/k", []byte("4"), store.IfMatch(i.ETag)); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(s.temp); err != nil || len(left) > 0 {
			t.Errorf("named %v: unfinished files %v, err %v", named, left, err)
		}
		if err := s.Delete(t.Context(), "a/b/k"); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(s.root); err != nil || len(left) != 1 || left[0].Name() != hidden {
			t.Errorf("named %v: after the last delete the root has %v, err %v", named, left, err)
		}
	}
}

// What a dead process left unfinished goes after a day, what a living one may
// still write stays.
func TestSweep(t *testing.T) {
	s := open(t, t.TempDir())
	old, fresh := s.tempName(), s.tempName()
	for _, name := range []string{old, fresh} {
		if err := writeNamed(name, nil); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * tempAge)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	open(t, s.root)
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("old: err %v, want it gone", err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("fresh: %v", err)
	}
}

// The hidden directory is out of reach by any key, and so is all outside.
func TestReserved(t *testing.T) {
	s := open(t, t.TempDir())
	for _, key := range []string{".lakeweir/locks/0", ".Lakeweir/x", "a/.lakeweir/x"} {
		if _, err := s.Put(t.Context(), key, nil, store.Blind()); err == nil || !strings.Contains(err.Error(), hidden) {
			t.Errorf("put %s: err %v, want one that names %s", key, err, hidden)
		}
	}
	put(t, s, ".lakeweir-probe-1/x", "") // only looks like it
	put(t, open(t, filepath.Join(s.root, "inner")), "k", "")
	var got []string
	for i, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, i.Key)
	}
	if want := ".lakeweir-probe-1/x inner/k"; strings.Join(got, " ") != want {
		t.Errorf("list %q, want %q: the stores' own files are no objects", got, want)
	}
	for _, prefix := range []string{".lakeweir/", "../", "/", "inner/.lakeweir/locks/"} {
		for i := range s.List(t.Context(), prefix, "") {
			t.Errorf("list %s gives %s", prefix, i.Key)
		}
	}
}

// A list opens only the folders that can hold what is asked for.
func TestListOpensLittle(t *testing.T) {
	f := func(prefix, after, folder string, want bool) {
		t.Helper()
		l := lister{prefix: prefix, after: after}
		if got := l.mayHold(folder); got != want {
			t.Errorf("prefix %q after %q: opens %s: %v, want %v", prefix, after, folder, got, want)
		}
	}
	// Everything is asked for.
	f("", "", "a/", true)
	// On the way to the prefix, below it, and beside it.
	f("a/b/", "", "a/", true)
	f("a/b/", "", "a/b/c/", true)
	f("a/b/", "", "a/c/", false)
	f("a/b", "", "a/bc/", true)
	// Over before after, on the way to it, and later.
	f("", "b/k", "a/", false)
	f("", "b/k", "b/", true)
	f("", "b/k", "b/c/", false)
	f("", "b/k", "b/l/", true)
	f("", "b-", "b/", true)
	f("", "b0", "b/", false)
}

// What is not a regular file, or has a name that no key can be, is not listed.
func TestForeignFiles(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, "k", "")
	if err := os.Symlink("k", filepath.Join(s.root, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.root, "bad\nname"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, err := range s.List(t.Context(), "", "") {
		if err != nil || i.Key != "k" {
			t.Errorf("list gives %q, err %v", i.Key, err)
		}
	}
}

// A key that is a folder of others is refused in words, not as a conflict: its
// caller would look for the object that is in its way and find none.
func TestKeyIsFolder(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, "a/b", "")
	for _, cond := range []store.Cond{store.IfAbsent(), store.Blind()} {
		_, err := s.Put(t.Context(), "a", nil, cond)
		if err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("put a over a/: err %v", err)
		}
	}
	if _, err := s.Put(t.Context(), "a", nil, store.IfMatch("e")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("put a if it matches: err %v, want %v", err, store.ErrConflict)
	}
	if _, err := s.Put(t.Context(), "a/b/c", nil, store.IfAbsent()); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("put below a file: err %v", err)
	}
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Errorf("delete of a key that is only a folder: %v", err)
	}
	if _, err := s.Stat(t.Context(), "a/b"); err != nil {
		t.Error(err)
	}
}

// Deletes take empty folders away under the hands of those who create in them.
func TestCreateWhileFolderGoes(t *testing.T) {
	s := open(t, t.TempDir())
	const rounds = 100
	var both sync.WaitGroup
	for _, key := range []string{"d/e/1", "d/e/2"} {
		both.Go(func() {
			for range rounds {
				if _, err := s.Put(t.Context(), key, nil, store.IfAbsent()); err != nil {
					t.Error(err)
					return
				}
				if err := s.Delete(t.Context(), key); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	both.Wait()
}

// A root that cannot be one is said in one line that names it.
func TestNewErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(root, want string) {
		t.Helper()
		_, err := New(t.Context(), Config{Root: root})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("root %q: err %v, want one line with %q", root, err, want)
		}
	}
	// Forgotten.
	f("", "no directory is named")
	// In the place of a file.
	f(file, file)
	f(filepath.Join(file, "sub"), "not a directory")
}

// While one has the lock the other waits, as long as its context lets it.
func TestLockWaits(t *testing.T) {
	root := t.TempDir()
	a, b := open(t, root), open(t, root)
	unlock, err := a.locks.lock(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for name, s := range map[string]*Store{"the same store": a, "another": b} {
		if _, err := s.Put(ctx, "k", nil, store.Blind()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: err %v, want %v", name, err, context.DeadlineExceeded)
		}
	}
	unlock()
	put(t, b, "k", "")
}
