//go:build unix

package demo

import (
	"os"
	"syscall"
)

// canStop says whether a process can be stopped for a while and woken again.
const canStop = true

// stop stops every thread of a process (SIGSTOP).
func stop(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// wake lets it go on (SIGCONT).
func wake(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
