package realkafka

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// shared is what outlives a test: the one plain broker of a binary, started by
// the first test that asks, and those of StartShared.
var shared struct {
	sync.Mutex
	dir    string
	broker *Broker
	others []*Broker
}

// Shared returns a plain broker that all tests of the binary use: they name
// topics and groups apart, and neither stop nor restart it. It ends in Main.
func Shared(t testing.TB) *Broker {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.broker != nil {
		return shared.broker
	}
	shared.broker = startShared(t, "plain", Options{})
	return shared.broker
}

// StartShared starts a broker that ends in Main and not with the test, for a
// binary whose tests share one that has options.
func StartShared(t testing.TB, o Options) *Broker {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	b := startShared(t, fmt.Sprint(len(shared.others)), o)
	shared.others = append(shared.others, b)
	return b
}

// startShared is called with the lock held.
func startShared(t testing.TB, name string, o Options) *Broker {
	t.Helper()
	home, err := installed()
	if err != nil {
		t.Fatalf("find Kafka: %v", err)
	}
	if shared.dir == "" {
		if shared.dir, err = os.MkdirTemp("", "lakeweir-kafka"); err != nil {
			t.Fatalf("make a folder for Kafka: %v", err)
		}
	}
	dir := filepath.Join(shared.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	b, err := launch(home, dir, o)
	if err != nil {
		t.Fatalf("start Kafka: %v", err)
	}
	b.shared = true
	return b
}

// Main runs the tests of a binary and ends the shared brokers after them. It
// returns the exit code: func TestMain(m *testing.M) { os.Exit(realkafka.Main(m)) }.
func Main(m *testing.M) int {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	for _, b := range append(shared.others, shared.broker) {
		if b != nil {
			b.Stop()
		}
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir) // the system's temporary folder is cleaned anyway
	}
	return code
}
