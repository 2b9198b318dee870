package lakeweirtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/integration/gateway"
)

// runLimit ends a run that should have ended by itself.
const runLimit = 90 * time.Second

// Result is how a process ended: Code is -1 after a signal.
type Result struct {
	Code     int
	Out, Log string // standard output, and standard error with the log
}

// Process is a running command.
type Process struct {
	t    testing.TB
	cmd  *exec.Cmd
	out  bytes.Buffer
	log  safeBuffer
	done chan struct{}
}

// safeBuffer is read while a process writes it.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// start calls the command with the keys of the gateway in its environment.
func start(t testing.TB, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, cmd: exec.Command(binary, args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+gateway.AccessKey, "AWS_SECRET_ACCESS_KEY="+gateway.SecretKey)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start the command: %v", err)
	}
	go func() {
		_ = p.cmd.Wait() // ProcessState tells
		close(p.done)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("lakeweir %v\n%s", args, p.log.String())
		}
	})
	return p
}

// Log returns what the process has logged until now.
func (p *Process) Log() string { return p.log.String() }

// PID returns the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// BytesRead returns how many bytes the process has read until now, from files
// and sockets: what it was sent and has not shown yet.
func (p *Process) BytesRead() int64 {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.PID()))
	var n int64
	if err == nil {
		_, err = fmt.Sscanf(string(text), "rchar: %d", &n)
	}
	if err != nil {
		p.t.Fatalf("count what process %d has read: %v", p.PID(), err)
	}
	return n
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Wait returns how the process ended. One that does not end is killed and fails the test.
func (p *Process) Wait() Result {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(runLimit):
		p.Kill()
		p.t.Fatalf("the command has not ended after %v\n%s", runLimit, p.log.String())
	}
	return Result{Code: p.cmd.ProcessState.ExitCode(), Out: p.out.String(), Log: p.log.String()}
}

// Stop asks the process to end, as a supervisor does.
func (p *Process) Stop() Result {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	return p.Wait()
}

// Kill ends the process as a crash does, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.done
}

// PeakMemory returns the most memory that the running process has held, in
// bytes. (What the system tells of a child that has ended includes what its
// parent held when it was started.)
func (p *Process) PeakMemory() int64 {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		p.t.Fatalf("ask for the memory of process %d: %v", p.PID(), err)
	}
	_, line, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(line, &kib); err != nil {
		p.t.Fatalf("find the peak memory in %q: %v", text, err)
	}
	return kib << 10
}
