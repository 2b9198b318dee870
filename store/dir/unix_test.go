//go:build unix

package dir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lakeweir/lakeweir/store"
)

// Objects, folders and locks have the permissions that the umask leaves, so
// that several users can share a directory, whichever way an object came.
func TestPermissions(t *testing.T) {
	mask := unix.Umask(0o027)
	defer unix.Umask(mask)
	for _, named := range []bool{false, true} {
		s := open(t, t.TempDir())
		s.named = named
		if _, err := s.Put(t.Context(), "d/created", []byte("x"), store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
		put(t, s, "d/replaced", "1")
		put(t, s, "d/replaced", "2")
		for _, name := range []string{"d/created", "d/replaced", "d", hidden + "/locks", hidden + "/tmp"} {
			fi, err := os.Stat(filepath.Join(s.root, name))
			if err != nil {
				t.Fatal(err)
			}
			want := fs.FileMode(0o640)
			if fi.IsDir() {
				want = 0o750
			}
			if fi.Mode().Perm() != want {
				t.Errorf("named %v: %s has %v, want %v", named, name, fi.Mode().Perm(), want)
			}
		}
	}
}

// Which lock belongs to a key is part of the layout: an older program beside
// this one must find the same. If this test fails, the layout has changed.
func TestLockOfKey(t *testing.T) {
	s := open(t, t.TempDir())
	f := func(key, file string) {
		t.Helper()
		unlock, err := s.locks.lock(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		defer unlock()
		other, err := os.OpenFile(filepath.Join(s.root, hidden, "locks", file), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if free, err := tryLock(other); free || err != nil {
			t.Errorf("%s: the lock %s is free: %v, err %v", key, file, free, err)
		}
	}
	f("quakes/manifest/00000.json", "38")
	f("quakes/manifest/00001.json", "47")
	f("k", "42")
}

// A lock that is held for ever, by a process that was stopped, is given up with
// words that say so, and neither the wait nor the failure keeps others out.
func TestLockPatience(t *testing.T) {
	root := t.TempDir()
	holder := open(t, root)
	unlock, err := holder.locks.lock(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		l := newLocks(filepath.Join(root, hidden, "locks"))
		began := time.Now()
		_, err := l.lock(t.Context(), "k")
		if err == nil || !strings.Contains(err.Error(), "another process has it for 30s: is one stopped?") || !strings.Contains(err.Error(), l.dir) {
			t.Errorf("err %v", err)
		}
		if waited := time.Since(began); waited != patience {
			t.Errorf("waited %v, want %v", waited, patience)
		}
		// It is given back while one waits.
		time.AfterFunc(time.Second, unlock)
		again, err := l.lock(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < patience+time.Second || waited > patience+time.Second+longLook {
			t.Errorf("waited %v, want it seen within %v", waited, longLook)
		}
		again()
	})
}

// Keys of other locks are not held up.
func TestLocksAreApart(t *testing.T) {
	root := t.TempDir()
	a, b := open(t, root), open(t, root)
	unlock, err := a.locks.lock(t.Context(), "quakes/manifest/00000.json")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range []*Store{a, b} {
		put(t, s, "quakes/manifest/00001.json", "")
		if _, err := s.locks.lock(ctx, "quakes/manifest/00000.json"); !errors.Is(err, context.Canceled) {
			t.Errorf("err %v, want %v", err, context.Canceled)
		}
	}
	// Creation takes no lock: a stopped process cannot hold it up.
	if _, err := b.Put(t.Context(), "quakes/manifest/00000.json", nil, store.IfAbsent()); err != nil {
		t.Error(err)
	}
}

// Without the hidden directory nothing can be made, in either way, and the
// error names it.
func TestTryWithoutTemp(t *testing.T) {
	s := open(t, t.TempDir())
	s.named = false
	if err := os.Remove(s.temp); err != nil {
		t.Fatal(err)
	}
	err := s.try(t.Context())
	if err == nil || !strings.Contains(err.Error(), "cannot create files atomically") || !strings.Contains(err.Error(), s.temp) {
		t.Errorf("err %v", err)
	}
	if !s.named {
		t.Error("files with names were not tried")
	}
	for _, s.named = range []bool{false, true} {
		if _, err := s.Put(t.Context(), "k", nil, store.IfAbsent()); err == nil || errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), s.temp) {
			t.Errorf("named %v: put: err %v", s.named, err)
		}
	}
	if err := os.RemoveAll(s.locks.dir); err != nil {
		t.Fatal(err)
	}
	if err := s.try(t.Context()); err == nil || !strings.Contains(err.Error(), "has no locks") {
		t.Errorf("without locks: err %v", err)
	}
	// The lock is told of by its file, and is not kept.
	for range 2 {
		if _, err := s.Put(t.Context(), "k", nil, store.Blind()); err == nil {
			t.Error("a put without its lock")
		}
	}
}

// A symbolic link is in the way of an object, is not followed by a write, and
// what it leads to is left alone.
func TestLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, t.TempDir())
	for _, key := range []string{"kept", "replaced", "deleted"} {
		if err := os.Symlink(outside, filepath.Join(s.root, key)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Put(t.Context(), "kept", []byte("new"), store.IfAbsent()); !errors.Is(err, store.ErrConflict) {
		t.Errorf("create: err %v, want %v", err, store.ErrConflict)
	}
	put(t, s, "replaced", "new")
	if err := s.Delete(t.Context(), "deleted"); err != nil {
		t.Error(err)
	}
	if body, err := os.ReadFile(outside); err != nil || string(body) != "x" {
		t.Errorf("the file behind the links: %q, err %v", body, err)
	}
	if got, err := listing(t, s, "", ""); err != nil || strings.Join(got, " ") != "replaced" {
		t.Errorf("listed %q, err %v", got, err)
	}
}
