package sink

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/record"
)

// Log is what brokers say of a partition.
type Log struct {
	Partition  int32
	Start, End int64
	Held       int64     // offsets behind End that wait for an open transaction
	Since      time.Time // timestamp of the first of them; zero when it is not known, or none is held
}

// askTimeout is how long a person waits for brokers that do not answer.
const askTimeout = 5 * time.Second

// Topics asks the brokers which topics the settings mean, those that patterns
// take included. It is at most a few requests.
func Topics(ctx context.Context, set *settings.Settings) ([]string, error) {
	c, err := Source(set)
	if err != nil {
		return nil, err
	}
	c.StartTimeout = askTimeout
	return source.Topics(ctx, c)
}

// Logs asks the brokers for all partitions of a topic, by their ids. It joins
// no group. The one record that it reads of a partition is the first that an
// open transaction holds back.
func Logs(ctx context.Context, set *settings.Settings, topic string) ([]Log, error) {
	c, err := Source(set)
	if err != nil {
		return nil, err
	}
	c.Topics, c.Patterns, c.Group, c.Partitions, c.WaitForTopics = []string{topic}, nil, "", nil, false
	c.StartTimeout = askTimeout
	var mu sync.Mutex
	var logs []Log
	err = source.Run(ctx, c, func(ctx context.Context, p *source.Partition) error {
		high, err := p.High(ctx) // first: what comes meanwhile is not held
		if err != nil {
			return err
		}
		start, end, err := p.Bounds(ctx)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		logs = append(logs, Log{Partition: p.ID(), Start: start, End: end, Held: max(high-end, 0)})
		return nil
	})
	slices.SortFunc(logs, func(a, b Log) int { return int(a.Partition - b.Partition) })
	if err == nil {
		since(ctx, c, topic, logs)
	}
	return logs, err
}

// since finds out when the open transactions began that hold logs back: the
// first record that each holds is read, whatever becomes of it. What cannot be
// found out stays unknown: that there is one is worth more than since when.
func since(ctx context.Context, c source.Config, topic string, logs []Log) {
	held := map[int32]*Log{}
	c.Partitions = map[string][]int32{}
	for i, l := range logs {
		if l.Held > 0 {
			held[l.Partition] = &logs[i]
			c.Partitions[topic] = append(c.Partitions[topic], l.Partition)
		}
	}
	if len(held) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	c.ReadUncommitted = true
	_ = source.Run(ctx, c, func(ctx context.Context, p *source.Partition) error {
		l := held[p.ID()]
		if err := p.Seek(ctx, l.End); err != nil {
			return err
		}
		b, err := p.Read(ctx)
		if err != nil {
			return err
		}
		if b.Len() > 0 && b.At(0).Timestamp != record.NoTimestamp {
			l.Since = time.UnixMilli(b.At(0).Timestamp)
		}
		return nil
	})
}
