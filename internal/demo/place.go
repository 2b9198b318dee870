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

// prepare makes the directory of the store, for this process alone until
// release is called. One of a former demo is emptied; one with anything else in
// it, or of a demo that is going on, is left alone.
func prepare(dir string) (release func(), err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open the directory of the demo: %w", err)
	}
	path := filepath.Join(dir, marker)
	if _, err := os.Stat(path); err != nil && len(entries) > 0 {
		return nil, fmt.Errorf("%w: directory %s is not empty and not of a former demo: name another with --dir", ErrUsage, dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of the demo: %w", err)
	}
	mark, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("mark the directory of the demo: %w", err)
	}
	release = func() { mark.Close() }
	if err := lock(mark); err != nil {
		release()
		return nil, fmt.Errorf("%w: another demo runs in directory %s: wait for it, or name another with --dir", ErrUsage, dir)
	}
	text := "The directory belongs to `lakeweir demo`, which removes the table in it when it is run again.\n"
	if _, err := mark.WriteAt([]byte(text), 0); err != nil {
		release()
		return nil, fmt.Errorf("mark the directory of the demo: %w", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, table)); err != nil {
		release()
		return nil, fmt.Errorf("remove the table of a former demo: %w", err)
	}
	return release, nil
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
	auth := func(context.Context) (scram.Auth, error) {
		password, err := s.Secret()
		return scram.Auth{User: s.User, Pass: password}, err
	}
	switch s.Mechanism {
	case "plain":
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			password, err := s.Secret()
			return plain.Auth{User: s.User, Pass: password}, err
		}), nil
	case "scram-sha-256":
		return scram.Sha256(auth), nil
	case "scram-sha-512":
		return scram.Sha512(auth), nil
	}
	return nil, fmt.Errorf("SASL mechanism %q is not known: use plain, scram-sha-256 or scram-sha-512", s.Mechanism)
}
