package s3_test

import (
	"context"
	"testing"

	"github.com/lakeweir/lakeweir/store/internal/wiretest"
	"github.com/lakeweir/lakeweir/store/s3"
)

func open(ctx context.Context, c wiretest.Config) (wiretest.Store, error) {
	return s3.New(ctx, s3.Config{
		Endpoint: c.Endpoint, Bucket: c.Bucket, Prefix: c.Prefix, Region: c.Region,
		AccessKey: c.AccessKey, SecretKey: c.SecretKey, CAFile: c.CAFile, SkipVerify: c.SkipVerify,
		Timeout: c.Timeout, Transport: c.Transport,
	})
}

// All that both drivers of S3 have to do.
func TestWire(t *testing.T) { wiretest.Run(t, open) }
