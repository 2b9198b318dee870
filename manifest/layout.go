package manifest

import "github.com/lakeweir/lakeweir/record"

// Job is one range to lay out as objects.
type Job struct {
	Table     string
	Partition Partition
	Range
	Attempt int
	Schema  int             // version
	Batches []*record.Batch // what the log holds of the range, in order
	Lost    int64           // positions that the log had lost before they were read
}

// Encoded is a range laid out: the record that publishes it, and the bodies of its files.
type Encoded struct {
	Record RangeRecord       // LeaderEpoch is that of the last batch, -1 when unknown
	Bodies map[string][]byte // by key; one for each file of Record
}

// Description is what an object says of itself in its footer.
type Description struct {
	Table       string
	Partition   Partition
	Range       // of the whole range, whatever part of it the object holds
	Attempt     int
	Schema      int    // version
	LeaderEpoch int32  // of the last batch read; -1 when unknown
	Counts      Counts // of the whole range
	Digest      string // of the records of the range and the decisions on them
	File        File
}
