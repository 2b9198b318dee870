//go:build !unix

package demo

import (
	"errors"
	"os"
)

// canStop says whether a process can be stopped for a while and woken again.
const canStop = false

func stop(*os.Process) error { return errors.ErrUnsupported }

func wake(*os.Process) error { return errors.ErrUnsupported }
