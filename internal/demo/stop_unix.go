//go:build unix

package demo

import (
	"os"
	"syscall"
)

// contends says whether sinks can be set against each other here: two processes
// may share a directory store, and one can be stopped for a while and woken.
const contends = true

// lock takes a file for this process, which gives it back when it ends, however
// it ends. It fails if another process has it.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// stop stops every thread of a process (SIGSTOP).
func stop(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// wake lets it go on (SIGCONT).
func wake(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
