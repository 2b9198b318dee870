package dir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lakeweir/lakeweir/store"
)

// A key that the store refuses is refused by every method, and nothing is made
// for it, inside the root or outside.
func TestHostileKeys(t *testing.T) {
	outer := t.TempDir()
	s := open(t, filepath.Join(outer, "root"))
	if err := os.WriteFile(filepath.Join(outer, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(key string) {
		t.Helper()
		_, get := s.Get(t.Context(), key, store.Span{})
		_, stat := s.Stat(t.Context(), key)
		_, create := s.Put(t.Context(), key, nil, store.IfAbsent())
		_, blind := s.Put(t.Context(), key, nil, store.Blind())
		for op, err := range map[string]error{"get": get, "stat": stat, "create": create, "blind put": blind, "delete": s.Delete(t.Context(), key)} {
			if err == nil || errors.Is(err, store.ErrNotExist) || errors.Is(err, store.ErrConflict) {
				t.Errorf("%s %q: err %v, want the key refused", op, key, err)
			}
		}
		if got, err := listing(t, s, key+"/", ""); err != nil || len(got) > 0 {
			t.Errorf("list below %q: %q, err %v", key, got, err)
		}
	}
	// Ways out of the root.
	f("../secret")
	f("a/../../secret")
	f("/etc/passwd")
	f("..")
	// Into what the store keeps for itself.
	f(".lakeweir")
	f(".lakeweir/tmp/x")
	f("a/.LAKEWEIR/x")
	// No name of an object.
	f("")
	f("a//b")
	f("a/./b")
	f("a\x00b")
	f("a\nb")
	f("a\xff")
	f(strings.Repeat("k", store.MaxKey+1))
	if body, err := os.ReadFile(filepath.Join(outer, "secret")); err != nil || string(body) != "x" {
		t.Errorf("the file outside: %q, err %v", body, err)
	}
	if left, err := os.ReadDir(s.root); err != nil || len(left) != 1 {
		t.Errorf("the root has %v, err %v", left, err)
	}
}

// A name that the file system is too small for is an error in words, and no
// conflict: the writer would look for an object that cannot be there.
func TestLongNames(t *testing.T) {
	s := open(t, t.TempDir())
	long := "day=" + strings.Repeat("x", 300) + "/k"
	for _, cond := range []store.Cond{store.IfAbsent(), store.Blind()} {
		if _, err := s.Put(t.Context(), long, nil, cond); err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotExist) {
			t.Errorf("put: err %v", err)
		}
	}
	if left, err := os.ReadDir(s.temp); err != nil || len(left) > 0 {
		t.Errorf("unfinished files %v, err %v", left, err)
	}
	// The longest name that all file systems take.
	put(t, s, strings.Repeat("x", 255), "")
}

// The ETag follows from the whole body, so it is there when the whole body was
// read, however that was asked for, and not in a list.
func TestWhatIsKnown(t *testing.T) {
	s := open(t, t.TempDir())
	want := put(t, s, "k", "abc")
	f := func(span store.Span, whole bool) {
		t.Helper()
		o, err := s.Get(t.Context(), "k", span)
		if err != nil || (o.ETag == want.ETag) != whole || (o.SHA256 != nil) != whole || o.Size != 3 || o.Modified.IsZero() {
			t.Errorf("%+v: %+v, err %v, want it whole: %v", span, o.Info, err, whole)
		}
	}
	f(store.Span{}, true)
	f(store.Span{Length: 3}, true)
	f(store.Span{Offset: -9}, true)
	f(store.Span{Offset: 1}, false)
	f(store.Span{Length: 2}, false)
	for i, err := range s.List(t.Context(), "", "") {
		if err != nil || i.ETag != "" || i.SHA256 != nil || i.Size != 3 {
			t.Errorf("listed %+v, err %v", i, err)
		}
	}
}

// The directory is the one that was named at the start, also when the process
// goes elsewhere later.
func TestRelativeRoot(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	s := open(t, "lake")
	t.Chdir(t.TempDir())
	put(t, s, "a/k", "x")
	if _, err := os.Stat(filepath.Join(home, "lake", "a", "k")); err != nil {
		t.Error(err)
	}
}

// Another process may take away folders that this one knows.
func TestFoldersGoElsewhere(t *testing.T) {
	root := t.TempDir()
	a, b := open(t, root), open(t, root)
	put(t, a, "x/y/k", "1")
	if !a.isSynced(filepath.Join(a.root, "x", "y")) {
		t.Error("the folder is synced again with each write")
	}
	for _, cond := range []store.Cond{store.IfAbsent(), store.Blind()} {
		if err := b.Delete(t.Context(), "x/y/k"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(root, "x")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the folder is left: %v", err)
		}
		if _, err := a.Put(t.Context(), "x/y/k", []byte("2"), cond); err != nil {
			t.Error(err)
		}
	}
	// A folder that another object needs stays.
	put(t, a, "x/l", "")
	if err := b.Delete(t.Context(), "x/y/k"); err != nil {
		t.Fatal(err)
	}
	if got, err := listing(t, a, "", ""); err != nil || strings.Join(got, " ") != "x/l" {
		t.Errorf("listed %q, err %v", got, err)
	}
}

// A folder that is gone before it could be synced is no error: the one above
// has lost its name. A root that is gone is.
func TestSyncLeft(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.syncLeft(filepath.Join(s.root, "gone", "deeper")); err != nil {
		t.Error(err)
	}
	put(t, s, "file", "")
	if err := s.syncLeft(filepath.Join(s.root, "file", "below")); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(s.root); err != nil {
		t.Fatal(err)
	}
	if err := s.syncLeft(filepath.Join(s.root, "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("err %v, want %v", err, fs.ErrNotExist)
	}
}

// Objects are replaced while others in their folder go: each write and delete
// holds, none is told that the folder is missing.
func TestReplaceWhileFolderGoes(t *testing.T) {
	root := t.TempDir()
	var all sync.WaitGroup
	for _, key := range []string{"d/e/1", "d/e/2", "d/3"} {
		s := open(t, root)
		all.Go(func() {
			for range 60 {
				if _, err := s.Put(t.Context(), key, []byte(key), store.Blind()); err != nil {
					t.Error(err)
					return
				}
				o, err := s.Get(t.Context(), key, store.Span{})
				if err != nil || string(o.Body) != key {
					t.Errorf("get %s: %q, err %v", key, o.Body, err)
				}
				if err := s.Delete(t.Context(), key); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// A list that meets folders and files that go meanwhile goes on.
func TestListWhileFoldersGo(t *testing.T) {
	s := open(t, t.TempDir())
	for _, key := range []string{"a/1", "a/2", "b/1", "c"} {
		put(t, s, key, "")
	}
	var got []string
	for i, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, i.Key); len(got) > 1 {
			continue
		}
		for _, key := range []string{"a/2", "b/1"} {
			if err := s.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
	}
	if strings.Join(got, " ") != "a/1 c" {
		t.Errorf("listed %q", got)
	}
}

// A process that was stopped does nothing more.
func TestCancelled(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, "k", "old")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, get := s.Get(ctx, "k", store.Span{})
	_, stat := s.Stat(ctx, "k")
	_, blind := s.Put(ctx, "k", []byte("new"), store.Blind())
	for op, err := range map[string]error{"get": get, "stat": stat, "put": blind, "delete": s.Delete(ctx, "k")} {
		if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), op+" k") {
			t.Errorf("%s: err %v, want %v", op, err, context.Canceled)
		}
	}
	if o, err := s.Get(t.Context(), "k", store.Span{}); err != nil || string(o.Body) != "old" {
		t.Errorf("body %q, err %v", o.Body, err)
	}
	// In the middle of a list, and before it.
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, key := range []string{"l", "m"} {
		if _, err := s.Put(ctx, key, nil, store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range s.List(ctx, "", "") {
		if n++; n == 1 {
			cancel()
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("list: err %v, want %v", err, context.Canceled)
		}
	}
	if n != 2 {
		t.Errorf("the list went on: %d", n)
	}
}
