package soak

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/integration/gateway"
)

// setup is how a process of the command is configured. The zero value of a
// field leaves the default of the command.
type setup struct {
	brokers, store, driver, bucket string
	topics                         []string
	group                          string
	partitions                     string // a mapping in YAML
	more                           string // further lines
}

// write makes a configuration file and returns its path.
func (s setup) write(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "brokers: [%s]\ns3: {region: %s", s.brokers, gateway.Region)
	if s.driver == "minio" {
		fmt.Fprintf(&b, "}\nstore: minio://%s/%s/raw\n", s.store, s.bucket)
	} else {
		fmt.Fprintf(&b, ", endpoint: %q}\nstore: s3://%s/raw\n", "http://"+s.store, s.bucket)
	}
	if s.group != "" {
		fmt.Fprintf(&b, "group: %s\n", s.group)
	}
	if s.partitions != "" {
		fmt.Fprintf(&b, "partitions: %s\n", s.partitions)
	}
	fmt.Fprintf(&b, "%s\ntopics:\n", s.more)
	for _, topic := range s.topics {
		fmt.Fprintf(&b, `  %s:
    value: json
    columns:
      - {name: id, path: id, type: int64, required: true}
      - {name: payload, path: payload, type: string, required: true}
`, topic)
	}
	path := filepath.Join(t.TempDir(), "lakeweir.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// proc is a running process of the command.
type proc struct {
	cmd  *exec.Cmd
	errs *tail
	done chan struct{} // closed when it has ended

	mu     sync.Mutex
	wanted bool // its end was asked for
}

// launch starts `lakeweir run`. The process ends with the test at the latest.
func launch(t *testing.T, config string, args ...string) *proc {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"run", "--config", config}, args...)...)
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+gateway.AccessKey, "AWS_SECRET_ACCESS_KEY="+gateway.SecretKey)
	p := &proc{cmd: cmd, errs: &tail{}, done: make(chan struct{})}
	cmd.Stderr = p.errs
	bind(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // code tells
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.done
	})
	return p
}

// signal sends a signal; a process that has ended already does not mind.
func (p *proc) signal(sig syscall.Signal) {
	if sig == syscall.SIGKILL || sig == syscall.SIGTERM {
		p.mu.Lock()
		p.wanted = true
		p.mu.Unlock()
	}
	_ = p.cmd.Process.Signal(sig)
}

func (p *proc) asked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wanted
}

// kill ends the process as a crash would.
func (p *proc) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// code returns how the process ended, -1 by a signal. It must have ended.
func (p *proc) code() int { return p.cmd.ProcessState.ExitCode() }

// exits waits for the end of the process and returns its exit code and how long
// that took.
func (p *proc) exits(t *testing.T, limit time.Duration) (code int, took time.Duration) {
	t.Helper()
	begin := time.Now()
	select {
	case <-p.done:
	case <-time.After(limit):
		t.Fatalf("the process has not ended after %v:\n%s", limit, p.errs)
	}
	return p.code(), time.Since(begin)
}

// usage returns what the process used: its memory at most, in MiB, and the time
// that it had the processor. It must have ended.
func (p *proc) usage() (mib int64, cpu time.Duration) {
	u := p.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	mib = int64(u.Maxrss) >> 10
	if runtime.GOOS == "darwin" { // bytes there
		mib >>= 10
	}
	return mib, p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// tail keeps the end of what a process writes.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// mostTail is how much is kept.
const mostTail = 256 << 10

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buf.Len() > mostTail {
		l.buf.Next(l.buf.Len() / 2)
	}
	return l.buf.Write(p)
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// last returns the last lines.
func (l *tail) last() string {
	const most = 4 << 10
	text := l.String()
	return text[max(0, len(text)-most):]
}

// has reports whether a text was written lately, and how often.
func (l *tail) has(text string) int { return strings.Count(l.String(), text) }
