package writer

import (
	"context"
	"errors"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// What a Source may wrap in its errors.
var (
	// ErrNoLog: the log does not exist. If it stays away the writer ends.
	ErrNoLog = errors.New("the log does not exist")
	// ErrNoAnswer: nobody answered for the log in time; it may come back, and
	// the writer waits for it.
	ErrNoAnswer = errors.New("the log does not answer")
	// ErrOutOfRange: the log does not hold the position of a Read, or its
	// leader does not know better yet. A fresh claim looks at its bounds and
	// goes on from the head.
	ErrOutOfRange = errors.New("the log does not hold the position")
)

// Source reads one partition of a log. Seek and Read are called by one
// goroutine at a time; the others may be called during a Read.
type Source interface {
	// Seek sets the position of the next Read.
	Seek(ctx context.Context, offset int64) error

	// Read returns what follows, and waits for it. Each batch begins at the
	// position and moves it to its Next; a batch may have no records. A Read
	// whose context ends loses nothing. The memory of a batch (Batch.Size) is
	// charged to the Budget by the source and released by the writer.
	Read(ctx context.Context) (*record.Batch, error)

	// Bounds returns the first position of the log and the one behind its last.
	Bounds(ctx context.Context) (start, end int64, err error)

	// Identity asks the brokers anew which log this is.
	Identity(ctx context.Context) (record.Identity, error)

	// EpochEnd returns the position behind the last record that a leader epoch
	// wrote, or a negative number when the log cannot tell.
	EpochEnd(ctx context.Context, leaderEpoch int32) (int64, error)
}

// Encoder turns the records of a range into objects. The one for Parquet is
// the default; tests and embedders may bring their own.
type Encoder interface {
	// Encode lays out the records of a job. The same job should give the same
	// bytes, but nothing depends on it.
	Encode(ctx context.Context, job manifest.Job) (manifest.Encoded, error)

	// Vacant returns an object without rows, for a key that no attempt may
	// publish any more. The job is that of the attempt that supersedes it.
	Vacant(job manifest.Job, key string) ([]byte, error)

	// Describe reads back what the footer of an object says, from its bytes alone.
	Describe(key string, body []byte) (manifest.Description, error)
}
