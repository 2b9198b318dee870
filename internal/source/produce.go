package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
	"time"

	"github.com/lakeweir/lakeweir/record"
)

// Producer publishes records to one topic, with the acknowledgement of all
// replicas in sync. It may be used by several goroutines at once.
//
// It is not idempotent: records whose answer was lost and that are published
// again are in the topic twice.
type Producer struct {
	config Config
	client *client
	topic  string

	mu      sync.Mutex
	leaders topicLayout // as last heard; no partitions when unknown
}

// ErrTooLarge means that the topic takes no batch as large as the one that was
// published. It took none of its records.
var ErrTooLarge = errors.New("larger than the topic takes (max.message.bytes)")

// produceVersion is the version of Produce that brokers from 0.11 to 4.x know:
// the first one with record batches.
const produceVersion = 3

const (
	// produceTimeout bounds a request with its way, replicaTimeout the wait of
	// the leader for its replicas.
	produceTimeout = 30 * time.Second
	replicaTimeout = 20 * time.Second
	// maxProduce is the largest batch that is sent. Brokers close connections
	// that bring more than socket.request.max.bytes, by default 100 MiB, and
	// do not say why.
	maxProduce = 64 << 20
)

// NewProducer makes a Producer of a topic of the brokers of c. No broker is
// asked yet.
func NewProducer(c Config, topic string) (*Producer, error) {
	c.Topics, c.Patterns, c.Partitions, c.Group = []string{topic}, nil, nil, ""
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("configure producer: %w", err)
	}
	cl, err := newClient(c)
	if err != nil {
		return nil, fmt.Errorf("configure producer: %w", err)
	}
	return &Producer{config: c, client: cl, topic: topic}, nil
}

// Close lets go of the connections.
func (p *Producer) Close() { p.client.close() }

// Check returns an error in one line if the topic is not there, which is
// ErrNoTopic unless Config.WaitForTopics, if this user may not write to it, as
// far as brokers tell (from Kafka 2.3 on), or if no broker answers within
// Config.StartTimeout. The topic is never created.
func (p *Producer) Check(ctx context.Context) error {
	l, err := p.client.check(ctx, p.config)
	if err != nil {
		return err
	}
	if err := checkTopics(p.config, l); err != nil || l.topics[p.topic].code != 0 {
		return err
	}
	if l, err = p.client.describe(ctx, []string{p.topic}, true); err != nil {
		return p.client.explain.now(err)
	}
	if rights := l.topics[p.topic].rights; rights != 0 && rights&writeRight == 0 {
		return p.denied(codeError(codeTopicDenied))
	}
	return nil
}

// denied says what to do about a missing right to write.
func (p *Producer) denied(err error) error {
	return fmt.Errorf("topic %q: this user may not write to it: grant WRITE (and DESCRIBE) on the topic to this user: %w", p.topic, err)
}

// Publish sends records as one batch to the partition that from names, modulo
// the partitions of the topic, and returns when all replicas in sync have
// them. Offsets and timestamps are given by the broker and by the clock. It
// tries once: after an error other than ErrTooLarge the topic may have the
// records or not.
func (p *Producer) Publish(ctx context.Context, from int32, records []record.Record) error {
	if len(records) == 0 {
		return nil
	}
	partition, node, err := p.place(ctx, from)
	if err != nil {
		return fmt.Errorf("publish to topic %q: %w", p.topic, err)
	}
	batch := encodeBatch(records, time.Now().UnixMilli())
	code := codeTooLarge
	if len(batch) <= maxProduce {
		code, err = p.client.produce(ctx, node, p.topic, partition, batch)
	}
	switch {
	case err == nil && code == 0:
		return nil
	case err == nil && (code == codeTooLarge || code == codeListTooLarge):
		return fmt.Errorf("publish %d bytes to %s/%d: %w", len(batch), p.topic, partition, ErrTooLarge)
	case err == nil && code == codeTopicDenied:
		err = p.denied(codeError(code))
	case err == nil:
		err = codeError(code)
	default:
		err = p.client.explain.now(err)
	}
	p.mu.Lock()
	p.leaders = topicLayout{} // the next try looks again
	p.mu.Unlock()
	return fmt.Errorf("publish to %s/%d: %w", p.topic, partition, err)
}

