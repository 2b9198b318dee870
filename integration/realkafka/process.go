package realkafka

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is a child that does not outlive this process, however that ends.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child was reaped
}

// startProcess runs a command with its output appended to a file. The child has
// a process group of its own: an interrupt at the terminal reaches the test,
// which ends the broker in its own order.
func startProcess(log, name string, args ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the child has its own descriptor
	leash, hold, err := newLeash()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	if err == nil {
		_, err = fmt.Fprintln(hold, cmd.Process.Pid)
	}
	if err != nil {
		_ = leash.Process.Kill()
		_ = leash.Wait()
		if cmd.Process != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		_ = leash.Process.Kill()
		_ = leash.Wait()
		_ = hold.Close()
		close(p.done)
	}()
	return p, nil
}

// newLeash starts a shell that is told the process id of a child, then waits on
// the same pipe and kills the child once this end closes. So a test binary that
// panics, times out or is killed leaves no broker behind, on any Unix.
func newLeash() (*exec.Cmd, io.WriteCloser, error) {
	leash := exec.Command("sh", "-c", `read -r pid && { read -r _; kill -9 "$pid"; }`)
	leash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	hold, err := leash.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	return leash, hold, leash.Start()
}

// end asks the process to stop, and kills it after the limit.
func (p *process) end(limit time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-p.done:
	case <-time.After(limit):
		p.kill()
	}
}

// kill ends the process at once and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}
