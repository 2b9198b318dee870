// Package realkafka runs an Apache Kafka broker for tests: the real one, as a
// child process on free loopback ports, with a log directory of its own.
//
// [Start] gives a test a broker of its own, which it may stop, kill and start
// again. [Shared] gives all tests of a binary one broker; they keep apart by
// topic names. The jars come from ../kafka/install.sh, or from the folder that
// the environment variable LAKEWEIR_KAFKA names.
//
// It needs a Unix system, Java 17 and, the first time, Maven.
package realkafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Options says what a broker offers beyond plain text on the loopback. The zero
// value is a plain broker.
type Options struct {
	// Properties are server properties; they win over those of this package.
	Properties map[string]string

	// Users maps names to passwords. With at least one, a listener asks for
	// SASL PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; see Broker.SASLAddr. Neither
	// may have characters that a Java properties file or JAAS quotes.
	Users map[string]string

	// TLS opens a listener that asks for a client certificate; see Broker.TLSAddr.
	// With Users there is one that asks for a login instead; see Broker.SASLTLSAddr.
	TLS bool

	// ClusterID is the id of the cluster, 16 bytes in base64 without padding.
	// Default: one that all brokers of this package have.
	ClusterID string
}

// Broker is one Kafka process: broker and controller in one. Its methods are
// for the goroutine of the test.
type Broker struct {
	dir     string
	home    string // folder with libs/
	options Options
	ports   ports
	certs   *certs // nil without TLS
	proc    *process
	shared  bool
}

// Time limits, generous for a machine that runs other tests too.
const (
	readyLimit = 90 * time.Second
	stopLimit  = 20 * time.Second
)

// Start starts a broker and waits until it answers. The broker ends with the
// test; a test that failed shows the end of its log.
func Start(t testing.TB, o Options) *Broker {
	t.Helper()
	home, err := installed()
	if err != nil {
		t.Fatalf("find Kafka: %v", err)
	}
	b, err := launch(home, t.TempDir(), o)
	if err != nil {
		t.Fatalf("start Kafka: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() { // before the many lines of its end
			t.Logf("the broker's log ends with:\n%s", b.tail())
		}
		b.proc.end(stopLimit)
	})
	return b
}

// launch formats the log directory and boots a broker in dir. A free port may be
// taken by another process before the broker binds it, so it tries a few times.
func launch(home, dir string, o Options) (*Broker, error) {
	b := &Broker{dir: dir, home: home, options: o}
	if o.TLS {
		c, err := newCerts(dir)
		if err != nil {
			return nil, fmt.Errorf("make certificates: %w", err)
		}
		b.certs = c
	}
	for try := 1; ; try++ {
		err := b.install()
		if err == nil {
			err = b.boot()
		}
		if err == nil {
			return b, nil
		}
		if try == 3 || !strings.Contains(b.tail(), "Address already in use") {
			return nil, err
		}
	}
}

// install chooses ports, writes the configuration and formats the log directory.
func (b *Broker) install() error {
	var err error
	if b.ports, err = freePorts(); err != nil {
		return fmt.Errorf("choose ports: %w", err)
	}
	if err := os.WriteFile(b.path("server.properties"), []byte(b.properties()), 0o600); err != nil {
		return err
	}
	return b.format()
}

// boot starts the process and waits until it answers.
func (b *Broker) boot() error {
	args := append(jvm(b.home, "512m"), "kafka.Kafka", b.path("server.properties"))
	p, err := startProcess(b.path("kafka.log"), "java", args...)
	if err != nil {
		return err
	}
	b.proc = p
	if err := b.ready(); err != nil {
		p.kill()
		return fmt.Errorf("%w; its log ends with:\n%s", err, b.tail())
	}
	return nil
}

// ready waits until the broker lists itself: it has joined its controller and
// takes requests.
func (b *Broker) ready() error {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), readyLimit)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		if b.answers(ctx, client) {
			return nil
		}
		select {
		case <-b.proc.done:
			return errors.New("the broker ended while it started")
		case <-ctx.Done():
			return fmt.Errorf("the broker does not answer after %v", readyLimit)
		case <-again.C:
		}
	}
}

// answers asks once. The client's own retries are cut short, or a broker that
// is not up yet would cost its back-off.
func (b *Broker) answers(ctx context.Context, client *kgo.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := client.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return false
	}
	return len(resp.(*kmsg.MetadataResponse).Brokers) == 1
}

// Addr returns host:port of the listener without encryption or login.
func (b *Broker) Addr() string { return addr(b.ports.plain) }

// SASLAddr returns host:port of the listener that asks for a login. It is there
// with Options.Users.
func (b *Broker) SASLAddr() string { return addr(b.ports.sasl) }

// TLSAddr returns host:port of the listener that speaks TLS and asks for a
// client certificate. It is there with Options.TLS.
func (b *Broker) TLSAddr() string { return addr(b.ports.tls) }

// SASLTLSAddr returns host:port of the listener that speaks TLS and asks for a
// login. It is there with Options.Users and Options.TLS.
func (b *Broker) SASLTLSAddr() string { return addr(b.ports.saslTLS) }

// PID returns the process id of the running broker.
func (b *Broker) PID() int { return b.proc.cmd.Process.Pid }

// Stop ends the broker in good order, by force if that takes too long.
func (b *Broker) Stop() { b.proc.end(stopLimit) }

// Kill9 ends the broker as a crash of its process would. What it had answered
// stays: the pages of its files belong to the system.
func (b *Broker) Kill9() { b.proc.kill() }

// Up starts a broker again that was stopped or killed: same ports, same log.
func (b *Broker) Up(t testing.TB) {
	t.Helper()
	if err := b.boot(); err != nil {
		t.Fatalf("start Kafka again: %v", err)
	}
}

// Restart stops the broker in good order and starts it again.
func (b *Broker) Restart(t testing.TB) {
	t.Helper()
	b.Stop()
	b.Up(t)
}

// Segment returns the path of the first segment of a partition's log. A test may
// cut it while the broker is down, to lose what a disk lost.
func (b *Broker) Segment(topic string, partition int) string {
	return b.path(filepath.Join("data", fmt.Sprintf("%s-%d", topic, partition), "00000000000000000000.log"))
}

func (b *Broker) path(name string) string { return filepath.Join(b.dir, name) }

// tail returns the end of the broker's log, for a failure.
func (b *Broker) tail() string {
	const most = 4 << 10
	log, err := os.ReadFile(b.path("kafka.log"))
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-most):])
}
