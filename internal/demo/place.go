package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/lakeweir/lakeweir/internal/source"
)

// table is the name of topic and table where both are the demo's own.
const table = "quakes"

// marker is a file in a directory of the demo that says whose it is.
const marker = ".lakeweir-demo"

// prepare makes the directory of the store. One of a former demo is emptied;
// one with anything else in it is left alone.
func prepare(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("open the directory of the demo: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, marker)); err != nil && len(entries) > 0 {
		return fmt.Errorf("%w: directory %s is not empty and not of a former demo: name another with --dir", ErrUsage, dir)
	}
	if err := os.RemoveAll(filepath.Join(dir, table)); err != nil {
		return fmt.Errorf("remove the table of a former demo: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of the demo: %w", err)
	}
	text := "The directory belongs to `lakeweir demo`, which removes the table in it when it is run again.\n"
	if err := os.WriteFile(filepath.Join(dir, marker), []byte(text), 0o644); err != nil {
		return fmt.Errorf("mark the directory of the demo: %w", err)
	}
	return nil
}

// client opens a producer. It is of another library than the sinks' source, so
// that no error of one is made up for by the other.
func client(c source.Config) (*kgo.Client, error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...), kgo.ClientID("lakeweir-demo"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}
	if c.Dial != nil {
		opts = append(opts, kgo.Dialer(c.Dial))
	}
	if c.TLS != nil {
		opts = append(opts, kgo.DialTLSConfig(c.TLS))
	}
	if c.SASL.Mechanism != "" {
		m, err := login(c.SASL)
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(m))
	}
	return kgo.NewClient(opts...)
}

// login returns the mechanism of a login.
func login(s source.SASL) (sasl.Mechanism, error) {
	auth := func(context.Context) (scram.Auth, error) { return scram.Auth{User: s.User, Pass: s.Password}, nil }
	switch s.Mechanism {
	case "plain":
		return plain.Auth{User: s.User, Pass: s.Password}.AsMechanism(), nil
	case "scram-sha-256":
		return scram.Sha256(auth), nil
	case "scram-sha-512":
		return scram.Sha512(auth), nil
	}
	return nil, fmt.Errorf("SASL mechanism %q is not known: use plain, scram-sha-256 or scram-sha-512", s.Mechanism)
}
