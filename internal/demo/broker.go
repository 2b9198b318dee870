package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// startBroker starts a broker in this process, which is never killed. Its log
// lives in memory.
func startBroker() (*kfake.Cluster, error) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return nil, fmt.Errorf("start the embedded broker: %w", err)
	}
	return c, nil
}

// createTimeout bounds the creation of the topic, elections included.
const createTimeout = 30 * time.Second

// createTopic creates the topic, which must not be there.
func createTopic(ctx context.Context, cl *kgo.Client, topic string) error {
	req := kmsg.NewCreateTopicsRequest()
	req.TimeoutMillis = int32(createTimeout.Milliseconds())
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, Partitions, -1 // as many replicas as the brokers say
	req.Topics = append(req.Topics, t)
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	res, err := req.RequestWith(ctx, cl)
	if err == nil {
		for _, t := range res.Topics {
			err = kerr.ErrorForCode(t.ErrorCode)
		}
	}
	if err != nil {
		return fmt.Errorf("create topic %s: %w: check the addresses of the brokers, and that this user may create topics", topic, err)
	}
	return nil
}
