package source

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/lakeweir/lakeweir/internal/turns"
	"github.com/lakeweir/lakeweir/record"
	"github.com/segmentio/kafka-go"
)

// writeRight is the bit of the operation Write among rights
// (https://kafka.apache.org/documentation/#security_authz_primitives).
const writeRight int32 = 1 << 4

// Versions of Metadata: topic ids came with 10 (Kafka 2.8), leader epochs with
// 7 (2.1), and 12 is the last that needs no more than this package knows.
const (
	minMetadata    = 4
	maxMetadata    = 12
	withTopicID    = 10
	withEpoch      = 7
	withRights     = 8 // KIP-430, Kafka 2.3
	flexMetadata   = 9
	minEpochEnd    = 2 // OffsetForLeaderEpoch, Kafka 2.1
	maxEpochEnd    = 3 // the last one before flexible encoding
	unknownVersion = -1
)

// layout is what the brokers say about the cluster and some topics.
type layout struct {
	cluster string
	topics  map[string]topicLayout
}

type topicLayout struct {
	code       int16
	internal   bool  // kept by the brokers for themselves
	rights     int32 // bits by operation; 0 is not told: who sees a topic may describe it
	id         record.TopicID
	partitions map[int32]partitionLayout
}

// partitionLayout names the leader of a partition; -1 when there is none.
type partitionLayout struct{ leader, epoch int32 }

// metadata asks for topics by name, nil for all that there are. It is never
// answered from a cache, and creates no topic.
func (c *client) metadata(ctx context.Context, topics []string) (layout, error) {
	return c.describe(ctx, topics, false)
}

// describe is metadata, with the rights that this user has on each topic if
// they are asked for: brokers look them up one by one.
func (c *client) describe(ctx context.Context, topics []string, rights bool) (layout, error) {
	version, err := c.version(ctx, keyMetadata)
	if err != nil {
		return layout{}, err
	}
	if version < minMetadata {
		return layout{}, fmt.Errorf("broker offers Metadata v%d at most: Kafka 0.11 or later is needed", version)
	}
	version = min(version, maxMetadata)
	l, err := ask[layout](ctx, c, &call{
		key: keyMetadata, version: version, flexible: version >= flexMetadata, node: anyBroker,
		encode: func(b []byte, v int16) []byte { return encodeMetadata(b, v, topics, rights) },
		decode: func(d *decoder, v int16) (any, error) { return decodeMetadata(d, v), nil },
	}, requestTimeout)
	if err != nil {
		c.forget() // the brokers may have been replaced by others
		return layout{}, fmt.Errorf("ask for metadata: %w", err)
	}
	return l, nil
}

// layoutOf asks for one topic, once for all that ask at the same time: each of
// thousands of partitions asks before each of its plans, and an answer has all
// of them.
func (c *client) layoutOf(ctx context.Context, topic string) (layout, error) {
	c.mu.Lock()
	q := c.layouts[topic]
	if q == nil {
		if c.layouts == nil {
			c.layouts = make(map[string]*turns.Question[layout])
		}
		q = new(turns.Question[layout])
		c.layouts[topic] = q
	}
	c.mu.Unlock()
	return q.Ask(ctx, func(ctx context.Context) (layout, error) { return c.metadata(ctx, []string{topic}) })
}

func encodeMetadata(b []byte, v int16, topics []string, rights bool) []byte {
	flexible := v >= flexMetadata
	switch { // an array without elements is none, null is all
	case flexible && topics == nil:
		b = append(b, 0)
	case flexible:
		b = binary.AppendUvarint(b, uint64(len(topics)+1))
	case topics == nil:
		b = appendInt32(b, -1)
	default:
		b = appendInt32(b, int32(len(topics)))
	}
	for _, t := range topics {
		if v >= withTopicID {
			b = append(b, make([]byte, 16)...) // no id: by name
		}
		b = appendString(b, t, flexible)
		if flexible {
			b = append(b, 0)
		}
	}
	b = appendBool(b, false) // create topics
	if v >= 8 && v <= 10 {
		b = appendBool(b, false) // authorized operations of the cluster
	}
	if v >= withRights {
		b = appendBool(b, rights) // authorized operations of the topics
	}
	if flexible {
		b = append(b, 0)
	}
	return b
}

func decodeMetadata(d *decoder, v int16) layout {
	flexible := v >= flexMetadata
	d.int32() // throttle
	for n := d.count(flexible, 10); n > 0 && d.err == nil; n-- {
		d.int32()          // id
		d.string(flexible) // host
		d.int32()          // port
		d.string(flexible) // rack
		d.tags(flexible)
	}
	l := layout{cluster: d.string(flexible), topics: map[string]topicLayout{}}
	d.int32() // controller
	for n := d.count(flexible, 5); n > 0 && d.err == nil; n-- {
		name, t := decodeTopic(d, v)
		l.topics[name] = t
	}
	return l
}

func decodeTopic(d *decoder, v int16) (string, topicLayout) {
	flexible := v >= flexMetadata
	t := topicLayout{code: d.code(), partitions: map[int32]partitionLayout{}}
	name := d.string(flexible)
	if v >= withTopicID {
		copy(t.id[:8], d.fixed(8))
		copy(t.id[8:], d.fixed(8))
	}
	t.internal = d.int8() != 0
	for n := d.count(flexible, 12); n > 0 && d.err == nil; n-- {
		d.int16() // code: no leader shows in the leader
		id := d.int32()
		p := partitionLayout{leader: d.int32(), epoch: -1}
		if v >= withEpoch {
			p.epoch = d.int32()
		}
		d.int32s(flexible) // replicas
		d.int32s(flexible) // in sync
		if v >= 5 {
			d.int32s(flexible) // offline
		}
		d.tags(flexible)
		t.partitions[id] = p
	}
	if v >= withRights {
		t.rights = max(d.int32(), 0) // the least int32 when they were not asked for
	}
	d.tags(flexible)
	return name, t
}

// version returns the highest version of a request that the brokers know.
// kafka-go only tells the highest that it knows itself.
func (c *client) version(ctx context.Context, key int16) (int16, error) {
	c.mu.Lock()
	known := c.versions
	c.mu.Unlock()
	if known == nil {
		if err := c.enter(ctx); err != nil {
			return 0, err
		}
		defer c.exit()
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		res, err := c.kafka.ApiVersions(ctx, &kafka.ApiVersionsRequest{})
		if err == nil && res.Error != nil {
			err = res.Error
		}
		if err != nil {
			return 0, fmt.Errorf("ask for versions: %w", c.truth(ctx, err))
		}
		known = make(map[int16]int16)
		for _, k := range res.ApiKeys {
			known[int16(k.ApiKey)] = int16(k.MaxVersion)
		}
		c.mu.Lock()
		c.versions = known
		c.mu.Unlock()
	}
	v, ok := known[key]
	if !ok {
		return unknownVersion, nil
	}
	return v, nil
}

// forget makes the next request ask for versions again.
func (c *client) forget() {
	c.mu.Lock()
	c.versions = nil
	c.mu.Unlock()
}
