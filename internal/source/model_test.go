package source

import (
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// randomLog makes a log of everything that may be in one, and what a reader of
// committed records must get from it.
func randomLog(rnd *rand.Rand) (*hostileLog, []got) {
	l := &hostileLog{start: rnd.Int64N(1000), atOnce: rnd.IntN(4)}
	var want []got
	at := l.start
	fate := map[int64]bool{} // open transactions by producer: to be aborted
	for range 5 + rnd.IntN(30) {
		at += max(0, rnd.Int64N(20)-10) // a hole
		producer := 1 + rnd.Int64N(3)
		abort, open := fate[producer]
		switch what := rnd.IntN(5); {
		case what == 0: // emptied by compaction
			l.batches = append(l.batches, testBatch{base: at, last: at + rnd.Int64N(50), producer: producer})
		case what == 1 && open:
			l.batches = append(l.batches, marker(at, producer, !abort))
			delete(fate, producer)
		default:
			b := plainBatch(at, 1+rnd.IntN(5), "v")
			if what > 2 {
				b = b.inTransaction(producer)
				if !open {
					if abort = rnd.IntN(2) == 0; abort {
						l.aborted = append(l.aborted, kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: producer, FirstOffset: at})
					}
					fate[producer] = abort
				}
			} else {
				abort = false
			}
			lost := rnd.IntN(len(b.records) + 1) // compacted away
			b.records = append(b.records[:lost], b.records[min(lost+1, len(b.records)):]...)
			for _, r := range b.records {
				if !abort {
					want = append(want, got{b.base + r.delta, string(r.value)})
				}
			}
			l.batches = append(l.batches, b)
		}
		at = l.batches[len(l.batches)-1].last + 1
	}
	l.end = at
	rnd.Shuffle(len(l.aborted), func(i, j int) { l.aborted[i], l.aborted[j] = l.aborted[j], l.aborted[i] })
	return l, want
}

// overlapping leaves a response only the aborted transactions that a broker
// would name: those not over before its first offset.
func (l *hostileLog) overlapping(from int64) []kmsg.FetchResponseTopicPartitionAbortedTransaction {
	var out []kmsg.FetchResponseTopicPartitionAbortedTransaction
	for _, a := range l.aborted {
		over := false
		for _, b := range l.batches {
			if b.attributes&attrControl != 0 && b.producer == a.ProducerID && b.base > a.FirstOffset {
				over = b.last < from
				break
			}
		}
		if !over {
			out = append(out, a)
		}
	}
	return out
}

// Whatever the log, batches are contiguous (read checks that) and each
// committed record comes once, from any position on.
func TestRandomLogs(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 40 {
		c := cluster(t, kfake.SeedTopics(1, "t"))
		l, want := randomLog(rnd)
		l.serve(c)
		from := l.start + rnd.Int64N(l.end-l.start)
		for len(want) > 0 && want[0].offset < from {
			want = want[1:]
		}
		var have []got
		if err := run(t, config(c, "t"), only(&have, from, l.end)); err != nil {
			t.Fatal(err)
		}
		equal(t, have, want)
		if t.Failed() {
			t.Fatalf("from %d: %+v, aborted %+v", from, l.batches, l.aborted)
		}
	}
}
