package main

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/lakeweir/lakeweir/integration/bench/resident"
)

// cost is what a process used.
type cost struct {
	cpu, clock time.Duration
	mib        float64
	rate       float64 // records a second
}

// child is a sink that runs.
type child struct {
	cmd   *exec.Cmd
	begin time.Time
	log   string
	done  chan struct{} // closed when it was reaped
	err   error         // how it ended; read after done
	cost  cost          // the same
}

// start starts the sink of a job, or starts it again.
func (j *job) start(ctx context.Context) (*child, error) {
	cmd := j.sink.command(ctx, j)
	c := &child{cmd: cmd, log: j.file("log"), done: make(chan struct{})}
	out, err := os.Create(c.log)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the child has its own descriptor
	cmd.Stdout, cmd.Stderr = out, out
	c.begin = time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	gone := make(chan struct{})
	peak := make(chan float64)
	go func() { peak <- resident.Watch(cmd.Process.Pid, gone) }()
	go func() {
		c.err = cmd.Wait()
		close(gone)
		state := cmd.ProcessState
		c.cost = cost{cpu: state.UserTime() + state.SystemTime(), clock: time.Since(c.begin), mib: <-peak}
		close(c.done)
	}()
	return c, nil
}

// wait waits until the process ends by itself.
func (c *child) wait(ctx context.Context) (cost, error) {
	select {
	case <-ctx.Done():
		c.kill()
		return cost{}, ctx.Err()
	case <-c.done:
		return c.cost, c.err
	}
}

// stop asks the process to end, and makes it.
func (c *child) stop() cost {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.done:
	case <-time.After(30 * time.Second):
		c.kill()
	}
	return c.cost
}

// kill ends the process as a crash would.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

// said is the end of what the process printed.
func (c *child) said() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(len(text)-4000, 0):])
}
