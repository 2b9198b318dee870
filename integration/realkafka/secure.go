package realkafka

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// certs are the files of a throw-away certificate authority.
type certs struct {
	ca     string // certificate of the authority
	server string // key and certificate in one file, as Kafka wants them
	client string // certificate
	key    string // the client's key
}

// CAFile returns the path of the certificate that signed the broker's.
func (b *Broker) CAFile() string { return b.certs.ca }

// CertFile returns the path of a client certificate that the broker takes.
func (b *Broker) CertFile() string { return b.certs.client }

// KeyFile returns the path of the key of CertFile.
func (b *Broker) KeyFile() string { return b.certs.key }

// ClientTLS returns what a client needs for TLSAddr: authority and certificate.
func (b *Broker) ClientTLS() (*tls.Config, error) {
	ca, err := os.ReadFile(b.certs.ca)
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(b.certs.client, b.certs.key)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}, nil
}

// securityProperties returns the server properties of the SASL and TLS listeners.
func (b *Broker) securityProperties() map[string]string {
	set := map[string]string{}
	if users := b.options.Users; len(users) > 0 {
		jaas := "org.apache.kafka.common.security.plain.PlainLoginModule required"
		for _, name := range slices.Sorted(maps.Keys(users)) {
			jaas += fmt.Sprintf(" user_%s=%q", name, users[name])
		}
		set["sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
		for _, listener := range []string{"listener.name.sasl.", "listener.name.sasltls."} {
			set[listener+"plain.sasl.jaas.config"] = jaas + ";"
			for _, mechanism := range []string{"scram-sha-256", "scram-sha-512"} {
				set[listener+mechanism+".sasl.jaas.config"] = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
			}
		}
	}
	if b.certs != nil {
		for _, listener := range []string{"listener.name.tls.", "listener.name.sasltls."} {
			set[listener+"ssl.keystore.type"] = "PEM"
			set[listener+"ssl.keystore.location"] = b.certs.server
			set[listener+"ssl.truststore.type"] = "PEM"
			set[listener+"ssl.truststore.location"] = b.certs.ca
		}
		set["listener.name.tls.ssl.client.auth"] = "required"
	}
	return set
}

// newCerts makes an authority and signs a certificate for the broker on the
// loopback and one for a client.
func newCerts(dir string) (*certs, error) {
	c := &certs{
		ca: filepath.Join(dir, "ca.pem"), server: filepath.Join(dir, "server.pem"),
		client: filepath.Join(dir, "client.pem"), key: filepath.Join(dir, "client.key"),
	}
	root := template("lakeweir test authority")
	root.IsCA, root.BasicConstraintsValid, root.KeyUsage = true, true, x509.KeyUsageCertSign
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	signed := func(cert *x509.Certificate) (certPEM, keyPEM string, err error) {
		key := rootKey
		if !cert.IsCA {
			if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
				return "", "", err
			}
		}
		der, err := x509.CreateCertificate(rand.Reader, cert, root, &key.PublicKey, rootKey)
		if err != nil {
			return "", "", err
		}
		keyDER, err := x509.MarshalPKCS8PrivateKey(key)
		return block("CERTIFICATE", der), block("PRIVATE KEY", keyDER), err
	}
	server := template("127.0.0.1")
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	for _, out := range []struct {
		cert          *x509.Certificate
		certTo, keyTo string // an empty keyTo keeps no key
	}{{root, c.ca, ""}, {server, c.server, c.server}, {template("client"), c.client, c.key}} {
		certPEM, keyPEM, err := signed(out.cert)
		if err != nil {
			return nil, err
		}
		if err := writePEM(out.certTo, out.keyTo, certPEM, keyPEM); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// writePEM writes a certificate and its key, into one file if the paths are equal.
func writePEM(certTo, keyTo, certPEM, keyPEM string) error {
	if certTo == keyTo {
		return os.WriteFile(certTo, []byte(keyPEM+certPEM), 0o600)
	}
	if err := os.WriteFile(certTo, []byte(certPEM), 0o600); err != nil || keyTo == "" {
		return err
	}
	return os.WriteFile(keyTo, []byte(keyPEM), 0o600)
}

// template is a certificate of a day, good for both ends of a connection.
func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

func block(kind string, der []byte) string {
	var text strings.Builder
	_ = pem.Encode(&text, &pem.Block{Type: kind, Bytes: der}) // a Builder takes all
	return text.String()
}
