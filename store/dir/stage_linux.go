package dir

import (
	"context"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// staged is a whole and synced file that is no object yet. It has no name until
// it needs one, so that a crash leaves nothing behind, unless the file system
// cannot do without.
type staged struct {
	s    *Store
	file *os.File // nil when it has a name
	path string   // "" when it has none
}

func (s *Store) stage(body []byte) (*staged, error) {
	if s.named {
		name := s.tempName()
		if err := writeNamed(name, body); err != nil {
			return nil, err
		}
		return &staged{s: s, path: name}, nil
	}
	fd, err := unix.Open(s.temp, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, fileMode)
	if err != nil {
		return nil, &os.PathError{Op: "open a file without a name in", Path: s.temp, Err: err}
	}
	f := os.NewFile(uintptr(fd), s.temp)
	if err := writeSync(f, body); err != nil {
		_ = f.Close()
		return nil, err
	}
	return &staged{s: s, file: f}, nil
}

// claim gives the file the name path, or returns fs.ErrExist.
func (s *Store) claim(_ context.Context, f *staged, _, path string) error { return f.link(path) }

func (f *staged) link(to string) error {
	if f.file == nil {
		return os.Link(f.path, to)
	}
	// linkat with AT_EMPTY_PATH would need a capability; the way through /proc
	// is the one that open(2) names for O_TMPFILE.
	from := "/proc/self/fd/" + strconv.Itoa(int(f.file.Fd()))
	err := unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: err}
	}
	return nil
}

// name returns a name under which the file can be renamed.
func (f *staged) name() (string, error) {
	if f.path == "" {
		name := f.s.tempName()
		if err := f.link(name); err != nil {
			return "", err
		}
		f.path = name
	}
	return f.path, nil
}

// discard lets go of the file. It stays where it was linked to.
func (f *staged) discard() {
	if f.file != nil {
		_ = f.file.Close()
	}
	if f.path != "" {
		_ = os.Remove(f.path) // gone already if it was renamed
	}
}
