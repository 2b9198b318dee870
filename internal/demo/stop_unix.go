//go:build unix

package demo

import (
	"os"
	"syscall"
)

// contends says whether sinks can be set against each other here: two processes
// may share a directory store, and one can be stopped for a while and woken.
const contends = true

// stop stops every thread of a process (SIGSTOP).
func stop(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// wake lets it go on (SIGCONT).
func wake(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
