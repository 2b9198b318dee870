package realkafka_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/realkafka"
	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/record"
)

// with runs work on one partition of a broker, through the source under test.
func with(t *testing.T, c source.Config, topic string, partition int32, work func(context.Context, *source.Partition) error) {
	t.Helper()
	c.Topics = []string{topic}
	c.Partitions = map[string][]int32{topic: {partition}}
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	worked := false
	err := source.Run(ctx, c, func(ctx context.Context, p *source.Partition) error {
		defer cancel()
		worked = true
		return work(ctx, p)
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("run the source on %s/%d: %v", topic, partition, err)
	}
	if !worked {
		t.Fatalf("the source never handed out %s/%d", topic, partition)
	}
}

// plain is the configuration of a source for the plain listener.
func plainConfig(b *realkafka.Broker) source.Config {
	return source.Config{Brokers: []string{b.Addr()}}
}

// readTo reads from the position to the offset end and returns each record as
// text. The batches must join without gap or overlap, whatever the log lacks.
func readTo(ctx context.Context, p *source.Partition, from, end int64) ([]string, error) {
	if err := p.Seek(ctx, from); err != nil {
		return nil, err
	}
	var got []string
	for at := from; at < end; {
		b, err := p.Read(ctx)
		if err != nil {
			return got, err
		}
		if b.Start != at || b.Next <= at {
			return got, fmt.Errorf("at position %d came a batch of [%d, %d)", at, b.Start, b.Next)
		}
		for r := range b.All() {
			got = append(got, ours(r))
		}
		at = b.Next
	}
	return got, nil
}

// readAll reads what the log holds from its start to its end.
func readAll(t *testing.T, c source.Config, topic string) []string {
	t.Helper()
	var got []string
	with(t, c, topic, 0, func(ctx context.Context, p *source.Partition) error {
		start, end, err := p.Bounds(ctx)
		if err != nil {
			return err
		}
		got, err = readTo(ctx, p, start, end)
		return err
	})
	return got
}

// ours writes a record of the source as text that shows every field.
func ours(r record.Record) string {
	s := fmt.Sprintf("%d %d %v %s %s", r.Offset, r.Timestamp, r.TimestampType, bytesText(r.Key), bytesText(r.Value))
	for h := range r.Headers.All() {
		s += fmt.Sprintf(" %q=%s", h.Key, bytesText(h.Value))
	}
	return s
}

// theirs writes a record of the independent client in the same way.
func theirs(r *kgo.Record) string {
	kind := record.TimestampType(r.Attrs.TimestampType())
	s := fmt.Sprintf("%d %d %v %s %s", r.Offset, r.Timestamp.UnixMilli(), kind, bytesText(r.Key), bytesText(r.Value))
	for _, h := range r.Headers {
		s += fmt.Sprintf(" %q=%s", h.Key, bytesText(h.Value))
	}
	return s
}

// bytesText tells null from empty.
func bytesText(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%q", b)
}

// reference reads partition 0 of a topic from its start to the offset end with
// the independent client, under read_committed.
func reference(t *testing.T, b *realkafka.Broker, topic string, end int64) []string {
	t.Helper()
	ctx := within(t)
	c := b.Client(t,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // so the end is seen even if a marker is last
	)
	defer c.Close()
	var got []string
	for at := int64(0); at < end; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("read %s with the independent client: %v", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if at = r.Offset + 1; !r.Attrs.IsControl() {
				got = append(got, theirs(r))
			}
		})
	}
	return got
}

// same compares what two readers saw, and names the first difference.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s: record %d: got %s, want %s", what, i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: got %d records, want %d", what, len(got), len(want))
	}
}
