package source

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/segmentio/kafka-go"
)

// Errors that a fake broker does not give: what real ones answer.
func TestExplain(t *testing.T) {
	e := explainer{brokers: "b:1", sasl: SASL{Mechanism: "plain", User: "u", Password: "secret"}}
	f := func(err error, want string) {
		t.Helper()
		why, ok := e.final(fmt.Errorf("somewhere: %w", err))
		if !ok || !strings.Contains(why.Error(), want) || !errors.Is(why, err) {
			t.Errorf("got %v, want %q", why, want)
		}
	}
	f(kafka.SASLAuthenticationFailed, `log in to brokers b:1 as user "u" by plain: refused`)
	f(kafka.UnsupportedSASLMechanism, "they do not offer the mechanism plain")
	f(kafka.IllegalSASLState, "this listener expects no login")
	f(kafka.TopicAuthorizationFailed, "grant Describe and Read")
	f(tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "does not speak TLS")
	f(tls.AlertError(42), "check the client certificate")
	if why, ok := e.final(io.EOF); ok {
		t.Errorf("a closed connection may be a restart: %v", why)
	}
}

func TestUnreachable(t *testing.T) {
	plain := explainer{brokers: "b:1"}
	secure := explainer{brokers: "b:1", tls: true}
	login := explainer{brokers: "b:1", tls: true, sasl: SASL{Mechanism: "plain", User: "u", Password: "secret"}}
	f := func(e explainer, err error, want string) {
		t.Helper()
		why := e.unreachable(err)
		if !strings.Contains(why.Error(), want) || !errors.Is(why, err) {
			t.Errorf("got %v, want %q", why, want)
		}
	}
	f(plain, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "check the address, the port")
	f(plain, &net.DNSError{Name: "b"}, "the host name is unknown")
	f(plain, io.EOF, "expect TLS or a login")
	f(plain, syscall.ECONNRESET, "expect TLS or a login")
	f(secure, io.ErrUnexpectedEOF, "does this port speak TLS?")
	f(login, io.EOF, `in the login as user "u" by plain`)
	f(login, errors.New("odd"), "as Kafka does")
}

// After a first contact the address was right once: what to do is another
// thing. What has its words gets no more, and other errors keep theirs.
func TestExplainNow(t *testing.T) {
	plain := explainer{brokers: "b:1"}
	login := explainer{brokers: "b:1", sasl: SASL{Mechanism: "plain", User: "u", Password: "secret"}}
	f := func(e explainer, err error, want string) {
		t.Helper()
		why := e.now(fmt.Errorf("somewhere: %w", err))
		if !strings.Contains(why.Error(), want) || !errors.Is(why, err) || strings.Contains(why.Error(), "secret") {
			t.Errorf("got %v, want %q", why, want)
		}
		if again := e.now(fmt.Errorf("further up: %w", why)); again.Error() != "further up: "+why.Error() {
			t.Errorf("explained twice: %v", again)
		}
	}
	f(plain, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "no connection to brokers b:1: look whether Kafka runs")
	f(plain, &net.OpError{Op: "dial", Err: &net.DNSError{Name: "b"}}, "look at the name server")
	f(plain, context.DeadlineExceeded, "no answer from brokers b:1 in time")
	f(plain, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, "no answer from brokers b:1 in time")
	f(plain, io.EOF, "brokers b:1 close the connection: look whether Kafka runs")
	f(login, io.EOF, `in the login as user "u" by plain`)
	f(login, kafka.SASLAuthenticationFailed, "refused: check user, password")
	f(plain, kafka.TopicAuthorizationFailed, "grant Describe and Read")
	odd := errors.New("odd")
	if err := plain.now(odd); err != odd {
		t.Errorf("got %v", err)
	}
	if err := plain.now(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}
