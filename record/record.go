// Package record holds what a log gives: one record, a batch of them in one
// arena, and the identity of the log that they come from.
//
// A [Record] refers to bytes that its [Batch] owns. Null and empty are told
// apart everywhere: a nil slice is null, an empty one is empty.
package record

// NoTimestamp is the timestamp of a record that has none.
const NoTimestamp int64 = -1

// TimestampType says who set the timestamps of a batch.
type TimestampType int8

// The two kinds of Kafka timestamps (message.timestamp.type of the topic).
const (
	CreateTime    TimestampType = 0 // the producer's clock
	LogAppendTime TimestampType = 1 // the broker's clock when it appended the batch
)

// String returns the name that files carry: "create" or "append".
func (t TimestampType) String() string {
	if t == LogAppendTime {
		return "append"
	}
	return "create"
}

// Record is one record of a partition. Its slices belong to the Batch it came
// from and are not to be changed.
type Record struct {
	Offset        int64
	Timestamp     int64 // milliseconds since 1970, or NoTimestamp
	TimestampType TimestampType
	Key, Value    []byte // nil is null, empty is empty
	Headers       Headers
}

// Raw returns the bytes of key, value and headers: what batch limits count.
func (r Record) Raw() int64 {
	return int64(len(r.Key) + len(r.Value) + len(r.Headers))
}

// TopicID is Kafka's id of a topic: it changes when a topic is deleted and
// created again under its name. The zero TopicID means that the broker has
// none (below Kafka 2.8).
type TopicID [16]byte

// Identity tells one log from another of the same name.
type Identity struct {
	Cluster string  // cluster id of the brokers
	Topic   TopicID // id of the topic in that cluster
}
