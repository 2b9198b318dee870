package sink

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// client is a client of c that names partitions itself.
func client(t *testing.T, c *kfake.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// produce sends n records to a partition.
func produce(t *testing.T, cl *kgo.Client, partition int32, n int) {
	t.Helper()
	for i := range n {
		r := &kgo.Record{Topic: "quakes", Partition: partition, Value: fmt.Append(nil, i)}
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// of returns settings that read quakes of c, in batches that do not wait long.
func of(c *kfake.Cluster) *settings.Settings {
	s := quakes(c)
	s.Batch.MaxAge = 50 * time.Millisecond
	return s
}

// publish publishes all that is there.
func publish(t *testing.T, set *settings.Settings, s store.Store) {
	t.Helper()
	if err := runOnce(t, set, s); err != nil {
		t.Fatal(err)
	}
}

// Partitions that are added while the sink runs are read from their log start,
// also when it was to start at the end: with a group and without.
func TestPartitionsAreAdded(t *testing.T) {
	for _, group := range []string{"", "g"} {
		t.Run("group "+group, func(t *testing.T) {
			t.Parallel()
			c := cluster(t, 1)
			cl := client(t, c)
			produce(t, cl, 0, 5)
			s, mem := of(c), &memory.Store{}
			s.Group, s.Start = group, settings.Start{Latest: true}
			k, err := New(Config{Settings: s, Store: mem})
			if err != nil {
				t.Fatal(err)
			}
			k.source.MetadataInterval = 50 * time.Millisecond
			done := make(chan error, 1)
			go func() { done <- k.Run(t.Context()) }()
			wait(t, "the first claim", func() bool {
				_, err := manifest.Read(t.Context(), store.Sub(mem, "quakes/"), 0)
				return err == nil
			})
			req := kmsg.NewPtrCreatePartitionsRequest()
			rt := kmsg.NewCreatePartitionsRequestTopic()
			rt.Topic, rt.Count = "quakes", 3
			req.Topics = append(req.Topics, rt)
			if res, err := req.RequestWith(t.Context(), cl); err != nil || res.Topics[0].ErrorCode != 0 {
				t.Fatal(err, res)
			}
			late := client(t, c) // knows of them at once
			for p := range int32(3) {
				produce(t, late, p, 7)
			}
			for p := range int32(3) {
				wait(t, "seven rows", func() bool {
					h, err := manifest.Read(t.Context(), store.Sub(mem, "quakes/"), p)
					return err == nil && h.Totals.Rows == 7
				})
			}
			if first := head(t, mem, 0).First; first != 5 {
				t.Errorf("partition 0 begins at %d, want 5", first)
			}
			k.Drain()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// wait polls until ok.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !ok(); {
		if <-tick.C; time.Now().After(end) {
			t.Fatalf("no %s after a minute", what)
		}
	}
}

// A topic without records, and one that holds nothing but an aborted
// transaction: all is read to its end, and there are no files.
func TestOnceOfNothing(t *testing.T) {
	c := cluster(t, 2)
	cl := client(t, c, kgo.TransactionalID("tx"))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	produce(t, cl, 1, 5)
	if err := cl.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	mem := &memory.Store{}
	for range 2 { // the second run finds nothing to do
		publish(t, of(c), mem)
		if h := head(t, mem, 0); h.Next != 0 || h.Totals.Ranges != 0 {
			t.Errorf("no records: next %d, %+v", h.Next, h.Totals)
		}
		h := head(t, mem, 1)
		if h.Next != 6 || h.Totals.Absent != 6 || h.Totals.Files != 0 || h.Totals.Ranges != 1 {
			t.Errorf("aborted records: next %d, %+v", h.Next, h.Totals)
		}
	}
}

// What the group says is read by nobody: whatever it is, all is published once,
// and after it the group is told where the head is.
func TestGroupOffsetIsNotTheTruth(t *testing.T) {
	c := cluster(t, 1)
	cl := client(t, c, kgo.MaxVersions(kversion.V2_8_0())) // names in place of ids
	produce(t, cl, 0, 20)
	s, mem := of(c), &memory.Store{}
	s.Group = "g"
	publish(t, s, mem)
	for _, offset := range []int64{4, 20, 1000} {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group, req.Generation = "g", -1
		rt := kmsg.NewOffsetCommitRequestTopic()
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Offset = offset
		rt.Topic, rt.Partitions = "quakes", append(rt.Partitions, rp)
		req.Topics = append(req.Topics, rt)
		if res, err := req.RequestWith(t.Context(), cl); err != nil || res.Topics[0].Partitions[0].ErrorCode != 0 {
			t.Fatal(err, res)
		}
		produce(t, cl, 0, 10)
		publish(t, s, mem)
	}
	h := head(t, mem, 0)
	if h.Next != 50 || h.Totals.Rows != 50 {
		t.Errorf("next %d, %d rows, want 50", h.Next, h.Totals.Rows)
	}
	req := kmsg.NewPtrOffsetFetchRequest()
	rt := kmsg.NewOffsetFetchRequestTopic()
	rt.Topic, rt.Partitions = "quakes", []int32{0}
	req.Group, req.Topics = "g", append(req.Topics, rt)
	res, err := req.RequestWith(t.Context(), cl)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Topics) != 1 || res.Topics[0].Partitions[0].Offset != 50 {
		t.Errorf("the group is at %+v, want 50", res.Topics)
	}
}
