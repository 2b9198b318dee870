// Package minio is a store.Store in a bucket of MinIO or a store that speaks
// its protocol, through minio-go. It is the only package that imports minio-go.
//
// How it differs from the plain client, and why:
//
//   - Multipart uploads are off: above 16 MiB minio-go would drop the condition
//     of a PUT without a word.
//   - A PUT under If-Match is sent once. minio-go would send it again after a
//     lost answer and report the conflict with its own success.
//   - The SHA-256 of the body is computed once, sent as x-amz-checksum-sha256
//     for the store to check, and kept as user metadata for stores that do
//     neither. The payload is not signed, which would hash it again. The
//     automatic checksum of minio-go sends nothing at all on a single PUT.
//   - A store that refuses the header of the checksum is written to without it.
//   - A body that is read is compared with the SHA-256 in the user metadata: a
//     digit of a head that was changed on its way would pass all else.
//   - A PUT is done on a clear answer only: an ETag and no error in the body.
//   - A request is sent three times at the most. The callers try again with
//     growing pauses, and the product of both is what a failing store gets.
//   - Answers are understood by their HTTP status, since the codes of stores
//     differ.
package minio

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/wire"
)

// Config says where the bucket is and who asks.
type Config struct {
	Endpoint string // "http://localhost:9000"; without a scheme it is https
	Bucket   string
	Prefix   string // of all object names, without a slash at either end; may be empty
	Region   string // "" is us-east-1

	// VirtualHost puts the bucket into the host name rather than into the path.
	VirtualHost bool

	// AccessKey, SecretKey and SessionToken are fixed credentials. When
	// AccessKey is empty the environment decides: MINIO_ROOT_USER and
	// MINIO_ROOT_PASSWORD, MINIO_ACCESS_KEY and MINIO_SECRET_KEY, or the
	// variables of AWS.
	AccessKey, SecretKey, SessionToken string

	CAFile     string // certificates to trust, PEM; beside those of the system
	SkipVerify bool   // trust any certificate: for tests

	// Timeout of a call, 0 is 60 s. A body adds a second for each MiB.
	Timeout time.Duration

	// Transport carries the requests in place of the network, for tests. With
	// it CAFile and SkipVerify mean nothing.
	Transport http.RoundTripper
}

// Store is a bucket, or the part of one under a prefix.
type Store struct {
	clients         // for all requests, unless the store refuses checksum headers
	bare    clients // for PUTs, if it does; our checksum is user metadata too
	isBare  atomic.Bool

	place   wire.Place
	timeout time.Duration
}

// clients send a request up to wire.Tries times, or once: for If-Match.
type clients struct{ client, once minio.Core }

// New prepares the store. It sends no request to it.
func New(_ context.Context, c Config) (*Store, error) {
	u, err := wire.Endpoint("minio", c.Endpoint)
	if err != nil {
		return nil, err
	}
	place, err := wire.NewPlace("minio", u.String(), c.Bucket, c.Prefix)
	if err != nil {
		return nil, err
	}
	transport := c.Transport
	if transport == nil {
		if transport, err = wire.Transport("minio", c.CAFile, c.SkipVerify); err != nil {
			return nil, err
		}
	}
	creds, err := credentialsOf(c)
	if err != nil {
		return nil, err
	}
	o := minio.Options{
		Creds:        creds,
		Secure:       u.Scheme == "https",
		Transport:    wire.Guard(transport),
		Region:       c.Region,
		BucketLookup: minio.BucketLookupPath,
	}
	if c.Region == "" {
		o.Region = "us-east-1" // else each client asks the store first
	}
	if c.VirtualHost {
		o.BucketLookup = minio.BucketLookupDNS
	}
	s := &Store{place: place, timeout: c.Timeout}
	// Without TrailingHeaders minio-go refuses checksums, also those in a header.
	// With them and a checksum in a header it sends no trailer; without a
	// checksum it adds its own.
	for _, c := range []*clients{&s.clients, &s.bare} {
		o.TrailingHeaders = c == &s.clients
		for client, tries := range map[*minio.Core]int{&c.client: wire.Tries, &c.once: 1} {
			o.MaxRetries = tries
			if client.Client, err = minio.New(u.Host, &o); err != nil {
				return nil, fmt.Errorf("open minio store: %w", err)
			}
		}
	}
	return s, nil
}

