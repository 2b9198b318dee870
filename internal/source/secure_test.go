package source

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// begins and ends bound the time of certificates: the clock of a bubble, which
// is in the year 2000, is in it too.
var (
	begins = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	ends   = time.Now().AddDate(1, 0, 0)
)

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: begins, NotAfter: ends,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, pool: x509.NewCertPool()}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	return a
}

// sign makes a certificate for an address.
func (a *authority) sign(t *testing.T, ip net.IP) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tpl := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: begins, NotAfter: ends,
		IPAddresses: []net.IP{ip}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tpl, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// users are the logins of the fake broker.
func users() []kfake.Opt {
	return []kfake.Opt{
		kfake.EnableSASL(), kfake.Superuser("PLAIN", "p", "secret1"),
		kfake.Superuser("SCRAM-SHA-256", "a", "secret2"), kfake.Superuser("SCRAM-SHA-512", "b", "secret3"),
	}
}

// idle is a work that does nothing.
func idle(context.Context, *Partition) error { return nil }

// Each login works for the fetches and for the group, over TLS with a client
// certificate.
func TestLogins(t *testing.T) {
	ca := newAuthority(t)
	c := cluster(t, append(users(), kfake.SeedTopics(1, "t"), kfake.TLS(&tls.Config{
		Certificates: []tls.Certificate{ca.sign(t, net.IPv4(127, 0, 0, 1))},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: ca.pool,
	}))...)
	f := func(group string, s SASL) {
		t.Helper()
		cfg := config(c, "t")
		cfg.SASL, cfg.Group = s, group
		cfg.TLS = &tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{ca.sign(t, net.IPv4(127, 0, 0, 1))}}
		read := false
		err := run(t, cfg, func(ctx context.Context, p *Partition) error {
			read = true
			_, _, err := p.Bounds(ctx)
			return err
		})
		if err != nil || !read {
			t.Errorf("%v in group %q: read %t, %v", s, group, read, err)
		}
	}
	f("", SASL{Mechanism: "plain", User: "p", Password: "secret1"})
	f("", SASL{Mechanism: "scram-sha-256", User: "a", Password: "secret2"})
	f("", SASL{Mechanism: "scram-sha-512", User: "b", Password: "secret3"})
	f("g", SASL{Mechanism: "plain", User: "p", Password: "secret1"})
	f("g", SASL{Mechanism: "scram-sha-512", User: "b", Password: "secret3"})
}

// told fails unless err says what to do, in one line and without a secret.
func told(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want %q", err, want)
	}
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Errorf("error tells a secret: %v", err)
	}
}

// A first contact that fails says in one line what to do, soon, and tells no
// secret. The clock is the test's own: however busy the machine is, a handshake
// takes no time of it.
func TestFirstContact(t *testing.T) {
	ca := newAuthority(t)
	plain, login := []kfake.Opt{}, users()
	secure := []kfake.Opt{kfake.TLS(&tls.Config{Certificates: []tls.Certificate{ca.sign(t, net.IPv4(127, 0, 0, 1))}})}
	f := func(cluster []kfake.Opt, change func(*Config), want string) {
		t.Helper()
		inBubble(t, func(t *testing.T, p *pipes) {
			p.create(t, "t", 1)
			cfg := p.config()
			cfg.Topics, cfg.StartTimeout = []string{"t"}, 3*time.Second
			change(&cfg)
			began := time.Now()
			told(t, run(t, cfg, idle), want)
			if d := time.Since(began); d > cfg.StartTimeout {
				t.Errorf("took %v", d)
			}
			time.Sleep(connectTimeout) // then the last connection is given up
		}, cluster...)
	}
	dials := func(err error) func(*Config) {
		return func(c *Config) {
			c.Dial = func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Err: err}
			}
		}
	}
	// Nobody listens; the name does not exist.
	f(plain, dials(syscall.ECONNREFUSED), "check the address, the port and that Kafka runs")
	f(plain, dials(&net.DNSError{Name: "no-such-host.invalid"}), "the host name is unknown: check the address")
	// Wrong password, by both ways to check one, and unknown user.
	f(login, func(c *Config) { c.SASL = SASL{Mechanism: "plain", User: "p", Password: "secretX"} }, `as user "p" by plain: check user, password`)
	f(login, func(c *Config) { c.SASL = SASL{Mechanism: "scram-sha-256", User: "a", Password: "secretX"} }, `as user "a" by scram-sha-256: check`)
	f(login, func(c *Config) { c.SASL = SASL{Mechanism: "scram-sha-512", User: "who", Password: "secretX"} }, `as user "who" by scram-sha-512: check`)
	// No login where one is expected.
	f(login, func(*Config) {}, "expect TLS or a login")
	// A mechanism that this program does not have.
	f(login, func(c *Config) { c.SASL = SASL{Mechanism: "gssapi", User: "a", Password: "secretX"} }, "use plain, scram-sha-256, scram-sha-512 or oauthbearer")
	// TLS on one side only.
	f(secure, func(*Config) {}, "expect TLS or a login")
	f(plain, func(c *Config) { c.TLS = &tls.Config{RootCAs: ca.pool} }, "check the address, tls and sasl")
}

