package realkafka_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/lakeweir/lakeweir/integration/realkafka"
)

func TestMain(m *testing.M) { os.Exit(realkafka.Main(m)) }

// limit bounds the context of a test.
const limit = 60 * time.Second

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// One broker with every listener goes through a life: logins, a stop in good
// order, a crash. What was acknowledged is there afterwards.
func TestBrokerLife(t *testing.T) {
	ctx := within(t)
	began := time.Now()
	b := realkafka.Start(t, realkafka.Options{
		Users:      map[string]string{"alice": "alices-secret"},
		TLS:        true,
		Properties: map[string]string{"num.partitions": "3"},
	})
	t.Logf("the first start took %v", time.Since(began).Round(time.Millisecond))

	checkListeners(t, ctx, b)

	b.CreateTopic(t, "life", -1, nil) // -1 takes num.partitions, so a property given by the test arrives
	if n := len(endOffsets(t, b, "life")); n != 3 {
		t.Errorf("partitions: got %d, want the broker's default of 3", n)
	}
	b.Produce(t, []*kgo.Record{{Topic: "life", Value: []byte("1")}})
	before := b.PID()
	b.Restart(t)
	if b.PID() == before {
		t.Errorf("a restart kept process %d", before)
	}
	b.Produce(t, []*kgo.Record{{Topic: "life", Value: []byte("2")}})
	b.Kill9()
	if err := syscall.Kill(b.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("after kill -9 the process is still there: %v", err)
	}
	began = time.Now()
	b.Up(t)
	t.Logf("the start after a crash took %v", time.Since(began).Round(time.Millisecond))
	b.Produce(t, []*kgo.Record{{Topic: "life", Value: []byte("3")}})
	if got := endOffsets(t, b, "life")[0]; got != 3 {
		t.Errorf("end of the log: got %d, want 3: a record before the stop or the crash is missing", got)
	}
}

// checkListeners tries who gets in at each listener, and who does not.
func checkListeners(t *testing.T, ctx context.Context, b *realkafka.Broker) {
	t.Helper()
	tlsConfig, err := b.ClientTLS()
	if err != nil {
		t.Fatalf("client TLS: %v", err)
	}
	ping := func(name, addr string, wantErr bool, opts ...kgo.Opt) {
		t.Helper()
		c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.RequestRetries(0)}, opts...)...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer c.Close()
		short, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		if err := c.Ping(short); (err != nil) != wantErr {
			t.Errorf("%s: got error %v, want one: %v", name, err, wantErr)
		}
	}
	login := func(m sasl.Mechanism) kgo.Opt { return kgo.SASL(m) }
	// Each mechanism takes the right password.
	ping("PLAIN", b.SASLAddr(), false, login(plain.Auth{User: "alice", Pass: "alices-secret"}.AsMechanism()))
	ping("SCRAM-256", b.SASLAddr(), false, login(scram.Auth{User: "alice", Pass: "alices-secret"}.AsSha256Mechanism()))
	ping("SCRAM-512", b.SASLAddr(), false, login(scram.Auth{User: "alice", Pass: "alices-secret"}.AsSha512Mechanism()))
	// A wrong password and a client without a login stay outside.
	ping("wrong password", b.SASLAddr(), true, login(scram.Auth{User: "alice", Pass: "guess"}.AsSha256Mechanism()))
	ping("no login", b.SASLAddr(), true)
	// TLS with the certificate works, without it does not.
	ping("TLS", b.TLSAddr(), false, kgo.DialTLSConfig(tlsConfig))
	tlsConfig.Certificates = nil
	ping("TLS without certificate", b.TLSAddr(), true, kgo.DialTLSConfig(tlsConfig))
}

// A property that Kafka refuses ends the start with the broker's own words.
func TestStartShowsTheBrokersLog(t *testing.T) {
	rec := &recorder{TB: t, dir: t.TempDir()}
	done := make(chan struct{})
	go func() { // Fatalf of the recorder ends this goroutine, not the test
		defer close(done)
		realkafka.Start(rec, realkafka.Options{Properties: map[string]string{"num.io.threads": "none"}})
	}()
	<-done
	if !strings.Contains(rec.fatal, "num.io.threads") {
		t.Errorf("got %q, want the property that is wrong", rec.fatal)
	}
}

// Shared gives the same broker twice, and it works.
func TestShared(t *testing.T) {
	b := realkafka.Shared(t)
	if again := realkafka.Shared(t); again != b {
		t.Fatalf("got two brokers, %s and %s", b.Addr(), again.Addr())
	}
	b.CreateTopic(t, "shared", 2, nil)
	b.Produce(t, []*kgo.Record{{Topic: "shared", Partition: 1, Value: []byte("v")}})
	if got := endOffsets(t, b, "shared"); got[0] != 0 || got[1] != 1 {
		t.Errorf("ends: got %v, want 0 and 1", got)
	}
	b.DeleteTopic(t, "shared")
	if got, err := kadm.NewClient(b.Client(t)).ListTopics(within(t), "shared"); err != nil || got.Has("shared") && got["shared"].Err == nil {
		t.Errorf("after delete: %v, %v", got["shared"], err)
	}
}

// endOffsets returns the high watermarks of a topic by partition.
func endOffsets(t *testing.T, b *realkafka.Broker, topic string) map[int32]int64 {
	t.Helper()
	listed, err := kadm.NewClient(b.Client(t)).ListEndOffsets(within(t), topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		t.Fatalf("list offsets of %s: %v", topic, err)
	}
	ends := map[int32]int64{}
	listed.Each(func(o kadm.ListedOffset) { ends[o.Partition] = o.Offset })
	return ends
}

// recorder is a test that keeps the message of Fatalf.
type recorder struct {
	testing.TB
	dir   string
	fatal string
}

func (r *recorder) TempDir() string { return r.dir }

func (r *recorder) Fatalf(format string, args ...any) {
	r.fatal = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
