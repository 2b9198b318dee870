package writer

import (
	"context"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// Source reads one partition of a log. It is used by one goroutine at a time.
type Source interface {
	// Seek sets the position of the next Read.
	Seek(ctx context.Context, offset int64) error

	// Read returns what follows, and waits for it. Each batch begins at the
	// position and moves it to its Next; a batch may have no records. The
	// memory of a batch (Batch.Size) is the writer's to release to the Budget.
	Read(ctx context.Context) (*record.Batch, error)

	// Bounds returns the first position of the log and the one behind its last.
	Bounds(ctx context.Context) (start, end int64, err error)

	// Identity asks the brokers anew which log this is.
	Identity(ctx context.Context) (record.Identity, error)

	// EpochEnd returns the position behind the last record that a leader epoch
	// wrote, or a negative number when the log cannot tell.
	EpochEnd(ctx context.Context, leaderEpoch int32) (int64, error)
}

// Encoder turns the records of a range into objects. The columnar one is the
// default; tests and embedders may bring their own.
type Encoder interface {
	// Encode lays out the records of a job. The same job should give the same
	// bytes, but nothing depends on it.
	Encode(ctx context.Context, job Job) (Encoded, error)

	// Vacant returns an object without rows, for a key that no attempt may
	// publish any more.
	Vacant(job Job, key string) ([]byte, error)

	// Describe reads back what the footer of an object says, from its bytes alone.
	Describe(key string, body []byte) (Description, error)
}

// Job is one range to lay out.
type Job struct {
	Table     string
	Partition manifest.Partition
	manifest.Range
	Attempt int
	Schema  int             // version
	Batches []*record.Batch // what the log holds of the range, in order
	Lost    int64           // positions that the log had lost before they were read
}

// Encoded is a range laid out: the record that publishes it, and the bodies of its files.
type Encoded struct {
	Record manifest.RangeRecord // complete but for LeaderEpoch
	Bodies map[string][]byte    // by key; one for each file of Record
}

// Description is what an object says of itself in its footer.
type Description struct {
	Table     string
	Partition manifest.Partition
	manifest.Range
	Attempt int
	Schema  int
	Counts  manifest.Counts // of the whole range
	Digest  string          // of the records of the range and the decisions on them
	File    manifest.File
}
