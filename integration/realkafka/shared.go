package realkafka

import (
	"os"
	"sync"
	"testing"
)

// shared is the one broker of a test binary, started by the first test that asks.
var shared struct {
	sync.Mutex
	dir    string
	broker *Broker
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
	home, err := installed()
	if err != nil {
		t.Fatalf("find Kafka: %v", err)
	}
	if shared.dir == "" {
		if shared.dir, err = os.MkdirTemp("", "lakeweir-kafka"); err != nil {
			t.Fatalf("make a folder for Kafka: %v", err)
		}
	}
	if shared.broker, err = launch(home, shared.dir, Options{}); err != nil {
		shared.broker = nil
		t.Fatalf("start Kafka: %v", err)
	}
	shared.broker.shared = true
	return shared.broker
}

// Main runs the tests of a binary and ends the shared broker after them. It
// returns the exit code: func TestMain(m *testing.M) { os.Exit(realkafka.Main(m)) }.
func Main(m *testing.M) int {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.broker != nil {
		shared.broker.Stop()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir) // the system's temporary folder is cleaned anyway
	}
	return code
}
