package soak

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// How long partitions may stand still after the process that has them was
// killed: in a group until the brokers miss it, and 3 s; with partitions of
// its own from its restart on.
const (
	sessionTimeout = 10 * time.Second // the default
	takeoverLimit  = 3 * time.Second
	loadedParts    = 4
	loadPerSecond  = 8000
)

// load produces evenly until the function it returns is called, which returns
// how many records were sent.
func load(t *testing.T, broker *realkafka.Broker, topic string, partitions int) (stop func() int) {
	t.Helper()
	client := broker.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond))
	ctx, cancel := context.WithCancel(t.Context())
	var sent int
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for begin := time.Now(); ; {
			due := int(time.Since(begin).Seconds() * loadPerSecond)
			for _, r := range records(topic, partitions, sent, due) {
				client.Produce(context.WithoutCancel(ctx), r, func(_ *kgo.Record, err error) {
					if err != nil {
						t.Error(err)
					}
				})
			}
			sent = max(sent, due)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return sync.OnceValue(func() int {
		cancel()
		done.Wait()
		if err := client.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		return sent
	})
}

// moved waits until each of the partitions has published since they were at
// these offsets, and returns when the last one did.
func moved(t *testing.T, tb table, from map[int32]int64) time.Duration {
	t.Helper()
	return await(t, time.Minute, "a partition stands still", func() bool {
		for p, next := range from {
			if tb.head(t, p).Next <= next {
				return false
			}
		}
		return true
	})
}

// nexts returns where partitions are.
func nexts(t *testing.T, tb table, partitions []int32) map[int32]int64 {
	t.Helper()
	all := map[int32]int64{}
	for _, p := range partitions {
		all[p] = tb.head(t, p).Next
	}
	return all
}

// owned returns the partitions that the group gave to a client.
func owned(t *testing.T, admin *kadm.Client, group, client string) (list []int32) {
	t.Helper()
	groups, err := admin.DescribeGroups(t.Context(), group)
	if err != nil || groups[group].State != "Stable" {
		return nil
	}
	for _, m := range groups[group].Members {
		if c, ok := m.Assigned.AsConsumer(); ok && m.ClientID == client {
			for _, topic := range c.Topics {
				list = append(list, topic.Partitions...)
			}
		}
	}
	return list
}

// A member of a group is killed under load. Its partitions publish again within
// session_timeout, which is the default, and 3 s.
func TestTakeoverInAGroup(t *testing.T) {
	t.Parallel()
	broker, w, tb := realkafka.Shared(t), newWire(t, nil), newTable(t, "takeover")
	broker.CreateTopic(t, "takeover", loadedParts, nil)
	c := setup{brokers: broker.Addr(), store: w.addr(), bucket: tb.bucket, topics: []string{"takeover"}, group: "takeover"}
	var procs []*proc
	var configs []string
	for _, name := range []string{"a", "b"} {
		c.more = "batch: {max_age: 1s, max_rows: 50000}\nclient_id: " + name
		configs = append(configs, c.write(t))
		procs = append(procs, launch(t, configs[len(configs)-1]))
	}
	admin := kadm.NewClient(broker.Client(t))
	stop := load(t, broker, "takeover", loadedParts)
	for i, name := range []string{"a", "b", "a"} {
		var mine []int32
		await(t, time.Minute, "the group has not shared the partitions", func() bool {
			mine = owned(t, admin, "takeover", name)
			return len(mine) == loadedParts/2
		})
		moved(t, tb, nexts(t, tb, []int32{0, 1, 2, 3}))
		procs[i%2].kill()
		took := moved(t, tb, nexts(t, tb, mine))
		t.Logf("%s killed: its partitions publish again after %.2f s", name, took.Seconds())
		if limit := sessionTimeout + takeoverLimit; took > limit {
			t.Errorf("the partitions stood still for %v, want %v at most", took, limit)
		}
		procs[i%2] = launch(t, configs[i%2])
	}
	finish(t, tb, configs[0], stop(), procs...)
}

// A process with partitions of its own is killed under load and started again.
// They publish again within 3 s, with a store next door and with one as far away
// as those of the clouds.
func TestTakeoverByARestart(t *testing.T) {
	t.Run("near store", func(t *testing.T) { restarted(t, "restart-near", 0) })
	t.Run("far store", func(t *testing.T) { restarted(t, "restart-far", 40*time.Millisecond) })
}

func restarted(t *testing.T, topic string, pause time.Duration) {
	broker, w, tb := realkafka.Shared(t), newWire(t, nil), newTable(t, topic)
	broker.CreateTopic(t, topic, loadedParts, nil)
	config := setup{
		brokers: broker.Addr(), store: w.addr(), bucket: tb.bucket, topics: []string{topic}, group: topic,
		partitions: "{" + topic + ": [0, 1, 2, 3]}", more: "batch: {max_age: 1s, max_rows: 50000}",
	}.write(t)
	w.set(func(w *wire) { w.pause = pause }) // of each request
	all := []int32{0, 1, 2, 3}
	p := launch(t, config)
	stop := load(t, broker, topic, loadedParts)
	for range 3 {
		moved(t, tb, nexts(t, tb, all))
		p.kill()
		before := nexts(t, tb, all)
		p = launch(t, config)
		took := moved(t, tb, before)
		t.Logf("restarted: all partitions publish again after %.2f s", took.Seconds())
		if took > takeoverLimit {
			t.Errorf("the partitions stood still for %v, want %v at most", took, takeoverLimit)
		}
	}
	finish(t, tb, config, stop(), p)
}

// finish ends the processes when all that was sent is published, and reads it.
func finish(t *testing.T, tb table, config string, sent int, procs ...*proc) {
	t.Helper()
	await(t, time.Minute, "not all is published", func() bool { return tb.next(t, loadedParts) == int64(sent) })
	for _, p := range procs {
		p.signal(syscall.SIGTERM)
		if code, _ := p.exits(t, time.Minute); code != 0 {
			t.Errorf("exit code %d:\n%s", code, p.errs.last())
		}
	}
	exact(t, "by manifest", sent, tb.live(t, config))
	exact(t, "by listing", sent, tb.listed(t))
}