// place returns a partition and the broker that leads it.
func (p *Producer) place(ctx context.Context, from int32) (partition, node int32, err error) {
	p.mu.Lock()
	known := p.leaders
	p.mu.Unlock()
	if len(known.partitions) == 0 {
		l, err := p.client.metadata(ctx, []string{p.topic})
		if err != nil {
			return 0, 0, p.client.explain.now(err)
		}
		t, ok := l.topics[p.topic]
		switch {
		case !ok || t.code == codeUnknownTopic:
			return 0, 0, ErrNoTopic
		case t.code == codeTopicDenied: // it may not even be seen
			return 0, 0, p.denied(codeError(t.code))
		case t.code != 0:
			return 0, 0, codeError(t.code)
		case len(t.partitions) == 0:
			return 0, 0, codeError(codeNoLeader)
		}
		known = t
	}
	partition = from % int32(len(known.partitions))
	at, ok := known.partitions[partition]
	if !ok || at.leader < 0 {
		return 0, 0, fmt.Errorf("partition %d has no leader", partition)
	}
	p.mu.Lock()
	p.leaders = known
	p.mu.Unlock()
	return partition, at.leader, nil
}

// produce sends a batch to the leader of a partition and returns its code.
func (c *client) produce(ctx context.Context, node int32, topic string, partition int32, batch []byte) (int16, error) {
	return ask[int16](ctx, c, &call{
		key: keyProduce, version: produceVersion, node: node,
		encode: func(b []byte, _ int16) []byte {
			b = appendInt16(b, -1) // no transaction
			b = appendInt16(b, -1) // acknowledged by all replicas in sync
			b = appendInt32(b, int32(replicaTimeout.Milliseconds()))
			b = appendInt32(b, 1)
			b = appendString(b, topic, false)
			b = appendInt32(b, 1)
			b = appendInt32(b, partition)
			return append(appendInt32(b, int32(len(batch))), batch...)
		},
		decode: func(d *decoder, _ int16) (any, error) { return decodeProduced(d), nil },
	}, produceTimeout)
}

func decodeProduced(d *decoder) int16 {
	code := codeUnknownServer
	for nt := d.count(false, 6); nt > 0 && d.err == nil; nt-- {
		d.string(false)
		for np := d.count(false, 22); np > 0 && d.err == nil; np-- {
			d.int32() // partition
			code = d.code()
			d.int64() // offset
			d.int64() // time of append
		}
	}
	d.int32() // throttle
	return code
}

// encodeBatch makes a record batch, which is not compressed
// (https://kafka.apache.org/documentation/#recordbatch).
func encodeBatch(records []record.Record, timestamp int64) []byte {
	size := headerBytes
	for _, r := range records {
		size += int(r.Raw()) + 32
	}
	b := make([]byte, 0, size)
	b = appendInt64(b, 0)                     // base offset
	b = appendInt32(b, 0)                     // length, set below
	b = append(appendInt32(b, -1), 2)         // leader epoch, magic
	b = appendInt32(b, 0)                     // checksum, set below
	b = appendInt16(b, 0)                     // attributes
	b = appendInt32(b, int32(len(records)-1)) // offset of the last
	b = appendInt64(appendInt64(b, timestamp), timestamp)
	b = appendInt16(appendInt64(b, -1), -1) // no producer id, no epoch
	b = appendInt32(appendInt32(b, -1), int32(len(records)))
	var fixed []byte
	for i, r := range records {
		headers := r.Headers
		if len(headers) == 0 {
			headers = record.Headers{0}
		}
		fixed = binary.AppendVarint(append(fixed[:0], 0, 0), int64(i)) // attributes, timestamp, offset
		n := len(fixed) + sizeOf(r.Key) + sizeOf(r.Value) + len(headers)
		b = append(binary.AppendVarint(b, int64(n)), fixed...)
		b = appendBytes(appendBytes(b, r.Key), r.Value)
		b = append(b, headers...)
	}
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-lengthBytes))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b
}

// appendBytes appends a field of a record with its length; nil is null.
func appendBytes(b, field []byte) []byte {
	if field == nil {
		return binary.AppendVarint(b, -1)
	}
	return append(binary.AppendVarint(b, int64(len(field))), field...)
}

// sizeOf returns how many bytes appendBytes adds.
func sizeOf(field []byte) int {
	n := 1
	for v := uint64(len(field)) << 1; v >= 0x80; v >>= 7 {
		n++
	}
	return n + len(field)
}