func credentialsOf(c Config) (*credentials.Credentials, error) {
	if c.AccessKey != "" {
		return credentials.NewStaticV4(c.AccessKey, c.SecretKey, c.SessionToken), nil
	}
	creds := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvMinio{}, &credentials.EnvAWS{}})
	// minio-go would go on without a signature.
	if v, err := creds.GetWithContext(&credentials.CredContext{}); err != nil || v.AccessKeyID == "" {
		return nil, fmt.Errorf("open minio store: there are no credentials: set MINIO_ROOT_USER and MINIO_ROOT_PASSWORD, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	return creds, nil
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	name, err := s.name(ctx, key)
	if err != nil {
		return store.Object{}, fmt.Errorf("get %s: %w", key, err)
	}
	return wire.Again(ctx, func() (store.Object, error) { return s.get(ctx, key, name, span) })
}

func (s *Store) get(ctx context.Context, key, name string, span store.Span) (store.Object, error) {
	call, deadline := wire.Start(ctx, s.timeout, 0)
	defer deadline.Stop()
	var o minio.GetObjectOptions
	if r := wire.Range(span); r != "" {
		o.Set("Range", r)
	}
	body, info, header, err := s.client.GetObject(call, s.place.Bucket, name, o)
	if err != nil {
		f := failure(err)
		if f.Status == http.StatusRequestedRangeNotSatisfiable {
			return s.none(ctx, key) // the span lies beyond the end
		}
		return store.Object{}, s.place.Explain(ctx, call, wire.Call{Op: "get", Key: key}, f)
	}
	defer body.Close()
	deadline.Extend(info.Size)
	i := infoOf(key, info)
	part, size, err := wire.Part(body, info.Size, header.Get("Content-Range"), span)
	if err == nil {
		err = wire.Check(part, span, i.SHA256)
	}
	if err != nil {
		return store.Object{}, s.place.BadBody(ctx, call, wire.Call{Op: "get", Key: key}, err)
	}
	i.Size = size
	return store.Object{Info: i, Body: part}, nil
}

// none is the empty part of an object.
func (s *Store) none(ctx context.Context, key string) (store.Object, error) {
	i, err := s.Stat(ctx, key)
	return store.Object{Info: i, Body: []byte{}}, err
}

// Stat implements store.Store.
func (s *Store) Stat(ctx context.Context, key string) (store.Info, error) {
	name, err := s.name(ctx, key)
	if err != nil {
		return store.Info{}, fmt.Errorf("stat %s: %w", key, err)
	}
	call, deadline := wire.Start(ctx, s.timeout, 0)
	defer deadline.Stop()
	info, err := s.client.StatObject(call, s.place.Bucket, name, minio.StatObjectOptions{Checksum: true})
	if err != nil {
		return store.Info{}, s.place.Explain(ctx, call, wire.Call{Op: "stat", Key: key}, failure(err))
	}
	return infoOf(key, info), nil
}

// infoOf is what an answer says of an object. minio-go makes the names of
// metadata canonical.
func infoOf(key string, o minio.ObjectInfo) store.Info {
	return store.Info{
		Key: key, Size: o.Size, ETag: o.ETag, Modified: o.LastModified,
		SHA256: wire.Sum(o.ChecksumSHA256, o.UserMetadata[http.CanonicalHeaderKey(wire.MetaSHA256)]),
	}
}

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	name, err := s.name(ctx, key)
	if err == nil {
		err = cond.Err()
	}
	if err != nil {
		return store.Info{}, fmt.Errorf("put %s: %w", key, err)
	}
	sum := sha256.Sum256(body)
	o := minio.PutObjectOptions{
		DisableMultipart:     true,
		DisableContentSha256: true,
		UserMetadata: map[string]string{
			checksum:        base64.StdEncoding.EncodeToString(sum[:]),
			wire.MetaSHA256: hex.EncodeToString(sum[:]),
		},
	}
	once := false
	if etag, ok := cond.ETag(); ok {
		if etag, ok = wire.ETag(etag); !ok {
			return store.Info{}, fmt.Errorf("put %s: no object has the ETag %q: %w", key, etag, store.ErrConflict)
		}
		o.SetMatchETag(strings.Trim(etag, `"`)) // which adds quotes
		once = true
	}
	if cond.Absent() {
		o.SetMatchETagExcept("*")
	}
	call, deadline := wire.Start(ctx, s.timeout, int64(len(body)))
	defer deadline.Stop()
	up, err := s.put(call, name, body, once, o)
	if err != nil {
		return store.Info{}, s.place.Explain(ctx, call, wire.Call{Op: "put", Key: key, Cond: cond}, failure(err))
	}
	return store.Info{Key: key, Size: int64(len(body)), ETag: up.ETag, SHA256: &sum, Modified: time.Now()}, nil
}

