// Package dir is a store.Store in a local directory: every object is a plain
// file at its key.
//
// It keeps the whole contract, for several processes on one machine at once,
// through crashes and power loss:
//
//   - a body is written to a file without a name, or to one in a hidden
//     directory, and synced before anybody can see it;
//   - link(2) gives it its key if nothing has that key (IfAbsent): atomic,
//     without a lock;
//   - under a lock, a comparison and rename(2) put it in the place of another
//     (IfMatch, Blind). The lock is flock(2) on one of a few files that are
//     never removed; the system lets go of it when the process ends;
//   - the directory is synced before Put returns.
//
// What it keeps for itself lies in directories named .lakeweir. Open a tree by
// the same root everywhere: locks are found from the root. On Windows, which
// has neither flock nor a synced directory, one process at a time may write.
//
// A directory cannot hold one key that is a folder of another ("a" and "a/b").
package dir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lakeweir/lakeweir/store"
)

// hidden is the directory for locks and unfinished files. It is no object and
// no folder of one, at any depth, so that a store may lie within another.
const hidden = ".lakeweir"

// Config says where the objects are.
type Config struct {
	// Root is the directory of all objects. It is made if it is not there.
	Root string
}

// Store is a directory of objects. Its methods may be called by several
// goroutines; several Stores, in one process or many, may share a directory.
type Store struct {
	root  string
	temp  string // for files that are not objects yet
	locks locks
	named bool // the file system has no files without a name

	mu     sync.Mutex
	synced map[string]bool // directories whose own names are known to be durable
}

// New opens the directory, makes it if it is missing, and tries on a file of
// its own whether the file system has what the store needs.
func New(ctx context.Context, c Config) (*Store, error) {
	if c.Root == "" {
		return nil, errors.New("open directory store: no directory is named")
	}
	root, err := filepath.Abs(c.Root)
	if err != nil {
		return nil, fmt.Errorf("open directory store: %w", err)
	}
	s := &Store{
		root:   root,
		temp:   filepath.Join(root, hidden, "tmp"),
		locks:  newLocks(filepath.Join(root, hidden, "locks")),
		synced: map[string]bool{},
	}
	for _, d := range []string{s.temp, s.locks.dir} {
		if err := os.MkdirAll(d, dirMode); err != nil {
			return nil, fmt.Errorf("open directory store: %w", err)
		}
	}
	if err := s.try(ctx); err != nil {
		return nil, fmt.Errorf("open directory store %s: %w", root, err)
	}
	s.sweep(time.Now().Add(-tempAge))
	return s, nil
}

// Get implements store.Store. The ETag and SHA256 of an object are known only
// when the whole body was asked for: they follow from it.
func (s *Store) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	f, size, err := s.open(ctx, key)
	if err != nil {
		return store.Object{}, fmt.Errorf("get %s: %w", key, err)
	}
	defer f.Close()
	from, to := span.Bounds(size)
	body := make([]byte, to-from)
	if _, err := io.ReadFull(io.NewSectionReader(f, from, to-from), body); err != nil {
		return store.Object{}, fmt.Errorf("get %s: %w", key, err)
	}
	o := store.Object{Info: store.Info{Key: key, Size: size, Modified: modified(f)}, Body: body}
	if to-from == size {
		identify(&o.Info, sha256.Sum256(body))
	}
	return o, nil
}

// Stat implements store.Store. It reads the whole object, since the ETag and
// the SHA-256 follow from the body.
func (s *Store) Stat(ctx context.Context, key string) (store.Info, error) {
	f, size, err := s.open(ctx, key)
	if err != nil {
		return store.Info{}, fmt.Errorf("stat %s: %w", key, err)
	}
	defer f.Close()
	i := store.Info{Key: key, Size: size, Modified: modified(f)}
	sum, err := sumOf(f)
	if err != nil {
		return store.Info{}, fmt.Errorf("stat %s: %w", key, err)
	}
	identify(&i, sum)
	return i, nil
}

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	if err := s.put(ctx, key, body, cond); err != nil {
		return store.Info{}, fmt.Errorf("put %s: %w", key, err)
	}
	i := store.Info{Key: key, Size: int64(len(body)), Modified: time.Now()}
	identify(&i, sha256.Sum256(body))
	return i, nil
}

func (s *Store) put(ctx context.Context, key string, body []byte, cond store.Cond) error {
	if err := cond.Err(); err != nil {
		return err
	}
	path, err := s.path(ctx, key)
	if err != nil {
		return err
	}
	f, err := s.stage(body)
	if err != nil {
		return err
	}
	defer f.discard()
	if cond.Absent() {
		return s.create(ctx, f, key, path)
	}
	return s.replace(ctx, f, key, path, cond)
}

// Delete implements store.Store. Folders that it leaves empty go too.
func (s *Store) Delete(ctx context.Context, key string) error {
	path, err := s.path(ctx, key)
	if err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	unlock, err := s.locks.lock(ctx, key)
	if err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	defer unlock()
	if fi, err := os.Lstat(path); err != nil || fi.IsDir() {
		if err == nil || missing(err) {
			return nil
		}
		return fmt.Errorf("delete %s: %w", key, err)
	}
	if err := os.Remove(path); err != nil && !missing(err) {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	if err := s.syncLeft(filepath.Dir(path)); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	s.prune(filepath.Dir(path))
	return nil
}

// open opens the object and returns its size.
func (s *Store) open(ctx context.Context, key string) (*os.File, int64, error) {
	path, err := s.path(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	return openRegular(path)
}

func openRegular(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if missing(err) {
		return nil, 0, store.ErrNotExist
	}
	if err != nil {
		return nil, 0, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = store.ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, fi.Size(), nil
}

// missing reports the errors of a path that leads nowhere, also when what
// should be a folder is a file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// path is where the object of a key lies.
func (s *Store) path(ctx context.Context, key string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := store.CheckKey(key); err != nil {
		return "", err
	}
	if reserved(key) {
		return "", fmt.Errorf("the name %s belongs to the directory store", hidden)
	}
	return filepath.Join(s.root, filepath.FromSlash(key)), nil
}

// reserved reports whether a segment of the key is the hidden directory, also
// on a file system that folds case.
func reserved(key string) bool {
	for segment := range strings.SplitSeq(key, "/") {
		if strings.EqualFold(segment, hidden) {
			return true
		}
	}
	return false
}

func modified(f *os.File) time.Time {
	fi, err := f.Stat()
	if err != nil {
		return time.Time{}
	}
	return fi.ModTime()
}

func sumOf(r io.Reader) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return sum, err
	}
	h.Sum(sum[:0])
	return sum, nil
}

func identify(i *store.Info, sum [sha256.Size]byte) {
	i.SHA256, i.ETag = &sum, etag(sum)
}

func etag(sum [sha256.Size]byte) string { return hex.EncodeToString(sum[:]) }
