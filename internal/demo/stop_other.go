//go:build !unix

package demo

import (
	"errors"
	"os"
)

// contends says whether sinks can be set against each other here: two processes
// may share a directory store, and one can be stopped for a while and woken.
const contends = false

// lock does nothing where there are no such locks.
func lock(*os.File) error { return nil }

func stop(*os.Process) error { return errors.ErrUnsupported }

func wake(*os.Process) error { return errors.ErrUnsupported }