// checksum is the header that the store compares the body with.
const checksum = "x-amz-checksum-sha256"

// put sends a PUT, without the header of the checksum to a store that refuses it.
func (s *Store) put(ctx context.Context, name string, body []byte, once bool, o minio.PutObjectOptions) (minio.UploadInfo, error) {
	send := func(c clients) (minio.UploadInfo, error) {
		client := c.client
		if once {
			client = c.once
		}
		return client.Client.PutObject(ctx, s.place.Bucket, name, bytes.NewReader(body), int64(len(body)), o)
	}
	if !s.isBare.Load() {
		if up, err := send(s.clients); err == nil || !failure(err).NoChecksum() {
			return up, err
		}
	}
	delete(o.UserMetadata, checksum)
	up, err := send(s.bare)
	if err == nil || !failure(err).NoChecksum() {
		s.isBare.Store(true)
	}
	return up, err
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	name, err := s.name(ctx, key)
	if err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	call, deadline := wire.Start(ctx, s.timeout, 0)
	defer deadline.Stop()
	if err = s.client.RemoveObject(call, s.place.Bucket, name, minio.RemoveObjectOptions{}); err == nil {
		return nil
	}
	return wire.IgnoreAbsent(s.place.Explain(ctx, call, wire.Call{Op: "delete", Key: key}, failure(err)))
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		l := &wire.Lister{Place: s.place, Prefix: prefix, After: after}
		call, deadline := wire.Start(ctx, s.timeout, 0)
		defer deadline.Stop() // which ends the list too, as minio-go asks for
		explain := func(err error) {
			yield(store.Info{}, s.place.Explain(ctx, call, wire.Call{Op: "list", Key: prefix}, failure(err)))
		}
		for o := range s.client.ListObjectsIter(call, s.place.Bucket, minio.ListObjectsOptions{
			Prefix: s.place.Prefix + prefix, Recursive: true, StartAfter: l.StartAfter(),
		}) {
			if o.Err != nil {
				explain(o.Err)
				return
			}
			key, ok, err := l.Key(o.Key)
			if err != nil {
				yield(store.Info{}, fmt.Errorf("list %s: %w", prefix, err))
				return
			}
			i := store.Info{Key: key, Size: o.Size, ETag: o.ETag, Modified: o.LastModified}
			deadline.Hold()
			if ok && !yield(i, nil) {
				return
			}
			deadline.Extend(0) // for the page that may have to come
		}
		if err := call.Err(); err != nil {
			explain(err) // minio-go may end without a word
		}
	}
}

// name returns the object name of a key.
func (s *Store) name(ctx context.Context, key string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return s.place.Name(key)
}

// failure takes an error of minio-go apart.
func failure(err error) wire.Failure {
	answer := minio.ToErrorResponse(err)
	if answer.StatusCode < 300 {
		return wire.Failure{Err: err} // minio-go invents codes for what is no answer
	}
	return wire.Failure{Status: answer.StatusCode, Code: answer.Code, Message: answer.Message, Err: err}
}
