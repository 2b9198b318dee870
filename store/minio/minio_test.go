package minio_test

import (
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/fakes3"
	"github.com/lakeweir/lakeweir/store/minio"
	"github.com/lakeweir/lakeweir/store/storetest"
)

// open opens the bucket of a fake server, with changes to the configuration.
func open(t *testing.T, f *fakes3.Server, change func(*minio.Config)) *minio.Store {
	t.Helper()
	c := minio.Config{
		Endpoint: f.Start(t), Bucket: fakes3.Bucket, Region: "us-east-1",
		AccessKey: "AKIDTEST", SecretKey: "SECRETTEST1234567890",
	}
	if change != nil {
		change(&c)
	}
	s, err := minio.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The whole contract, with lists in small pages.
func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		return open(t, &fakes3.Server{PageSize: 7}, nil)
	})
}

// The same under a prefix, on a server that keeps no checksums.
func TestContractPrefix(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		return open(t, &fakes3.Server{NoChecksum: true}, func(c *minio.Config) { c.Prefix = "raw data/x/" })
	})
}
