package source

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/record"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// One work that fails stops nothing but its own partition, and Run tells.
func TestOneFails(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(3, "t"))
	cl := producer(t, c)
	failed := make(chan struct{})
	var have [3][]got
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) (err error) {
		if p.ID() == 1 {
			defer close(failed)
			return errTest
		}
		<-failed
		if err := cl.ProduceSync(ctx, &kgo.Record{Topic: "t", Partition: p.ID(), Value: []byte("x")}).FirstErr(); err != nil {
			return err
		}
		have[p.ID()], err = read(ctx, p, 0, 1)
		return err
	})
	if !errors.Is(err, errTest) {
		t.Errorf("got %v", err)
	}
	if len(have[0]) != 1 || len(have[2]) != 1 {
		t.Errorf("the others read %v", have)
	}
}

// A partition that cannot be read does not stop the others of its broker.
func TestOneDamaged(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(2, "t"))
	produce(t, producer(t, c), "t", 1, values(5)...)
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
		if p.ID() == 0 {
			_, err := read(ctx, p, 1000, 1001) // out of range
			if !errors.Is(err, ErrOutOfRange) {
				return fmt.Errorf("partition 0: %w", err)
			}
			return nil
		}
		have, err := read(ctx, p, 0, 5)
		if len(have) != 5 {
			t.Errorf("partition 1: %v", have)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// When ctx ends, works end, and that is no error; what they do after still
// reaches the brokers.
func TestCancel(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(2, "t"))
	ctx, cancel := context.WithCancel(t.Context())
	cfg := config(c, "t")
	var after sync.Map
	var begun sync.WaitGroup
	begun.Add(2)
	err := Run(ctx, cfg, func(ctx context.Context, p *Partition) error {
		defer after.Store(p.ID(), true)
		if err := p.Seek(ctx, 0); err != nil {
			return err
		}
		begun.Done()
		begun.Wait()
		if p.ID() == 0 {
			cancel()
		}
		_, err := p.Read(ctx)
		if _, _, e := p.Bounds(context.WithoutCancel(ctx)); e != nil {
			t.Errorf("bounds after the end: %v", e)
		}
		if _, e := p.Read(context.WithoutCancel(ctx)); !errors.Is(e, context.Canceled) {
			t.Errorf("read after the end: %v", e)
		}
		return err
	})
	if err != nil {
		t.Errorf("got %v", err)
	}
	cfg.Room.(*room).over(t)
	for id := range int32(2) {
		if _, ok := after.Load(id); !ok {
			t.Errorf("Run returned before the work of partition %d", id)
		}
	}
}

// A work that ends its goroutine, as a failed test does, does not hang Run.
func TestWorkGone(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	gone := func(context.Context, *Partition) error { runtime.Goexit(); return nil }
	if err := run(t, config(c, "t"), gone); !errors.Is(err, errGone) {
		t.Errorf("got %v", err)
	}
}

// Only the partitions that are listed are read.
func TestStaticPartitions(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(4, "t", "u"))
	cfg := config(c, "t")
	cfg.Topics = nil
	cfg.Partitions = map[string][]int32{"t": {1, 3}, "u": {0}}
	var mu sync.Mutex
	var keys []key
	err := run(t, cfg, func(_ context.Context, p *Partition) error {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, p.key)
		return nil
	})
	if err != nil || len(keys) != 3 {
		t.Errorf("%v, %v", keys, err)
	}
}

// Partitions and topics that appear later are read too.
func TestStaticGrows(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"), kfake.AllowAutoTopicCreation())
	cfg := config(c, "t", "later")
	cfg.WaitForTopics, cfg.MetadataInterval = true, 50*time.Millisecond
	o := &owners{by: map[key]string{}}
	hold := o.hold("me")
	leave := start(t, cfg, func(ctx context.Context, p *Partition) error {
		// All but the one of the start are late, also those of a topic that
		// did not exist.
		if want := p.Topic() == "later" || p.ID() > 0; p.Late() != want {
			t.Errorf("%s is late: %v", p, !want)
		}
		return hold(ctx, p)
	})
	o.shares(t, map[string]int{"me": 1})
	grow(t, c, "t", 2)
	o.shares(t, map[string]int{"me": 2})
	if c.TopicInfo("later") != nil {
		t.Error("the topic was created")
	}
	if err := c.CreateTopic("later", 2, nil); err != nil {
		t.Fatal(err)
	}
	o.shares(t, map[string]int{"me": 4})
	leave()
	if o.works != 4 {
		t.Errorf("%d works for 4 partitions", o.works)
	}
}

// A partition whose reader is behind is left out, the other goes on, and the
// memory of both is bounded and given back.
func TestSlowReader(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(2, "t"))
	cl := producer(t, c, kgo.ProducerBatchCompression(kgo.NoCompression()))
	value := make([]byte, 10_000)
	const n = 100
	for id := range int32(2) {
		for range n {
			if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Partition: id, Value: value}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	cfg := config(c, "t")
	cfg.PartitionBytes = 50_000
	memory := cfg.Room.(*room)
	fast := make(chan struct{})
	err := run(t, cfg, func(ctx context.Context, p *Partition) error {
		if err := p.Seek(ctx, 0); err != nil {
			return err
		}
		if p.ID() == 1 {
			defer close(fast)
			return each(ctx, p, 0, n, func(*record.Batch) {})
		}
		<-fast
		// The other one read a megabyte; of this one at most two fetches wait.
		p.router.mu.Lock()
		queued := p.queued
		p.router.mu.Unlock()
		if queued < 40_000 || queued > 110_000 {
			t.Errorf("%d bytes wait for the slow reader", queued)
		}
		return each(ctx, p, 0, n, func(*record.Batch) {})
	})
	if err != nil {
		t.Fatal(err)
	}
	if memory.peak > 500_000 {
		t.Errorf("up to %d bytes of memory for 2 MB of records", memory.peak)
	}
}

// A Room without space stops the fetching until there is some.
func TestFullRoom(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	cl := producer(t, c, kgo.ProducerBatchCompression(kgo.NoCompression()))
	value := make([]byte, 20_000)
	const n = 30
	for range n {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	cfg := config(c, "t")
	cfg.PartitionBytes = 50_000
	memory := &room{limit: 150_000}
	cfg.Room = memory
	err := run(t, cfg, func(ctx context.Context, p *Partition) error {
		if err := p.Seek(ctx, 0); err != nil {
			return err
		}
		// Keep batches until the room is full, then give all back, and so on.
		var held []*record.Batch
		for at := int64(0); at < n; {
			short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			b, err := p.Read(short)
			cancel()
			if err == nil {
				at = b.Next
				held = append(held, b)
				continue
			}
			if len(held) == 0 || ctx.Err() != nil {
				return err
			}
			held = free(memory, held)
		}
		free(memory, held)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if memory.peak > 150_000+2*50_000 {
		t.Errorf("up to %d bytes in a room of 150000", memory.peak)
	}
}

func free(r *room, held []*record.Batch) []*record.Batch {
	for _, b := range held {
		r.Release(b.Size())
	}
	return nil
}

// Unread batches are given back by Seek and at the end of the assignment.
func TestUnread(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	cl := producer(t, c)
	for range 10 {
		produce(t, cl, "t", 0, values(3)...)
	}
	cfg := config(c, "t")
	memory := cfg.Room.(*room)
	err := run(t, cfg, func(ctx context.Context, p *Partition) error {
		for range 3 {
			if err := p.Seek(ctx, 0); err != nil {
				return err
			}
			b, err := p.Read(ctx) // one of ten
			if err != nil {
				return err
			}
			memory.Release(b.Size())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
