package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/segmentio/kafka-go"
)

// explainer turns the errors of a first contact into one line that says what
// to do.
type explainer struct {
	brokers string
	tls     bool
	sasl    SASL
}

// final explains an error that another try does not cure.
func (e explainer) final(err error) (error, bool) {
	if why, ok := e.login(err); ok {
		return why, true
	}
	return e.encryption(err)
}

func (e explainer) login(err error) (error, bool) {
	switch {
	case errors.Is(err, kafka.SASLAuthenticationFailed):
		return fmt.Errorf("log in to brokers %s as %s: refused: %s: %w", e.brokers, e.sasl.who(), e.sasl.check(), err), true
	case errors.Is(err, kafka.UnsupportedSASLMechanism):
		return fmt.Errorf("log in to brokers %s: they do not offer the mechanism %s: choose one that they have: %w",
			e.brokers, e.sasl.Mechanism, err), true
	case errors.Is(err, kafka.IllegalSASLState):
		return fmt.Errorf("log in to brokers %s: this listener expects no login: remove sasl or use the listener that has it: %w",
			e.brokers, err), true
	case e.sasl.Mechanism != "" && strings.Contains(err.Error(), "scram"):
		return fmt.Errorf("log in to brokers %s as %s: refused: %s: %w", e.brokers, e.sasl.who(), e.sasl.check(), err), true
	case errors.Is(err, kafka.TopicAuthorizationFailed), errors.Is(err, kafka.ClusterAuthorizationFailed):
		return fmt.Errorf("brokers %s deny access: grant Describe and Read on the topics to this user: %w", e.brokers, err), true
	}
	return nil, false
}

func (e explainer) encryption(err error) (error, bool) {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	text := err.Error()
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("brokers %s: no known authority signed their certificate: give the CA file that did: %w", e.brokers, err), true
	case errors.As(err, &host):
		return fmt.Errorf("brokers %s: their certificate is for other names: use the address that it names: %w", e.brokers, err), true
	case errors.As(err, &invalid):
		return fmt.Errorf("brokers %s: their certificate is not valid: %w", e.brokers, err), true
	case errors.As(err, &record):
		return fmt.Errorf("brokers %s: this listener does not speak TLS: turn tls off or use its TLS port: %w", e.brokers, err), true
	case errors.As(err, &alert), strings.Contains(text, "remote error: tls:"):
		return fmt.Errorf("brokers %s refuse our side of TLS: check the client certificate and its key: %w", e.brokers, err), true
	}
	return nil, false
}

// unreachable explains why nothing answered in time.
func (e explainer) unreachable(err error) error {
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return fmt.Errorf("no broker answers at %s: the host name is unknown: check the address: %w", e.brokers, err)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("no broker answers at %s: check the address, the port and that Kafka runs: %w", e.brokers, err)
	case !closed(err):
	case e.sasl.Mechanism != "":
		return fmt.Errorf("brokers %s close the connection in the login as %s: %s, and whether this port expects TLS: %w",
			e.brokers, e.sasl.who(), e.sasl.check(), err)
	case e.tls:
		return fmt.Errorf("brokers %s close the connection in the TLS handshake: does this port speak TLS?: %w", e.brokers, err)
	default:
		return fmt.Errorf("brokers %s close the connection at the first request: does this port expect TLS or a login?: %w", e.brokers, err)
	}
	return fmt.Errorf("no broker answers at %s as Kafka does: check the address, tls and sasl: %w", e.brokers, err)
}

// now explains an error that comes after the first contact went well: the
// addresses and the encryption were right then, so they are not doubted. One
// that is explained already stays as it is.
func (e explainer) now(err error) error {
	var done explained
	if err == nil || errors.As(err, &done) {
		return err
	}
	why, ok := e.final(err)
	if !ok {
		why = e.away(err)
	}
	if why == nil {
		return err
	}
	return explained{why}
}

// away explains why brokers that did answer do not any more; nil when that is
// not what err tells of.
func (e explainer) away(err error) error {
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return fmt.Errorf("the host name of a broker is unknown now: look at the name server: %w", err)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("no connection to brokers %s: look whether Kafka runs, and at the network: %w", e.brokers, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("no answer from brokers %s in time: look whether Kafka runs, and at the network: %w", e.brokers, err)
	case closed(err) && e.sasl.Mechanism != "":
		return e.unreachable(err)
	case closed(err):
		return fmt.Errorf("brokers %s close the connection: look whether Kafka runs: %w", e.brokers, err)
	}
	return nil
}

// explained is an error with the words for an operator.
type explained struct{ error }

func (e explained) Unwrap() error { return e.error }

// closed reports that the other side ended the connection.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}
