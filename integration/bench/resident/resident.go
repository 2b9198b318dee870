// Package resident tells how much memory another process holds.
package resident

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// look is the pause between two looks. The system keeps the peak itself, so only
// what grows within the last one is missed.
const look = 10 * time.Millisecond

// Watch returns the most memory that a process has held, in MiB, once gone is
// closed. It reads what Linux tells and is 0 elsewhere. What wait(2) says would
// not do: a process inherits the peak of the one that started it.
func Watch(pid int, gone <-chan struct{}) float64 {
	tick := time.NewTicker(look)
	defer tick.Stop()
	peak := 0.0
	for {
		peak = max(peak, most(pid))
		select {
		case <-gone:
			return peak
		case <-tick.C:
		}
	}
}

// most reads the peak of a process, 0 if it has ended.
func most(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, text, _ := bytes.Cut(status, []byte("VmHWM:"))
	kib := 0.0
	_, _ = fmt.Sscan(string(text), &kib) // a process that is ending has none
	return kib / 1024
}
