package s3

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lakeweir/lakeweir/store/internal/wire"
)

// CreateBucket creates the bucket, in the region of the store. One that this
// user has already is no error; one of somebody else is.
func (s *Store) CreateBucket(ctx context.Context) error {
	call, deadline := wire.Start(ctx, s.timeout, 0)
	defer deadline.Stop()
	in := &s3.CreateBucketInput{Bucket: &s.place.Bucket}
	// us-east-1 is the one region that must not be named.
	// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucketConfiguration.html
	if region := s.client.Options().Region; region != "us-east-1" && s.place.Endpoint == "" {
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{
			LocationConstraint: types.BucketLocationConstraint(region),
		}
	}
	_, err := s.client.CreateBucket(call, in)
	var owned *types.BucketAlreadyOwnedByYou
	if err == nil || errors.As(err, &owned) {
		return nil
	}
	return s.explain(ctx, call, wire.Call{Op: "create bucket", Key: s.place.Bucket}, err)
}
