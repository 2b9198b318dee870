package sink

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	stdlog "log"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

var discard = stdlog.New(io.Discard, "", 0)

// newSink makes a Sink of good settings that are changed.
func newSink(t *testing.T, change func(*settings.Settings)) *Sink {
	t.Helper()
	set := good()
	change(set)
	s, err := New(Config{Settings: set, Store: &memory.Store{}, Once: true, Host: "h", Software: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A writer is set up as the settings say.
func TestWriterConfig(t *testing.T) {
	s := newSink(t, func(set *settings.Settings) {
		set.Batch = settings.Batch{MaxRows: 7, MaxBytes: 8 << 20, MaxAge: 9 * time.Second}
		set.Files.Compression = "snappy"
		set.Topics[1].Declared = manifest.Declared{Value: manifest.JSONValue}
		set.Group = "g"
	})
	c := s.writer(place{"orders", 3}, nil)
	if want := (writer.Limits{MaxRows: 7, MaxBytes: 8 << 20, MaxAge: 9 * time.Second}); c.Limits != want {
		t.Errorf("limits %+v, want %+v", c.Limits, want)
	}
	if c.Table != "orders" || c.Partition != 3 || !c.Once || c.Host != "h" || c.Software != "v1" {
		t.Errorf("%+v", c)
	}
	if c.Schema.Value != manifest.JSONValue || c.Schema.Layout.Compression != manifest.Snappy {
		t.Errorf("schema %+v", c.Schema)
	}
	if s.writer(place{"quakes", 0}, nil).Schema.Value == manifest.JSONValue {
		t.Error("both topics have one schema")
	}
	// Each table has a folder of its own.
	if _, err := c.Store.Put(t.Context(), "k", nil, store.Blind()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Store.Stat(t.Context(), "orders/k"); err != nil {
		t.Error(err)
	}
}

// Lost records stop a partition unless the operator says to skip them.
func TestWriterDataLoss(t *testing.T) {
	f := func(text string, want writer.DataLoss) {
		t.Helper()
		s := newSink(t, func(set *settings.Settings) { set.OnDataLoss = text })
		if got := s.writer(place{"quakes", 0}, nil).OnDataLoss; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	f(settings.Fail, writer.FailOnLoss)
	f(settings.Skip, writer.SkipLost)
}

// After a fence the group is asked whose the partition is; without a group to
// ask the partition is given up, after a pause.
func TestWriterConfirmed(t *testing.T) {
	f := func(group string, partitions map[string][]int32, asked bool) {
		t.Helper()
		s := newSink(t, func(set *settings.Settings) { set.Group, set.Partitions = group, partitions })
		got := reflect.ValueOf(s.writer(place{"quakes", 0}, nil).Confirmed).Pointer()
		if givesUp := got == reflect.ValueOf(s.givenUp).Pointer(); givesUp == asked {
			t.Errorf("group %q, partitions %v: given up: %v", group, partitions, givesUp)
		}
	}
	static := map[string][]int32{"quakes": {0}, "orders": {0}}
	f("g", nil, true)
	f("", nil, false)
	f("", static, false)
	// The group only names where lag monitors look.
	f("g", static, false)
}

// The pause before a partition is given up is between a half and the whole of
// what is set, so that two processes do not fence each other in step.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Sink{pause: fencePause}
		seen := map[time.Duration]bool{}
		for range 20 {
			began := time.Now()
			if err := s.givenUp(t.Context()); err == nil || !strings.Contains(err.Error(), "no group") {
				t.Errorf("err %v", err)
			}
			waited := time.Since(began)
			if seen[waited] = true; waited < fencePause/2 || waited > fencePause {
				t.Errorf("waited %v of %v", waited, fencePause)
			}
		}
		if len(seen) < 2 {
			t.Error("all pauses are equal")
		}
		// A stop does not wait.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if err := s.givenUp(ctx); !errors.Is(err, context.Canceled) || time.Since(began) > 0 {
			t.Errorf("err %v after %v", err, time.Since(began))
		}
	})
}

// Half of the memory holds raw records: one who wants more waits.
func TestBudgetShare(t *testing.T) {
	s := newSink(t, func(set *settings.Settings) { set.Memory = 100 << 20 })
	if s.source.Room != s.budget {
		t.Error("fetches and batches do not share one budget")
	}
	s.budget.Take(1)
	if err := s.budget.Acquire(t.Context(), 50<<20-1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.budget.Acquire(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("more than half: err %v, want it to wait", err)
	}
	if f := s.Figures(); f.Memory != 50<<20 {
		t.Errorf("memory %d", f.Memory)
	}
}

// How brokers are asked, setting by setting: each of them reaches the source.
func TestSourceOfSettings(t *testing.T) {
	base, err := Source(good())
	if err != nil {
		t.Fatal(err)
	}
	f := func(field string, change func(*settings.Settings)) {
		t.Helper()
		set := good()
		change(set)
		got, err := Source(set)
		if err != nil {
			t.Fatal(err)
		}
		a, b := reflect.ValueOf(base), reflect.ValueOf(got)
		for i := range a.NumField() {
			name := a.Type().Field(i).Name
			same := reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface())
			if same == (name == field) {
				t.Errorf("%s: field %s is the same: %v", field, name, same)
			}
		}
	}
	f("Brokers", func(s *settings.Settings) { s.Brokers = []string{"b:2"} })
	f("Topics", func(s *settings.Settings) { s.Topics = s.Topics[:1] })
	f("ClientID", func(s *settings.Settings) { s.ClientID = "x" })
	f("Group", func(s *settings.Settings) { s.Group = "x" })
	f("Member", func(s *settings.Settings) { s.Member = "x" })
	f("Partitions", func(s *settings.Settings) { s.Partitions = map[string][]int32{"quakes": {1}} })
	f("WaitForTopics", func(s *settings.Settings) { s.WaitForTopics = true })
	f("Heartbeat", func(s *settings.Settings) { s.HeartbeatInterval = 2 * time.Second })
	f("Session", func(s *settings.Settings) { s.SessionTimeout = time.Minute })
	f("Rebalance", func(s *settings.Settings) { s.RebalanceTimeout = time.Minute })
	f("ReadUncommitted", func(s *settings.Settings) { s.Isolation = settings.ReadUncommitted })
	f("SASL", func(s *settings.Settings) { s.SASL.User = "x" })
	f("SASL", func(s *settings.Settings) { s.SASL.PasswordFile = "x" })
	f("SASL", func(s *settings.Settings) { s.SASL.TokenFile = "x" })
	f("Patterns", func(s *settings.Settings) {
		p, err := settings.ParseTopic("/x.*/")
		if err != nil {
			t.Fatal(err)
		}
		s.Topics = append(s.Topics, p)
	})
	f("TLS", func(s *settings.Settings) { s.TLS.Enabled = true })
	f("TLS", func(s *settings.Settings) { s.TLS.InsecureSkipVerify = true })
}

// Certificates of brokers and of this client come from their files.
func TestBrokerTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := brokerTLS(settings.TLS{CA: certFile, Cert: certFile, Key: keyFile, ServerName: "kafka", InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	served, err := c.GetClientCertificate(nil)
	if err != nil || !bytes.Equal(served.Certificate[0], der) {
		t.Errorf("certificate %+v, %v", served, err)
	}
	if c.RootCAs == nil || c.ServerName != "kafka" || !c.InsecureSkipVerify || c.MinVersion != tls.VersionTLS12 {
		t.Errorf("%+v", c)
	}
	// A certificate is read anew for each connection.
	if err := os.Remove(certFile); err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetClientCertificate(nil); err == nil || !strings.Contains(err.Error(), "tls.cert and tls.key") {
		t.Errorf("file removed: %v", err)
	}
	if _, err := brokerTLS(settings.TLS{Cert: certFile, Key: keyFile}); err == nil || !strings.Contains(err.Error(), "tls.cert and tls.key") {
		t.Errorf("file removed at the start: %v", err)
	}
	// The system's authorities, unless others are named.
	if c, err := brokerTLS(settings.TLS{Enabled: true}); err != nil || c.RootCAs != nil || c.InsecureSkipVerify || c.GetClientCertificate != nil {
		t.Errorf("%+v, err %v", c, err)
	}
}
