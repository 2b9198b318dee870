package demo

import (
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/internal/source"
)

// Shares are sent in order, and the ledger knows each event by its offset.
func TestProducer(t *testing.T) {
	broker, err := startBroker()
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	cl, err := client(source.Config{Brokers: broker.ListenAddrs()})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := createTopic(t.Context(), cl, table); err != nil {
		t.Fatal(err)
	}
	if err := createTopic(t.Context(), cl, table); err == nil {
		t.Error("a topic that is there was taken for a new one")
	}
	l := &ledger{}
	p := startProducer(t.Context(), cl, table, l, events(1, 100), 3)
	p.share(30)
	p.share(0)
	p.share(200) // more than there are
	if err := p.finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l.total() != 100 {
		t.Errorf("%d events were sent, want 100", l.total())
	}
	i := 0
	for e := range events(1, 100) {
		if got := l.sent[i%Partitions][i/Partitions]; got != e.id {
			t.Errorf("event %d: the ledger has id %q, sent was %q", i, got, e.id)
		}
		i++
	}
}

// Without brokers sending fails, and says so.
func TestProducerFails(t *testing.T) {
	broker, err := startBroker()
	if err != nil {
		t.Fatal(err)
	}
	cl, err := client(source.Config{Brokers: broker.ListenAddrs()})
	if err != nil {
		t.Fatal(err)
	}
	p := startProducer(t.Context(), cl, table, &ledger{}, events(1, 10), 1)
	cl.Close()
	broker.Close()
	p.share(10)
	if err := p.finish(t.Context()); err == nil || !strings.Contains(err.Error(), "send events") {
		t.Errorf("error %v", err)
	}
}

// An offset that does not follow is someone else's record in the topic.
func TestLedger(t *testing.T) {
	l := &ledger{}
	if err := l.enter(2, 0, "a"); err != nil {
		t.Error(err)
	}
	if err := l.enter(2, 2, "b"); err == nil {
		t.Error("a hole was taken")
	}
	if err := l.enter(2, 0, "b"); err == nil {
		t.Error("an offset was taken twice")
	}
	if l.total() != 1 {
		t.Errorf("%d sent, want 1", l.total())
	}
}
