package dir

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// syncDir does nothing: Windows syncs no directories.
func syncDir(string) error { return nil }

// tryLock always succeeds: between the goroutines of one Store the lock in
// memory is enough, and a second process is ruled out in the package comment.
func tryLock(*os.File) (bool, error) { return true, nil }

// claim gives the file the name path, or returns fs.ErrExist. Hard links are
// not everywhere on Windows, so it looks and renames under the lock.
func (s *Store) claim(ctx context.Context, f *staged, key, path string) error {
	unlock, err := s.locks.lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(f.path, path)
}
