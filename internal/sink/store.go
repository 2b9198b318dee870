package sink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/dir"
)

// OpenStore opens the store that the settings name, at the folder of all
// tables.
func OpenStore(ctx context.Context, s *settings.Settings) (store.Store, error) {
	l, err := settings.ParseLocation(s.Store)
	if err != nil {
		return nil, err
	}
	opened, err := open(ctx, l, s.S3)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", s.Store, err)
	}
	opened = store.Sub(opened, l.Prefix)
	if s.SingleWriter {
		opened = store.SingleWriter(opened)
	}
	return opened, nil
}

// OpenExisting is OpenStore for who only reads: it makes no directory.
func OpenExisting(ctx context.Context, s *settings.Settings) (store.Store, error) {
	l, err := settings.ParseLocation(s.Store)
	if err != nil {
		return nil, err
	}
	if l.Driver == "dir" {
		if info, err := os.Stat(l.Path); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil, fmt.Errorf("store %s: there is no such directory: check the path", s.Store)
		}
	}
	return OpenStore(ctx, s)
}

func open(ctx context.Context, l settings.Location, _ settings.S3) (store.Store, error) {
	return dir.New(ctx, dir.Config{Root: l.Path})
}
