//go:build !linux

package dir

import "os"

// staged is a whole and synced file in the hidden directory, no object yet.
type staged struct{ path string }

func (s *Store) stage(body []byte) (*staged, error) {
	name := s.tempName()
	if err := writeNamed(name, body); err != nil {
		return nil, err
	}
	return &staged{path: name}, nil
}

// name returns a name under which the file can be renamed.
func (f *staged) name() (string, error) { return f.path, nil }

// discard lets go of the file. It stays where it was linked to.
func (f *staged) discard() {
	_ = os.Remove(f.path) // gone already if it was renamed
}
