package sink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/dir"
	"github.com/lakeweir/lakeweir/store/minio"
	"github.com/lakeweir/lakeweir/store/s3"
)

// OpenStore opens the store that the settings name, at the folder of all
// tables.
func OpenStore(ctx context.Context, s *settings.Settings) (store.Store, error) {
	l, err := settings.ParseLocation(s.Store)
	if err != nil {
		return nil, err
	}
	opened, err := open(ctx, l, s.S3)
	if err != nil {
		return nil, err
	}
	if s.SingleWriter {
		opened = store.SingleWriter(opened)
	}
	return opened, nil
}

// OpenExisting is OpenStore for who only reads: it makes no directory.
func OpenExisting(ctx context.Context, s *settings.Settings) (store.Store, error) {
	l, err := settings.ParseLocation(s.Store)
	if err != nil {
		return nil, err
	}
	if l.Driver == "dir" {
		if info, err := os.Stat(l.Path); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil, fmt.Errorf("store %s: there is no such directory: check the path", s.Store)
		}
	}
	return OpenStore(ctx, s)
}

func open(ctx context.Context, l settings.Location, c settings.S3) (store.Store, error) {
	prefix := strings.TrimSuffix(l.Prefix, "/")
	switch l.Driver {
	case "s3":
		return s3.New(ctx, s3.Config{
			Bucket: l.Bucket, Prefix: prefix, Region: c.Region, Endpoint: c.Endpoint, PathStyle: c.PathStyle,
			AccessKey: c.AccessKey, SecretKey: c.SecretKey, CAFile: c.CA, SkipVerify: c.InsecureSkipVerify,
		})
	case "minio":
		scheme := "http://"
		if l.TLS || c.TLS {
			scheme = "https://"
		}
		virtual := c.PathStyle != nil && !*c.PathStyle
		return minio.New(ctx, minio.Config{
			Bucket: l.Bucket, Prefix: prefix, Region: c.Region, Endpoint: scheme + l.Endpoint, VirtualHost: virtual,
			AccessKey: c.AccessKey, SecretKey: c.SecretKey, CAFile: c.CA, SkipVerify: c.InsecureSkipVerify,
		})
	}
	return dir.New(ctx, dir.Config{Root: l.Path})
}

// bucketMaker is a driver that can create the bucket that it was opened for.
type bucketMaker interface {
	// CreateBucket creates the bucket. One that this user has already is no
	// error.
	CreateBucket(ctx context.Context) error
}

// CreateBucket creates the bucket of the store if it does not exist. A store
// without buckets is left as it is.
func CreateBucket(ctx context.Context, s *settings.Settings) error {
	l, err := settings.ParseLocation(s.Store)
	if err != nil {
		return err
	}
	opened, err := open(ctx, l, s.S3)
	if err != nil {
		return err
	}
	if b, ok := opened.(bucketMaker); ok {
		return b.CreateBucket(ctx)
	}
	return nil
}
