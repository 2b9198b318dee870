package writer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
)

// Config is what a writer of one partition needs. Store, Table, Source and
// Schema are required; the zero value of every other field is its default.
type Config struct {
	Store     store.Store     // root of the table
	Table     string          // name of the topic
	Partition int32           // id of the partition
	Source    Source          // its log
	Schema    manifest.Schema // wanted; stored under the next version if it is new

	// NewEncoder makes the encoder of a stored schema. Default: Parquet.
	NewEncoder func(manifest.Schema) (Encoder, error)

	// Start returns where a partition begins that has no head yet.
	// Default: the beginning of its log.
	Start func(ctx context.Context) (int64, error)

	Limits     Limits
	OnDataLoss DataLoss

	// Once ends the writer when all is published up to the end that the log
	// had at its claim.
	Once bool

	// Published is told the next offset after each commit, for lag monitors.
	// Its error is a warning.
	Published func(ctx context.Context, next int64) error

	// Rejected is given the dead letters of a range, in order, once its files
	// are written, and the key of their file; the range is published when it
	// returns nil. It returns how many of them are out for good: after an error
	// it is called again with the rest, for as long as it takes. Those of a
	// range that a crash kept from being published come again with it, from the
	// first one on: at least once. Default: they are in their file only.
	Rejected func(ctx context.Context, key string, letters iter.Seq2[manifest.DeadLetter, error]) (done int64, err error)

	// MaxDead, if above zero, ends the writer with ErrTooManyDead before it
	// plans a range with a record at which more than this share of the last
	// 10,000 records, as far as this process has seen them, are dead letters.
	// Below 1,000 records nothing is said.
	MaxDead float64

	// Confirmed is asked after a fence. It waits until the assignment of the
	// partition is confirmed anew, and nil lets the writer claim afresh. An
	// error ends the writer with ErrFenced. Default: it ends at once.
	Confirmed func(ctx context.Context) error

	Host, Software string // for people who read the head
	Log            *slog.Logger
}

// Limits cut a batch, whichever is reached first. So do memory pressure and a
// Drain. Larger batches make fewer and larger files, smaller ones are seen earlier.
type Limits struct {
	MaxRows  int64         // records; default 1,000,000
	MaxBytes int64         // bytes of keys, values and headers; default 128 MiB
	MaxAge   time.Duration // since the first position of the batch came, records or not; default 60 s
}

// Defaults of Limits. A Parquet file of 128 MiB of raw JSON is 15 to 60 MB, a
// size that batch engines read well.
const (
	DefaultMaxRows  = 1_000_000
	DefaultMaxBytes = 128 << 20
	DefaultMaxAge   = 60 * time.Second

	// MaxBytesLimit is the largest MaxBytes: a batch is one PUT, and stores
	// take at most 5 GiB in one.
	MaxBytesLimit = 1 << 30
)

// DataLoss says what to do when records are gone from the log that were not
// read yet.
type DataLoss int

// The policies on data loss.
const (
	FailOnLoss DataLoss = iota // stop, and name the lost range
	SkipLost                   // publish a range without rows that counts them as lost, and go on
)

// ErrDataLoss: records were removed from the log before they were read.
var ErrDataLoss = errors.New("records are lost")

// validated returns c with its defaults filled in.
func (c Config) validated() (Config, error) {
	if c.Store == nil || c.Table == "" || c.Source == nil {
		return c, errors.New("writer: Store, Table and Source are required")
	}
	if c.Limits.MaxRows == 0 {
		c.Limits.MaxRows = DefaultMaxRows
	}
	if c.Limits.MaxBytes == 0 {
		c.Limits.MaxBytes = DefaultMaxBytes
	}
	if c.Limits.MaxAge == 0 {
		c.Limits.MaxAge = DefaultMaxAge
	}
	if c.Limits.MaxRows < 0 || c.Limits.MaxAge < 0 || c.Limits.MaxBytes < 0 || c.Limits.MaxBytes > MaxBytesLimit {
		return c, fmt.Errorf("writer: limits %+v: negative, or more than %d bytes", c.Limits, MaxBytesLimit)
	}
	if c.NewEncoder == nil {
		c.NewEncoder = parquetEncoder
	}
	if c.Start == nil {
		c.Start = func(ctx context.Context) (int64, error) {
			start, _, err := c.Source.Bounds(ctx)
			return start, err
		}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