// A certificate of the brokers that was signed by nobody known, or for another
// address, and none of ours where they want one: told at once, which no time-out
// has a part in. (Both ends of a pipe would wait for the other to read.)
func TestCertificates(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	f := func(server *tls.Config, roots *x509.CertPool, want string) {
		t.Helper()
		cfg := config(cluster(t, kfake.SeedTopics(1, "t"), kfake.TLS(server)), "t")
		cfg.TLS = &tls.Config{RootCAs: roots}
		told(t, run(t, cfg, idle), want)
	}
	here := []tls.Certificate{ca.sign(t, net.IPv4(127, 0, 0, 1))}
	f(&tls.Config{Certificates: here}, other.pool, "give the CA file")
	f(&tls.Config{Certificates: []tls.Certificate{ca.sign(t, net.IPv4(10, 0, 0, 1))}}, ca.pool, "certificate is for other names")
	f(&tls.Config{Certificates: here, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.pool}, ca.pool, "check the client certificate")
}

// No port and no name, as the operating system tells it.
func TestNobodyThere(t *testing.T) {
	f := func(broker string) {
		t.Helper()
		err := run(t, Config{Brokers: []string{broker}, Topics: []string{"t"}, StartTimeout: 200 * time.Millisecond}, idle)
		if err == nil || !strings.Contains(err.Error(), "no broker answers at "+broker) || !strings.Contains(err.Error(), "check the address") {
			t.Errorf("got %v", err)
		}
	}
	f(closedPort(t))
	f("no-such-host.invalid:9092")
}

// closedPort returns an address that refuses connections.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A broker that takes connections and never answers does not hang the start.
func TestSilentBroker(t *testing.T) {
	inBubble(t, func(t *testing.T, p *pipes) {
		cfg := p.config()
		cfg.Topics, cfg.StartTimeout = []string{"t"}, 3*time.Second
		p.breaks(func(context.Context) (net.Conn, error) {
			silent, _ := net.Pipe()
			return silent, nil
		})
		began := time.Now()
		err := run(t, cfg, idle)
		if err == nil || !strings.Contains(err.Error(), "no broker answers at "+p.ListenAddrs()[0]) {
			t.Errorf("got %v", err)
		}
		if d := time.Since(began); d > cfg.StartTimeout {
			t.Errorf("took %v", d)
		}
		time.Sleep(connectTimeout) // then the last connection is given up
	})
}

func TestNoTopic(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"), kfake.AllowAutoTopicCreation())
	f := func(group string) {
		t.Helper()
		cfg := config(c, "t", "wrong")
		cfg.Group = group
		err := run(t, cfg, idle)
		if !errors.Is(err, ErrNoTopic) || !strings.Contains(err.Error(), `topic "wrong"`) {
			t.Errorf("group %q: %v", group, err)
		}
		if c.TopicInfo("wrong") != nil {
			t.Errorf("group %q: the topic was created", group)
		}
	}
	f("")
	f("g")
}

// A listed partition that the topic does not have is a mistake to be told.
func TestNoPartition(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(2, "t"))
	cfg := config(c, "t")
	cfg.Partitions = map[string][]int32{"t": {0, 2}}
	if err := run(t, cfg, idle); err == nil || err.Error() != `topic "t" has no partition 2: it has 2 partitions` {
		t.Errorf("got %v", err)
	}
}

// No way of printing a login shows the password.
func TestPasswordHidden(t *testing.T) {
	s := SASL{Mechanism: "plain", User: "user", Password: "secret"}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "sasl", s)
	text := fmt.Sprintf("%v %+v %#v %s", s, s, s, log.String())
	if strings.Contains(text, "secret") || !strings.Contains(text, "plain as user") {
		t.Error(text)
	}
}

func TestConfigErrors(t *testing.T) {
	f := func(c Config, want string) {
		t.Helper()
		if err := Run(t.Context(), c, idle); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	f(Config{Topics: []string{"t"}}, "no brokers")
	f(Config{Brokers: []string{"x:1"}}, "no topics")
	// Partitions of a topic that is not read.
	f(Config{Brokers: []string{"x:1"}, Topics: []string{"t"}, Partitions: map[string][]int32{"u": {0}}}, `"u"`)
	f(Config{Brokers: []string{"x:1"}, Topics: []string{"t"}, MaxWait: -1}, "negative")
}
