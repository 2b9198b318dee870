package main

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

// A server is this program again, in a role. It prints its address and ends
// with its standard input.
const (
	roleVariable = "LAKEWEIR_BENCH_ROLE"
	brokerRole   = "broker"
	gatewayRole  = "gateway"
)

func serve(role string) {
	address, err := listen(role)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", role+":", err)
		os.Exit(1)
	}
	fmt.Println(address)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func listen(role string) (string, error) {
	switch role {
	case brokerRole:
		c, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			return "", err
		}
		return c.ListenAddrs()[0], nil
	case gatewayRole:
		g, err := gateway.Start(os.Args[1])
		if err != nil {
			return "", err
		}
		bucket, err := g.Bucket(context.Background())
		return g.Endpoint + "/" + bucket, err
	}
	return "", errors.New("no such role")
}

// server is a child process.
type server struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	address string
}

func startServer(role string, args ...string) (*server, error) {
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
	s := &server{cmd: cmd, stdin: in}
	lines := bufio.NewReader(out)
	for s.address == "" {
		text, err := lines.ReadString('\n')
		if err != nil {
			s.stop()
			return nil, fmt.Errorf("start %s: %w", role, err)
		}
		if text = strings.TrimSpace(text); strings.Contains(text, "127.0.0.1:") {
			s.address = text
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return s, nil
}

func (s *server) stop() {
	_ = s.stdin.Close()
	_ = s.cmd.Wait()
}
