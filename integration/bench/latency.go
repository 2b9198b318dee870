package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/bench/shop"
	"github.com/lakeweir/lakeweir/internal/sink"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
)

// delays are how long records took from the call of the producer until a
// reader of the heads saw them published, in seconds.
type delays struct {
	Store          string
	Records        int
	P50, P99, Most float64
}

const (
	// lookout is the pause between two looks at the heads. A delay is too long
	// by as much at most.
	lookout = 20 * time.Millisecond
	// warmUp is for how long records do not count.
	warmUp = 3 * time.Second
)

// latency sends records at a steady rate and measures their delays with
// batch.max_age of one second.
func latency(ctx context.Context, o options) error {
	seconds := time.Duration(o.seconds) * time.Second
	rate := o.latency
	o.records = 1 // of the file for DuckDB, which is not needed here
	b, err := newFleet(ctx, &o)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	defer b.close()
	b.age = "1s"
	if !o.asJSON {
		fmt.Printf("%d records/s for %v, max_age 1s\n\n| store | records | p50 s | p99 s | most s |\n|---|---|---|---|---|\n", rate, seconds)
	}
	for _, store := range strings.Split(o.store, ",") {
		d, err := b.delays(ctx, "latency-"+store, store, rate, seconds)
		if err != nil {
			return fmt.Errorf("%s: %w", store, err)
		}
		if o.asJSON {
			_ = json.NewEncoder(os.Stdout).Encode(d)
			continue
		}
		fmt.Printf("| %s | %d | %.2f | %.2f | %.2f |\n", d.Store, d.Records, d.P50, d.P99, d.Most)
	}
	return nil
}

// delays measures one store.
func (b *bench) delays(ctx context.Context, topic, where string, rate int, seconds time.Duration) (delays, error) {
	config, _, err := b.config(topic, where, "json")
	if err != nil {
		return delays{}, err
	}
	set, err := load(config)
	if err != nil {
		return delays{}, err
	}
	s, err := sink.OpenStore(ctx, set)
	if err != nil {
		return delays{}, err
	}
	f := &flow{topic: topic, sent: make([][]time.Time, b.partitions), seen: make([]int64, b.partitions)}
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.brokers), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		return delays{}, err
	}
	defer cl.Close()
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, int32(b.partitions), 1, nil, topic); err != nil {
		return delays{}, err
	}
	m, err := b.join(config, "only")
	if err != nil {
		return delays{}, err
	}
	defer m.leave()
	if _, err := await(ctx, time.Minute, "all partitions are claimed", func() (bool, error) { return m.claimed() >= b.partitions, nil }); err != nil {
		return delays{}, err
	}
	done := make(chan error, 1)
	go func() { done <- f.send(ctx, cl, rate, seconds) }()
	until := time.Now().Add(seconds + time.Minute)
	for all := false; !all; {
		if err := f.look(ctx, store.Sub(s, topic+"/")); err != nil {
			return delays{}, err
		}
		select {
		case err := <-done:
			if err != nil {
				return delays{}, err
			}
			done = nil
		case <-time.After(lookout):
		}
		if all = done == nil && f.out(); !all && time.Now().After(until) {
			return delays{}, fmt.Errorf("not all is published a minute after the last record: %s", m.last)
		}
	}
	d := f.sum()
	d.Store = where
	return d, nil
}

// flow is a steady stream of records, with the time at which each was sent.
type flow struct {
	topic  string
	mu     sync.Mutex
	begin  time.Time
	sent   [][]time.Time // by partition and offset
	seen   []int64       // next offset of each partition
	delays []float64
}

// send produces at a rate, in hundreds of steps a second.
func (f *flow) send(ctx context.Context, cl *kgo.Client, rate int, seconds time.Duration) error {
	const step = 10 * time.Millisecond
	f.mu.Lock()
	f.begin = time.Now()
	f.mu.Unlock()
	tick := time.NewTicker(step)
	defer tick.Stop()
	e, n := shop.New(), 0
	var failed error
	for time.Since(f.begin) < seconds {
		for due := int(float64(rate) * time.Since(f.begin).Seconds()); n < due; n++ {
			p, now := n%len(f.sent), time.Now()
			f.mu.Lock()
			f.sent[p] = append(f.sent[p], now)
			f.mu.Unlock()
			cl.Produce(ctx, &kgo.Record{Topic: f.topic, Partition: int32(p), Value: append([]byte{}, e.Next()...)}, func(_ *kgo.Record, err error) {
				if err != nil {
					failed = err // callbacks come one at a time
				}
			})
		}
		<-tick.C
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return failed
}

// look reads the heads and takes down what is published since the last look.
func (f *flow) look(ctx context.Context, s store.Store) error {
	for h, err := range manifest.Heads(ctx, s) {
		if err != nil {
			return err
		}
		now, p := time.Now(), h.Partition.ID
		f.mu.Lock()
		for ; f.seen[p] < h.Next; f.seen[p]++ {
			if at := f.sent[p][f.seen[p]]; at.Sub(f.begin) >= warmUp {
				f.delays = append(f.delays, now.Sub(at).Seconds())
			}
		}
		f.mu.Unlock()
	}
	return nil
}

// out reports whether all that was sent was seen.
func (f *flow) out() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p, sent := range f.sent {
		if f.seen[p] < int64(len(sent)) {
			return false
		}
	}
	return true
}

func (f *flow) sum() delays {
	slices.Sort(f.delays)
	n := len(f.delays)
	if n == 0 {
		return delays{}
	}
	return delays{Records: n, P50: f.delays[n/2], P99: f.delays[n*99/100], Most: f.delays[n-1]}
}
