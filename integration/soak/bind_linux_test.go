package soak

import (
	"os/exec"
	"syscall"
)

// bind gives a process a group of its own, so that an interrupt at the terminal
// reaches the test alone, and ends it with the test, however that ends.
func bind(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
