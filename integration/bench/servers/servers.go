// Package servers runs what a benchmark needs beside the process that it
// measures: a broker and a store, each in a process of its own.
package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/lakeweir/lakeweir/integration/gateway"
)

// Roles of a server.
const (
	Broker  = "broker"  // kfake
	Gateway = "gateway" // an S3 server over the directory that is its argument, with one bucket
)

const roleVariable = "LAKEWEIR_BENCH_ROLE"

// Serve is called first thing in main. It reports whether this process is a
// server; by then it has ended its service.
func Serve() bool {
	role := os.Getenv(roleVariable)
	if role == "" {
		return false
	}
	address, err := listen(role)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", role+":", err)
		os.Exit(1)
	}
	fmt.Println(address)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return true
}

func listen(role string) (string, error) {
	switch role {
	case Broker:
		c, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			return "", err
		}
		return c.ListenAddrs()[0], nil
	case Gateway:
		g, err := gateway.Start(os.Args[1])
		if err != nil {
			return "", err
		}
		bucket, err := g.Bucket(context.Background())
		return g.Endpoint + "/" + bucket, err
	}
	return "", errors.New("no such role")
}

// Server is a child process: this program again, in a role. It ends with its
// standard input, so it does not outlive this process.
type Server struct {
	Address string // host:port of a broker, URL of the bucket of a gateway

	cmd   *exec.Cmd
	stdin io.Closer
}

// Start starts a server and waits until it listens.
func Start(role string, args ...string) (*Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{cmd: cmd, stdin: in}
	lines := bufio.NewReader(out)
	for s.Address == "" {
		text, err := lines.ReadString('\n')
		if err != nil {
			s.Stop()
			return nil, fmt.Errorf("start %s: %w", role, err)
		}
		if text = strings.TrimSpace(text); strings.Contains(text, "127.0.0.1:") {
			s.Address = text
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return s, nil
}

// Stop ends the server.
func (s *Server) Stop() {
	_ = s.stdin.Close()
	_ = s.cmd.Wait()
}
