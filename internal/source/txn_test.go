package source

import (
	"context"
	"testing"

	"github.com/lakeweir/lakeweir/record"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// transactional returns a function that runs one transaction of a producer.
func transactional(t *testing.T, c *kfake.Cluster, id string) (cl *kgo.Client, begin func(), end func(kgo.TransactionEndTry)) {
	t.Helper()
	cl = producer(t, c, kgo.TransactionalID(id))
	begin = func() {
		t.Helper()
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
	}
	end = func(try kgo.TransactionEndTry) {
		t.Helper()
		if err := cl.EndTransaction(t.Context(), try); err != nil {
			t.Fatal(err)
		}
	}
	return cl, begin, end
}

// Two producers whose transactions interleave, with records outside of any.
func TestTransactions(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	a, beginA, endA := transactional(t, c, "a")
	b, beginB, endB := transactional(t, c, "b")
	plain := producer(t, c)
	beginA()
	produce(t, a, "t", 0, "a1") // 0
	endA(kgo.TryCommit)         // 1 is the marker
	beginA()
	beginB()
	produce(t, a, "t", 0, "a2 aborted") // 2
	produce(t, b, "t", 0, "b1")         // 3
	produce(t, plain, "t", 0, "plain")  // 4
	produce(t, a, "t", 0, "a2 aborted") // 5
	endA(kgo.TryAbort)                  // 6
	produce(t, b, "t", 0, "b1")         // 7
	endB(kgo.TryCommit)                 // 8
	beginA()
	produce(t, a, "t", 0, "a3") // 9: the same producer after an abort
	endA(kgo.TryCommit)         // 10
	beginA()
	produce(t, a, "t", 0, "a4 aborted") // 11
	endA(kgo.TryAbort)                  // 12: the log ends in a marker
	committed := []got{{0, "a1"}, {3, "b1"}, {4, "plain"}, {7, "b1"}, {9, "a3"}}
	f := func(from int64, uncommitted bool, want []got) {
		t.Helper()
		cfg := config(c, "t")
		cfg.ReadUncommitted = uncommitted
		var have []got
		if err := run(t, cfg, only(&have, from, 13)); err != nil {
			t.Fatal(err)
		}
		equal(t, have, want)
	}
	f(0, false, committed)
	// From the middle of an aborted transaction on: its beginning is not read.
	f(5, false, committed[3:])
	// All but the markers.
	f(0, true, []got{{0, "a1"}, {2, "a2 aborted"}, {3, "b1"}, {4, "plain"}, {5, "a2 aborted"}, {7, "b1"}, {9, "a3"}, {11, "a4 aborted"}})
}

// An open transaction bounds what is read, and what Bounds calls the end.
func TestOpenTransaction(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	a, begin, end := transactional(t, c, "a")
	plain := producer(t, c)
	produce(t, plain, "t", 0, "before")
	begin()
	produce(t, a, "t", 0, "open")
	produce(t, plain, "t", 0, "after")
	f := func(uncommitted bool, want int64) {
		t.Helper()
		cfg := config(c, "t")
		cfg.ReadUncommitted = uncommitted
		err := run(t, cfg, func(ctx context.Context, p *Partition) error {
			_, end, err := p.Bounds(ctx)
			if end != want {
				t.Errorf("uncommitted %t: end %d, want %d", uncommitted, end, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	f(false, 1)
	f(true, 3)
	var have []got
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
		if _, err := read(ctx, p, 0, 1); err != nil {
			return err
		}
		end(kgo.TryCommit)
		return each(ctx, p, 1, 4, func(b *record.Batch) { have = append(have, records(b)...) })
	})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, have, []got{{1, "open"}, {2, "after"}})
}

// The filter by itself: what a response may contain in which order.
func TestAbortedFilter(t *testing.T) {
	type list = []kmsg.FetchResponseTopicPartitionAbortedTransaction
	tx := func(producer, first int64) kmsg.FetchResponseTopicPartitionAbortedTransaction {
		return kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: producer, FirstOffset: first}
	}
	one := func(base int64) testBatch { return plainBatch(base, 1, "v") }
	f := func(l *hostileLog, want ...got) {
		t.Helper()
		have, err := readHostile(t, l, nil)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, have, want)
	}
	// The list is not sorted: it is by us.
	f(&hostileLog{aborted: list{tx(2, 2), tx(1, 0)}, end: 6, batches: []testBatch{
		one(0).inTransaction(1), marker(1, 1, false), one(2).inTransaction(2), one(3).inTransaction(1), marker(4, 2, false), marker(5, 1, true),
	}}, got{3, "v3"})
	// A transaction that began before the response.
	f(&hostileLog{aborted: list{tx(1, 0)}, start: 5, end: 8, batches: []testBatch{
		one(5).inTransaction(1), one(6), marker(7, 1, false),
	}}, got{6, "v6"})
	// A batch of an aborted producer that is not transactional stays.
	f(&hostileLog{aborted: list{tx(1, 0)}, end: 3, batches: []testBatch{
		func() testBatch { b := one(0); b.producer = 1; return b }(), one(1).inTransaction(1), marker(2, 1, false),
	}}, got{0, "v0"})
	// A commit marker of the same producer does not end an aborted transaction.
	f(&hostileLog{aborted: list{tx(1, 0)}, end: 3, batches: []testBatch{
		one(0).inTransaction(1), marker(1, 1, true), one(2).inTransaction(1),
	}})
}

// An aborted list that came although nobody asked is not acted on.
func TestUncommittedIgnoresAborted(t *testing.T) {
	l := &hostileLog{end: 2, batches: []testBatch{plainBatch(0, 1, "v").inTransaction(1), marker(1, 1, false)}}
	l.aborted = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 1}}
	have, err := readHostile(t, l, func(c *Config) { c.ReadUncommitted = true })
	if err != nil {
		t.Fatal(err)
	}
	equal(t, have, []got{{0, "v0"}})
}
