package dir

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lakeweir/lakeweir/store"
)

// List implements store.Store. ETags are left out, since they follow from the
// bodies. It holds the names of one folder at each depth, no more.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		l := lister{ctx: ctx, root: s.root, prefix: prefix, after: after, yield: yield}
		folder := prefix[:strings.LastIndexByte(prefix, '/')+1]
		if folder != "" && (store.CheckKey(strings.TrimSuffix(folder, "/")) != nil || reserved(folder)) {
			return // no object has such a key
		}
		if err := l.list(folder); err != nil {
			yield(store.Info{}, fmt.Errorf("list %s: %w", prefix, err))
		}
	}
}

// lister walks through the folders that can hold keys with the prefix after
// after.
type lister struct {
	ctx           context.Context
	root          string
	prefix, after string
	yield         func(store.Info, error) bool
	left          bool // the reader has left
}

// list yields what is below a folder, which is "" or ends with "/".
//
// The keys below "a/" all begin with that, so if a folder's entries are sorted
// with "/" at the end of each subfolder, the walk has the order of whole keys:
// "a-b", then what is in "a/", then "a0".
func (l *lister) list(folder string) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(l.root, filepath.FromSlash(folder)))
	if missing(err) {
		return nil // deleted meanwhile, or never there
	}
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(sortName(a), sortName(b)) })
	for _, e := range entries {
		if err := l.entry(folder+sortName(e), e); err != nil || l.left {
			return err
		}
	}
	return nil
}

// sortName is the part of a key that the entry stands for.
func sortName(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}

func (l *lister) entry(key string, e fs.DirEntry) error {
	switch {
	case strings.EqualFold(e.Name(), hidden):
		return nil
	case e.IsDir():
		if !l.mayHold(key) {
			return nil
		}
		return l.list(key)
	case !e.Type().IsRegular() || key <= l.after || !strings.HasPrefix(key, l.prefix) || store.CheckKey(key) != nil:
		return nil
	}
	fi, err := e.Info()
	if missing(err) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	if err := l.ctx.Err(); err != nil {
		return err
	}
	l.left = !l.yield(store.Info{Key: key, Size: fi.Size(), Modified: fi.ModTime()}, nil)
	return nil
}

// mayHold reports whether a folder can hold a key that is asked for.
func (l *lister) mayHold(folder string) bool {
	if !strings.HasPrefix(folder, l.prefix) && !strings.HasPrefix(l.prefix, folder) {
		return false
	}
	return folder > l.after || strings.HasPrefix(l.after, folder)
}
