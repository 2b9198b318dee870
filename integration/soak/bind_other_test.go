//go:build !linux

package soak

import (
	"os/exec"
	"syscall"
)

// bind gives a process a group of its own, so that an interrupt at the terminal
// reaches the test alone.
func bind(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
