package sink

import (
	"context"
	"errors"
	"fmt"

	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/writer"
)

// log is a partition whose errors a writer understands.
type log struct{ *source.Partition }

func (l log) Read(ctx context.Context) (*record.Batch, error) {
	b, err := l.Partition.Read(ctx)
	return b, meaning(err)
}

func (l log) Bounds(ctx context.Context) (start, end int64, err error) {
	start, end, err = l.Partition.Bounds(ctx)
	return start, end, meaning(err)
}

func (l log) Identity(ctx context.Context) (record.Identity, error) {
	id, err := l.Partition.Identity(ctx)
	return id, meaning(err)
}

func (l log) EpochEnd(ctx context.Context, leaderEpoch int32) (int64, error) {
	end, err := l.Partition.EpochEnd(ctx, leaderEpoch)
	return end, meaning(err)
}

// meaning says what an error of the source is to a writer.
func meaning(err error) error {
	switch {
	case errors.Is(err, source.ErrNoTopic):
		return fmt.Errorf("%w: %w", writer.ErrNoLog, err)
	case errors.Is(err, source.ErrNoAnswer):
		return fmt.Errorf("%w: %w", writer.ErrNoAnswer, err)
	case errors.Is(err, source.ErrOutOfRange):
		return fmt.Errorf("%w: %w", writer.ErrOutOfRange, err)
	}
	return err
}
