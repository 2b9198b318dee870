package dir

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/lakeweir/lakeweir/store"
)

// Permissions before the umask.
const (
	fileMode = 0o644
	dirMode  = 0o755
)

// tempAge is how old an unfinished file must be to be taken for that of a dead
// process. A living one whose file goes gets an error, nothing worse.
const tempAge = 24 * time.Hour

// tries is how often a write makes the folder of its key again when others
// delete what is in it, and it with that.
const tries = 100

// create gives the staged file its key if nothing has it.
func (s *Store) create(ctx context.Context, f *staged, key, path string) error {
	err := s.inFolder(path, func() error { return s.claim(ctx, f, key, path) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// After a conflict too: who is told that the object is there may rely on
	// it, but whoever made it may not have come to this.
	if err := s.syncLeft(filepath.Dir(path)); err != nil {
		return err
	}
	if err == nil {
		return nil
	}
	if fi, err := os.Lstat(path); err == nil && fi.IsDir() {
		return fmt.Errorf("the key is a folder of others, and a directory cannot hold both: %s", path)
	}
	return store.ErrConflict
}

// replace puts the staged file in the place of what has the key.
func (s *Store) replace(ctx context.Context, f *staged, key, path string, cond store.Cond) error {
	err := s.inFolder(path, func() error { return s.exchange(ctx, f, key, path, cond) })
	if err != nil {
		return err
	}
	// Not under the lock: it would be held for milliseconds, and a process may
	// be stopped at any time. Who writes next syncs this change with its own.
	return s.syncLeft(filepath.Dir(path))
}

// syncLeft syncs a directory. When a Delete of another key has taken it away
// meanwhile, it syncs the nearest one above that is left, which has lost its
// name.
func (s *Store) syncLeft(dir string) error {
	for {
		err := syncDir(dir)
		if !missing(err) || len(dir) <= len(s.root) {
			return err
		}
		dir = filepath.Dir(dir)
	}
}

// exchange compares and renames under the lock of the key.
func (s *Store) exchange(ctx context.Context, f *staged, key, path string, cond store.Cond) error {
	unlock, err := s.locks.lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	if _, ok := cond.ETag(); ok {
		now, exists, err := s.current(path)
		if err != nil {
			return err
		}
		if !cond.Holds(now, exists) {
			return store.ErrConflict
		}
	}
	name, err := f.name()
	if err != nil {
		return err
	}
	return os.Rename(name, path)
}

// current returns the ETag of the object at path.
func (s *Store) current(path string) (now string, exists bool, err error) {
	f, _, err := openRegular(path)
	if errors.Is(err, store.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	sum, err := sumOf(f)
	return etag(sum), true, err
}

// inFolder makes the folder of path and calls do, again as long as a Delete
// takes the folder away in between.
func (s *Store) inFolder(path string, do func() error) error {
	var err error
	for range tries {
		if err = s.mkdirs(filepath.Dir(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			if err = do(); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		s.forget(filepath.Dir(path))
	}
	return err
}

// mkdirs makes a directory and those above it. The name of each is durable when
// it returns, whoever made it.
func (s *Store) mkdirs(dir string) error {
	if dir == s.root || s.isSynced(dir) {
		return nil
	}
	if err := s.mkdirs(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := syncDir(filepath.Dir(dir)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced[dir] = true
	return nil
}

func (s *Store) isSynced(dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced[dir]
}

// forget drops what is known of a directory and those above it.
func (s *Store) forget(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; dir != s.root && len(dir) > len(s.root); dir = filepath.Dir(dir) {
		delete(s.synced, dir)
	}
}

// prune removes the directory and those above it as far as they are empty.
func (s *Store) prune(dir string) {
	s.forget(dir)
	for ; dir != s.root && len(dir) > len(s.root); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			return
		}
	}
}

// tempName is a new name for an unfinished file.
func (s *Store) tempName() string { return filepath.Join(s.temp, rand.Text()) }

// sweep removes what dead processes left unfinished before a time.
func (s *Store) sweep(before time.Time) {
	left, err := os.ReadDir(s.temp)
	if err != nil {
		return
	}
	for _, e := range left {
		if fi, err := e.Info(); err == nil && fi.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(s.temp, e.Name())) // another may be quicker
		}
	}
}

// try makes a file as Put does, to see whether the file system can.
func (s *Store) try(ctx context.Context) error {
	unlock, err := s.locks.lock(ctx, "")
	if err != nil {
		return fmt.Errorf("the file system has no locks, use a local one: %w", err)
	}
	unlock()
	name := s.tempName()
	defer os.Remove(name)
	err = s.tryCreate(ctx, name)
	if err != nil && !s.named {
		s.named = true
		err = s.tryCreate(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("the file system cannot create files atomically, use another: %w", err)
	}
	return syncDir(s.temp)
}

func (s *Store) tryCreate(ctx context.Context, name string) error {
	f, err := s.stage([]byte("try"))
	if err != nil {
		return err
	}
	defer f.discard()
	if err := s.claim(ctx, f, "", name); err != nil {
		return err
	}
	if err := s.claim(ctx, f, "", name); !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("a second file took the name of the first: %v", err)
	}
	return nil
}

// writeNamed writes and syncs a new file.
func writeNamed(name string, body []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	if err := writeSync(f, body); err != nil {
		_ = f.Close()
		_ = os.Remove(name)
		return err
	}
	return f.Close()
}

func writeSync(f *os.File, body []byte) error {
	if _, err := f.Write(body); err != nil {
		return err
	}
	return f.Sync()
}
