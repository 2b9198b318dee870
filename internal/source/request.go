package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go/protocol"
)

// The keys of the requests that this package encodes itself
// (https://kafka.apache.org/protocol#protocol_api_keys).
const (
	keyProduce     int16 = 0
	keyFetch       int16 = 1
	keyListOffsets int16 = 2
	keyMetadata    int16 = 3
	keyHeartbeat   int16 = 12
	keyEpochEnd    int16 = 23
)

const (
	// anyBroker routes a request to whichever broker answers.
	anyBroker int32 = -1
	// negotiated takes the version that kafka-go agreed on for the connection.
	negotiated int16 = -1
	// requestTimeout bounds a request that a broker answers at once.
	requestTimeout = 10 * time.Second
	// maxResponse bounds the answer to one request, which is told before its
	// bytes come. A fetch keeps far below but for a single larger batch.
	maxResponse = 1 << 30
)

// errNoBroker is returned by the routing of a request: the broker is not in
// the cluster as kafka-go knows it, or kafka-go knows no cluster yet.
var errNoBroker = errors.New("no such broker in the cluster")

// correlation numbers the requests of the process, so that an answer to
// another request is noticed.
var correlation atomic.Int32

// call is one request with bytes of its own. It implements kafka-go's
// RawExchanger: kafka-go picks the connection, the call speaks on it. A call
// is used once.
type call struct {
	key      int16
	version  int16 // or negotiated
	flexible bool  // headers with tagged fields
	node     int32 // broker id or anyBroker
	clientID string
	encode   func(b []byte, version int16) []byte
	// decode returns a value of its own: it may still run after the caller
	// has given up waiting.
	decode func(d *decoder, version int16) (any, error)
}

// reply carries what decode made of the answer.
type reply struct {
	key   int16
	value any
}

// ApiKey implements protocol.Message.
func (r *reply) ApiKey() protocol.ApiKey { return protocol.ApiKey(r.key) }

// ApiKey implements protocol.Message.
func (c *call) ApiKey() protocol.ApiKey { return protocol.ApiKey(c.key) }

// Broker implements protocol.BrokerMessage.
func (c *call) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	if c.node == anyBroker {
		return protocol.Broker{ID: anyBroker}, nil
	}
	b, ok := cluster.Brokers[c.node]
	if !ok {
		return b, fmt.Errorf("broker %d: %w", c.node, errNoBroker)
	}
	return b, nil
}

// Required implements protocol.RawExchanger. It is given the versions agreed
// on for the connection that the call is about to use.
func (c *call) Required(versions map[protocol.ApiKey]int16) bool {
	if c.version == negotiated {
		c.version = versions[protocol.ApiKey(c.key)]
	}
	return true
}

// RawExchange implements protocol.RawExchanger. Any error makes kafka-go close
// the connection, so a half-read answer is never met again.
func (c *call) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	id := correlation.Add(1)
	b := appendInt16(make([]byte, 4, 512), c.key)
	b = appendInt16(b, c.version)
	b = appendInt32(b, id)
	b = appendString(b, c.clientID, false)
	if c.flexible {
		b = append(b, 0) // no tagged fields
	}
	b = c.encode(b, c.version)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	if _, err := rw.Write(b); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(rw, head[:]); err != nil {
		return nil, err
	}
	size := int(int32(binary.BigEndian.Uint32(head[:]))) - 4
	if size < 0 || size > maxResponse {
		return nil, fmt.Errorf("broker announced a response of %d bytes: is this a Kafka port?", size)
	}
	if got := int32(binary.BigEndian.Uint32(head[4:])); got != id {
		return nil, fmt.Errorf("response %d came for request %d", got, id)
	}
	d := &decoder{r: rw, left: size}
	d.tags(c.flexible)
	v, err := c.decode(d, c.version)
	d.skip(d.left)
	if err == nil {
		err = d.err
	}
	if err != nil {
		return nil, fmt.Errorf("read response: %w", err)
	}
	return &reply{c.key, v}, nil
}

// ask sends a call and returns what decode made of its answer. The deadline is
// what ends it: kafka-go does not interrupt a read when a context is cancelled.
func ask[T any](ctx context.Context, c *client, q *call, limit time.Duration) (T, error) {
	var zero T
	if q.key != keyFetch {
		if err := c.enter(ctx); err != nil {
			return zero, err
		}
		defer c.exit()
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	q.clientID = c.id
	m, err := c.transport.RoundTrip(ctx, c.addr, q)
	if err != nil {
		return zero, c.truth(ctx, err)
	}
	v, ok := m.(*reply).value.(T)
	if !ok {
		return zero, fmt.Errorf("response of type %T", m.(*reply).value)
	}
	return v, nil
}
