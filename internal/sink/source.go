package sink

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/source"
)

// Source returns how brokers are asked, as the settings say it.
func Source(s *settings.Settings) (source.Config, error) {
	c := source.Config{
		Brokers: s.Brokers, ClientID: s.ClientID, Group: s.Group, Member: s.Member,
		Partitions: s.Partitions, WaitForTopics: s.WaitForTopics,
		Heartbeat: s.HeartbeatInterval, Session: s.SessionTimeout, Rebalance: s.RebalanceTimeout,
		ReadUncommitted:  s.Isolation == settings.ReadUncommitted,
		MetadataInterval: metadataInterval,
		SASL: source.SASL{
			Mechanism: s.SASL.Mechanism, User: s.SASL.User, Password: s.SASL.Password,
			PasswordFile: s.SASL.PasswordFile, TokenFile: s.SASL.TokenFile,
		},
	}
	for _, t := range s.Topics {
		if !t.IsPattern() {
			c.Topics = append(c.Topics, t.Name)
			continue
		}
		c.Patterns = append(c.Patterns, source.Pattern{
			Text: t.Name, Match: func(name string) bool { return s.Takes(t, name) },
		})
	}
	if !s.TLS.On() {
		return c, nil
	}
	var err error
	c.TLS, err = brokerTLS(s.TLS)
	return c, err
}

// metadataInterval is how often new partitions and topics are looked for. Records wait
// that long in one, and an assignment of the group on top of it.
const metadataInterval = 5 * time.Second

// The parts of the memory, one in so many, that raw records may take, and that
// laying them out may, with the objects until they are published. What is left
// is room for what was freed and is not collected yet. A batch is cut at
// batchShare at the latest: at the peak of laying out it takes twice its size
// if it does not compress, which is then as much as the raw records.
const (
	rawShare    = 2
	objectShare = 4
	batchShare  = 4
)

// fetchShare is the part of the memory for raw records, one in so many, that
// one answer of a broker may take, up to maxFetch. Every broker has a fetch
// under way that is charged before it is answered: if they took all of the
// memory, batches would be cut early although hardly anything is in them.
const (
	fetchShare = 16
	maxFetch   = 8 << 20
)

func brokerTLS(t settings.TLS) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify}
	var err error
	if c.RootCAs, err = authorities(t.CA); err != nil {
		return nil, fmt.Errorf("tls.ca: %w", err)
	}
	if t.Cert == "" {
		return c, nil
	}
	if _, err := clientCertificate(t); err != nil {
		return nil, err
	}
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return clientCertificate(t) }
	return c, nil
}

// clientCertificate reads the certificate of this client. Each connection asks
// for it, so that one which is renewed in its files needs no restart.
func clientCertificate(t settings.TLS) (*tls.Certificate, error) {
	cert, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("tls.cert and tls.key: %w", err)
	}
	return &cert, nil
}

// authorities reads a PEM file; no file gives nil, which means the system's.
func authorities(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(body) {
		return nil, errors.New(path + " holds no certificate in PEM form")
	}
	return pool, nil
}
