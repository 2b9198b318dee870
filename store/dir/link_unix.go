//go:build unix && !linux

package dir

import (
	"context"
	"os"
)

// claim gives the file the name path, or returns fs.ErrExist.
func (s *Store) claim(_ context.Context, f *staged, _, path string) error {
	return os.Link(f.path, path)
}
