package realkafka

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// fifoVariable makes TestLeash play the test binary that gets killed.
const fifoVariable = "LAKEWEIR_TEST_FIFO"

// A test binary that is killed with SIGKILL leaves no child behind. The child
// holds the only other end of a named pipe, so the pipe's end is the child's.
func TestLeash(t *testing.T) {
	if fifo := os.Getenv(fifoVariable); fifo != "" {
		if _, err := startProcess(fifo, "sh", "-c", "echo up; exec sleep 600"); err != nil {
			t.Fatal(err)
		}
		fmt.Println("started")
		select {} // until it is killed
	}
	fifo := newFIFO(t)
	victim := exec.Command(os.Args[0], "-test.run=^TestLeash$")
	victim.Env = append(os.Environ(), fifoVariable+"="+fifo)
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	pipe := awaitUp(t, fifo)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "started\n" {
		t.Fatalf("the test binary says %q, %v", line, err)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // "signal: killed"
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(pipe)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the child lives on after its test binary was killed")
	}
}

// A process that does not heed SIGTERM is killed after the limit.
func TestEndKills(t *testing.T) {
	fifo := newFIFO(t)
	started := make(chan *process, 1)
	go func() { // to open the pipe waits for its reader
		p, err := startProcess(fifo, "sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done")
		if err != nil {
			t.Error(err)
		}
		started <- p
	}()
	awaitUp(t, fifo)
	p := <-started
	p.end(50 * time.Millisecond)
	if status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Errorf("got %v, want an end by SIGKILL", p.cmd.ProcessState)
	}
	p.end(time.Hour) // to end it again is no error and takes no time
}

// newFIFO makes a named pipe.
func newFIFO(t *testing.T) string {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	return fifo
}

// awaitUp opens the reading end and waits until the child has written "up".
func awaitUp(t *testing.T, fifo string) *os.File {
	t.Helper()
	pipe, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pipe.Close() })
	if _, err := io.ReadFull(pipe, make([]byte, len("up\n"))); err != nil {
		t.Fatalf("the child did not come up: %v", err)
	}
	return pipe
}
