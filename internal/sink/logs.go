package sink

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/source"
)

// Log is what brokers say of a partition.
type Log struct {
	Partition  int32
	Start, End int64
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
// no group and reads no record.
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
		start, end, err := p.Bounds(ctx)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		logs = append(logs, Log{Partition: p.ID(), Start: start, End: end})
		return nil
	})
	slices.SortFunc(logs, func(a, b Log) int { return int(a.Partition - b.Partition) })
	return logs, err
}
