package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
)

// child is a sink as its parent sees it.
type child struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	log  *tail

	// Of the goroutine that listens.
	spoke, over bool   // its first word was heard, and its end
	at          report // where it stands, if it was heard to be held
	failed      string // why it says that it ended
}

// heard is what a child said, or, with kind gone, that its process is no more.
type heard struct {
	from *child
	report
}

// gone is the end of a process, by whatever cause.
const gone kind = "gone"

// start starts a sink. All that it says is sent to ears, gone last of all.
func start(ctx context.Context, cmd *exec.Cmd, o order, ears chan<- heard) (*child, error) {
	c := &child{name: o.Name, cmd: cmd, log: &tail{}}
	cmd.Stderr = c.log
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	c.in = in
	go c.listen(ctx, out, ears)
	if err := json.NewEncoder(in).Encode(o); err != nil {
		return c, fmt.Errorf("give %s its order: %w", o.Name, err)
	}
	return c, nil
}

// listen passes on what the child says, and at last that it is gone.
func (c *child) listen(ctx context.Context, out io.Reader, ears chan<- heard) {
	tell := func(r report) {
		select {
		case ears <- heard{c, r}:
		case <-ctx.Done():
		}
	}
	words := json.NewDecoder(out)
	for {
		var r report
		if err := words.Decode(&r); err != nil {
			break // the end, or a line cut off by SIGKILL
		}
		tell(r)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = c.cmd.Wait() // killed, most often: what it did counts, not how it ended
	tell(report{Kind: gone})
}

// word says a word to the child. One that is gone does not hear it.
func (c *child) word(w string) { _, _ = io.WriteString(c.in, w+"\n") }

// kill ends the process at once (SIGKILL).
func (c *child) kill() { _ = c.cmd.Process.Kill() } // it may be gone already

// tail keeps the end of what is written to it: the log of a sink, for the case
// that it fails.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// tailBytes is how much of a log is kept.
const tailBytes = 4 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p)
	if n := t.buf.Len() - tailBytes; n > 0 {
		t.buf.Next(n)
	}
	return len(p), nil
}

// String returns the last line of the log.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(t.buf.String()), "\n")
	return lines[len(lines)-1]
}
