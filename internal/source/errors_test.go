package source

import (
	"errors"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

func TestOutOfRangeError(t *testing.T) {
	err := error(&OutOfRangeError{Topic: "t", Partition: 3, Position: 7, Start: 10, End: 20})
	if want := "read t/3 at offset 7: the log holds offsets [10, 20)"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if !errors.Is(err, ErrOutOfRange) || errors.Is(err, ErrNoTopic) {
		t.Error("is not what it is")
	}
}

// Codes by what is done about them.
func TestCodes(t *testing.T) {
	f := func(code int16, isMoved, isTransient bool) {
		t.Helper()
		if moved(code) != isMoved || transient(code) != isTransient {
			t.Errorf("code %d: moved %t, transient %t", code, moved(code), transient(code))
		}
	}
	f(codeUnknownTopic, true, true)
	f(codeNotLeader, true, true)
	f(codeFencedEpoch, true, true)
	f(codeUnknownEpoch, true, true)
	f(codeUnknownServer, false, true)
	f(7, false, true)               // request timed out
	f(29, false, false)             // topic authorization failed
	f(codeOutOfRange, false, false) // a decision of the reader
	f(35, false, false)             // unsupported version
	if codeError(0) != nil || !errors.Is(codeError(29), kafka.TopicAuthorizationFailed) {
		t.Error("code is not its error")
	}
}

func TestDefaults(t *testing.T) {
	c, err := Config{Brokers: []string{"b:1"}, Topics: []string{"u", "t", "u"}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Topics) != 2 || c.Topics[0] != "t" {
		t.Errorf("topics %v", c.Topics)
	}
	if c.Heartbeat != time.Second || c.Session != 10*time.Second || c.Rebalance != 30*time.Second || c.ClientID != "lakeweir" {
		t.Errorf("got %+v", c)
	}
	other, err := Config{Brokers: []string{"b:1"}, Topics: []string{"t"}, FetchBytes: 1000}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if other.Member == c.Member || c.Member == "" {
		t.Errorf("members %q and %q", c.Member, other.Member)
	}
	if c.PartitionBytes != 1<<20 || other.PartitionBytes != 1000 {
		t.Errorf("partition bytes %d and %d", c.PartitionBytes, other.PartitionBytes)
	}
	if c.Room.Acquire(t.Context(), 1<<60) != nil {
		t.Error("no room without a Room")
	}
}
