package manifest

import "github.com/lakeweir/lakeweir/record"

// DeadLetter is a record that was set aside, as its dead-letter file holds it.
// Its Timestamp is record.NoTimestamp also when the record has one that no
// file can hold; Detail then tells it.
type DeadLetter struct {
	record.Record
	Topic     string
	Partition int32
	Reason    string // a short code
	Detail    string // the same for people
}
