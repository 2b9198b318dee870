package minio

import (
	"context"

	"github.com/minio/minio-go/v7"

	"github.com/lakeweir/lakeweir/store/internal/wire"
)

// CreateBucket creates the bucket. One that this user has already is no error;
// one of somebody else is.
func (s *Store) CreateBucket(ctx context.Context) error {
	call, deadline := wire.Start(ctx, s.timeout, 0)
	defer deadline.Stop()
	err := s.client.MakeBucket(call, s.place.Bucket, minio.MakeBucketOptions{})
	if err == nil || failure(err).Code == "BucketAlreadyOwnedByYou" {
		return nil
	}
	return s.place.Explain(ctx, call, wire.Call{Op: "create bucket", Key: s.place.Bucket}, failure(err))
}
