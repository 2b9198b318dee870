// Package gateway runs an S3 server inside the process of a test: versitygw
// over a directory.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

// The only account of the gateway, and its region.
const (
	AccessKey = "AKIDTEST"
	SecretKey = "SECRETTEST1234567890"
	Region    = "us-east-1"
)

// startTime is how long the gateway may take to listen; it needs some 50 ms.
const startTime = 30 * time.Second

// Gateway is a running server. One at a time can run in a process.
type Gateway struct {
	Endpoint string // "http://127.0.0.1:port"

	cancel  context.CancelFunc
	done    chan error
	buckets atomic.Int64
}

// Start runs a gateway whose buckets are folders of dir, on a free port of
// 127.0.0.1. The file system of dir must have extended attributes.
func Start(dir string) (*Gateway, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	be, err := posix.New(dir, meta.XattrMeta{}, posix.PosixOpts{NewDirPerm: 0o755, NewFilePerm: 0o644})
	if err != nil {
		return nil, fmt.Errorf("start gateway: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &Gateway{Endpoint: "http://" + addr, cancel: cancel, done: make(chan error, 1)}
	go func() {
		g.done <- embedgw.RunVersityGW(ctx, be, &embedgw.Config{
			RootUserAccess: AccessKey, RootUserSecret: SecretKey, Region: Region,
			Ports: []string{addr}, MaxConnections: 4096, MaxRequests: 4096, MultipartMaxParts: 10000,
			KeepAlive: true, Quiet: true,
		})
	}()
	if err := g.await(addr); err != nil {
		g.cancel()
		return nil, err
	}
	return g, nil
}

// freeAddr finds a free port, since the gateway does not take port 0.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// await returns when the gateway listens.
func (g *Gateway) await(addr string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(startTime)
	for {
		if c, err := net.Dial("tcp", addr); err == nil {
			return c.Close()
		}
		select {
		case err := <-g.done:
			return fmt.Errorf("start gateway: it ended: %w", err)
		case <-late:
			return errors.New("start gateway: it does not listen")
		case <-tick.C:
		}
	}
}

// Stop ends the gateway.
func (g *Gateway) Stop() {
	g.cancel()
	<-g.done
}

// Bucket makes a new bucket and returns its name.
func (g *Gateway) Bucket(ctx context.Context) (string, error) {
	c, err := minio.New(strings.TrimPrefix(g.Endpoint, "http://"), &minio.Options{
		Creds:  credentials.NewStaticV4(AccessKey, SecretKey, ""),
		Region: Region, BucketLookup: minio.BucketLookupPath,
	})
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("lake-%d", g.buckets.Add(1))
	if err := c.MakeBucket(ctx, name, minio.MakeBucketOptions{}); err != nil {
		return "", fmt.Errorf("make bucket %s: %w", name, err)
	}
	return name, nil
}
