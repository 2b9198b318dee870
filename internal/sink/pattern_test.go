package sink

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
)

// topic reads an entry of topics, whose values are JSON.
func topic(t *testing.T, text string) settings.Topic {
	t.Helper()
	topic, err := settings.ParseTopic(text)
	if err != nil {
		t.Fatal(err)
	}
	topic.Declared = manifest.Declared{Value: manifest.JSONValue}
	return topic
}

// A topic that comes while a pattern waits is a table from its first record on,
// with the columns of the pattern, whatever the start policy; and the end of
// all that is there ends a run that is to be one (B49).
func TestPatternBecomesTables(t *testing.T) {
	for _, group := range []string{"", "g"} {
		t.Run("group "+group, func(t *testing.T) {
			t.Parallel()
			c := cluster(t, 1)
			s, mem := of(c), &memory.Store{}
			s.Group, s.Start = group, settings.Start{Latest: true}
			s.Topics = []settings.Topic{topic(t, `/evt\..*/`)}
			k, err := New(Config{Settings: s, Store: mem})
			if err != nil {
				t.Fatal(err)
			}
			k.source.MetadataInterval = 50 * time.Millisecond
			done := make(chan error, 1)
			go func() { done <- k.Run(t.Context()) }()
			wait(t, "reason why it waits", func() bool { r := k.Snapshot().Reasons; return len(r) == 1 && r[0] != "" && k.progress.Now().Begun })
			for _, name := range []string{"evt.a", "evt.b"} {
				if err := c.CreateTopic(name, 2, nil); err != nil {
					t.Fatal(err)
				}
				fill(t, c, name)
				for p := range int32(2) {
					wait(t, "rows of "+name, func() bool {
						h, err := manifest.Read(t.Context(), store.Sub(mem, name+"/"), p)
						return err == nil && h.Totals.Rows == 7 && h.First == 0
					})
				}
				if schema, err := manifest.ReadSchema(t.Context(), store.Sub(mem, name+"/"), 1); err != nil || schema.Value != manifest.JSONValue {
					t.Errorf("%s: schema %+v, %v", name, schema, err)
				}
			}
			k.Drain()
			if err := <-done; err != nil {
				t.Error(err)
			}
			for _, name := range []string{"evt.a", "evt.b"} {
				fill(t, c, name)
			}
			publish(t, s, mem) // once: ends although the pattern could go on
			for _, name := range []string{"evt.a", "evt.b"} {
				h, err := manifest.Read(t.Context(), store.Sub(mem, name+"/"), 1)
				if err != nil || h.Totals.Rows != 14 {
					t.Errorf("%s: %d rows, %v", name, h.Totals.Rows, err)
				}
			}
		})
	}
}

// fill sends seven records to both partitions of a topic.
func fill(t *testing.T, c *kfake.Cluster, name string) {
	t.Helper()
	cl := client(t, c)
	for i := range 14 {
		r := &kgo.Record{Topic: name, Partition: int32(i % 2), Value: fmt.Appendf(nil, `{"id":%d}`, i)}
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// A run to the end of what is there has nothing to wait for: a pattern without
// a topic is a mistake then.
func TestOnceOfNoTopic(t *testing.T) {
	s := of(cluster(t, 1))
	s.Topics = []settings.Topic{topic(t, "/none/")}
	if err := runOnce(t, s, &memory.Store{}); !errors.Is(err, source.ErrNoTopic) {
		t.Errorf("got %v", err)
	}
}

// The store is looked at before brokers are asked, for patterns too.
func TestPatternNeedsStore(t *testing.T) {
	s := good()
	s.Topics = []settings.Topic{topic(t, "/x/")}
	denied := errors.New("access is denied")
	broken := fault.Wrap(&memory.Store{}, func(context.Context, fault.Call) fault.Action { return fault.Fail(denied) })
	k, err := New(Config{Settings: s, Store: broken})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Run(t.Context()); !errors.Is(err, denied) {
		t.Errorf("got %v", err)
	}
}
