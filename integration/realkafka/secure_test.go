package realkafka_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/integration/realkafka"
	"github.com/lakeweir/lakeweir/internal/source"
)

// The source logs in by each mechanism and with a client certificate, and says
// in words what is wrong when it may not.
func TestSecureSource(t *testing.T) {
	b := realkafka.Start(t, realkafka.Options{Users: map[string]string{"alice": "alices-secret"}, TLS: true})
	topic := "secret"
	b.CreateTopic(t, topic, 1, nil)
	b.Produce(t, numbered(topic, "v", 3))
	tlsConfig, err := b.ClientTLS()
	if err != nil {
		t.Fatal(err)
	}
	ok := func(c source.Config) {
		t.Helper()
		if got := readAll(t, c, topic); len(got) != 3 {
			t.Errorf("got %d records, want 3", len(got))
		}
	}
	login := func(mechanism, password string) source.Config {
		return source.Config{
			Brokers: []string{b.SASLAddr()}, StartTimeout: 5 * time.Second,
			SASL: source.SASL{Mechanism: mechanism, User: "alice", Password: password},
		}
	}
	ok(login("plain", "alices-secret"))
	ok(login("scram-sha-256", "alices-secret"))
	ok(login("scram-sha-512", "alices-secret"))
	ok(source.Config{Brokers: []string{b.TLSAddr()}, TLS: tlsConfig})

	refused := func(c source.Config, want string) {
		t.Helper()
		c.Topics = []string{topic}
		err := source.Run(within(t), c, func(context.Context, *source.Partition) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "guess") {
			t.Errorf("got %v, want an error with %q and without the password", err, want)
		}
	}
	// A wrong password, by each mechanism.
	refused(login("plain", "guess"), "check user, password")
	refused(login("scram-sha-256", "guess"), "check user, password")
	refused(login("scram-sha-512", "guess"), "check user, password")
	// No login where one is expected, and one where none is.
	refused(source.Config{Brokers: []string{b.SASLAddr()}, StartTimeout: 5 * time.Second}, "login")
	unasked := login("plain", "alices-secret")
	unasked.Brokers = []string{b.Addr()}
	refused(unasked, "login")
	// An authority that is not known, and no client certificate.
	stranger := tlsConfig.Clone()
	stranger.RootCAs = nil
	refused(source.Config{Brokers: []string{b.TLSAddr()}, TLS: stranger, StartTimeout: 5 * time.Second}, "CA file")
	nameless := tlsConfig.Clone()
	nameless.Certificates = nil
	refused(source.Config{Brokers: []string{b.TLSAddr()}, TLS: nameless, StartTimeout: 5 * time.Second}, "client certificate")
	// TLS spoken to a plain listener.
	refused(source.Config{Brokers: []string{b.Addr()}, TLS: tlsConfig, StartTimeout: 5 * time.Second}, "TLS")
}
