// Package s3 is a store.Store in a bucket of Amazon S3 or of a store that
// speaks its protocol, through the AWS SDK. It is the only package that imports
// the SDK.
//
// How it differs from the plain SDK, and why:
//
//   - An object is one PUT, never a multipart upload: the condition of a
//     multipart upload is checked by few stores, and the size is known.
//   - A PUT under If-Match is sent once. The SDK would send it again after a
//     lost answer and report the conflict with its own success.
//   - The SHA-256 of the body is computed once, sent as x-amz-checksum-sha256
//     for the store to check, and kept as user metadata for stores that do
//     neither. The payload is not signed, which would hash it again.
//   - A store that refuses the header of the checksum is written to without it.
//   - A body that is read is compared with the SHA-256 in the user metadata: a
//     digit of a head that was changed on its way would pass all else.
//   - A PUT is done on a clear answer only: an ETag and no error in the body.
//   - A request is sent three times at the most. The callers try again with
//     growing pauses, and the product of both is what a failing store gets.
//   - Answers are understood by their HTTP status, since the codes of stores
//     differ.
package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"iter"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/logging"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/wire"
)

// Config says where the bucket is and who asks.
type Config struct {
	Bucket string
	Prefix string // of all object names, without a slash at either end; may be empty

	// Endpoint is the address of a store other than Amazon's, such as
	// "http://localhost:9000"; without a scheme it is https. When it is empty
	// the AWS configuration (AWS_ENDPOINT_URL_S3) decides.
	Endpoint string

	// Region of the bucket. When it is empty the AWS configuration decides
	// (AWS_REGION, profile), and then us-east-1 if there is an endpoint.
	Region string

	// PathStyle puts the bucket into the path rather than into the host name.
	// Nil is path style for another endpoint and host style for Amazon's own.
	PathStyle *bool

	// AccessKey, SecretKey and SessionToken are fixed credentials. When
	// AccessKey is empty the usual chain of AWS decides: environment, profile,
	// web identity, container, instance.
	AccessKey, SecretKey, SessionToken string

	CAFile     string // certificates to trust, PEM; beside those of the system; empty is AWS_CA_BUNDLE
	SkipVerify bool   // trust any certificate: for tests

	// Timeout of a call, 0 is 60 s. A body adds a second for each MiB.
	Timeout time.Duration

	// Transport carries the requests in place of the network, for tests. With
	// it CAFile and SkipVerify mean nothing.
	Transport http.RoundTripper
}

// Store is a bucket, or the part of one under a prefix.
type Store struct {
	client  *s3.Client
	place   wire.Place
	timeout time.Duration
	bare    atomic.Bool // the store refuses checksum headers; ours is user metadata too
}

// New prepares the store. It sends no request to it.
func New(ctx context.Context, c Config) (*Store, error) {
	place, err := wire.NewPlace("s3", "", c.Bucket, c.Prefix)
	if err != nil {
		return nil, err
	}
	transport := c.Transport
	if transport == nil {
		caFile := c.CAFile
		if caFile == "" {
			caFile = os.Getenv("AWS_CA_BUNDLE")
		}
		if transport, err = wire.Transport("s3", caFile, c.SkipVerify); err != nil {
			return nil, err
		}
	}
	cfg, err := awsConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.HTTPClient = &http.Client{Transport: wire.Guard(transport), CheckRedirect: noRedirect}
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		o.RetryMaxAttempts = wire.Tries
		o.DisableLogOutputChecksumValidationSkipped = true
		// An endpoint of AWS_ENDPOINT_URL_S3 is known only here.
		o.UsePathStyle = o.BaseEndpoint != nil
		if c.PathStyle != nil {
			o.UsePathStyle = *c.PathStyle
		}
		if o.Region == "" && o.BaseEndpoint != nil {
			o.Region = "us-east-1"
		}
	})
	o := client.Options()
	if o.Region == "" {
		return nil, fmt.Errorf("open s3 store: the region of bucket %s is not known: set s3.region, or AWS_REGION", c.Bucket)
	}
	place.Endpoint = aws.ToString(o.BaseEndpoint)
	return &Store{client: client, place: place, timeout: c.Timeout}, nil
}

// noRedirect leaves a redirect to be explained: the region is wrong, and a
// signature is not valid for another host.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func awsConfig(ctx context.Context, c Config) (aws.Config, error) {
	// What the SDK would log comes back as errors, or is of no use to anyone.
	opts := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})}
	if c.Region != "" {
		opts = append(opts, config.WithRegion(c.Region))
	}
	if c.AccessKey != "" {
		fixed := credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey, c.SessionToken)
		opts = append(opts, config.WithCredentialsProvider(fixed))
	}
	if c.Endpoint != "" {
		u, err := wire.Endpoint("s3", c.Endpoint)
		if err != nil {
			return aws.Config{}, err
		}
		opts = append(opts, config.WithBaseEndpoint(u.String()))
	}
	cfg, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("open s3 store: read the AWS configuration: %w", err)
	}
	return cfg, nil
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
	in := &s3.GetObjectInput{Bucket: &s.place.Bucket, Key: &name}
	if r := wire.Range(span); r != "" {
		in.Range = &r
	}
	out, err := s.client.GetObject(call, in)
	if err != nil {
		if failure(err).Status == http.StatusRequestedRangeNotSatisfiable {
			return s.none(ctx, key) // the span lies beyond the end
		}
		return store.Object{}, s.explain(ctx, call, wire.Call{Op: "get", Key: key}, err)
	}
	defer out.Body.Close()
	length := int64(-1)
	if out.ContentLength != nil {
		length = *out.ContentLength
	}
	deadline.Extend(length)
	sum := wire.Sum("", out.Metadata[wire.MetaSHA256])
	body, size, err := wire.Part(out.Body, length, aws.ToString(out.ContentRange), span)
	if err == nil {
		err = wire.Check(body, span, sum)
	}
	if err != nil {
		return store.Object{}, s.place.BadBody(ctx, call, wire.Call{Op: "get", Key: key}, err)
	}
	return store.Object{Body: body, Info: store.Info{
		Key: key, Size: size, ETag: aws.ToString(out.ETag), Modified: aws.ToTime(out.LastModified), SHA256: sum,
	}}, nil
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
	out, err := s.client.HeadObject(call, &s3.HeadObjectInput{
		Bucket: &s.place.Bucket, Key: &name, ChecksumMode: types.ChecksumModeEnabled,
	})
	if err != nil {
		return store.Info{}, s.explain(ctx, call, wire.Call{Op: "stat", Key: key}, err)
	}
	return store.Info{
		Key: key, Size: aws.ToInt64(out.ContentLength), ETag: aws.ToString(out.ETag), Modified: aws.ToTime(out.LastModified),
		SHA256: wire.Sum(aws.ToString(out.ChecksumSHA256), out.Metadata[wire.MetaSHA256]),
	}, nil
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
	in := &s3.PutObjectInput{
		Bucket: &s.place.Bucket, Key: &name, Body: bytes.NewReader(body),
		ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(sum[:])),
		Metadata:       map[string]string{wire.MetaSHA256: hex.EncodeToString(sum[:])},
	}
	opts := []func(*s3.Options){s3.WithAPIOptions(v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware)}
	if etag, ok := cond.ETag(); ok {
		if etag, ok = wire.ETag(etag); !ok {
			return store.Info{}, fmt.Errorf("put %s: no object has the ETag %q: %w", key, etag, store.ErrConflict)
		}
		in.IfMatch = &etag
		opts = append(opts, func(o *s3.Options) { o.Retryer = aws.NopRetryer{} })
	}
	if cond.Absent() {
		in.IfNoneMatch = aws.String("*")
	}
	call, deadline := wire.Start(ctx, s.timeout, int64(len(body)))
	defer deadline.Stop()
	out, err := s.put(call, in, body, opts)
	if err != nil {
		return store.Info{}, s.explain(ctx, call, wire.Call{Op: "put", Key: key, Cond: cond}, err)
	}
	return store.Info{
		Key: key, Size: int64(len(body)), ETag: aws.ToString(out.ETag), SHA256: &sum, Modified: time.Now(),
	}, nil
}

// put sends a PUT, without the header of the checksum to a store that refuses it.
func (s *Store) put(ctx context.Context, in *s3.PutObjectInput, body []byte, opts []func(*s3.Options)) (*s3.PutObjectOutput, error) {
	if s.bare.Load() {
		in.ChecksumSHA256 = nil
	}
	out, err := s.client.PutObject(ctx, in, opts...)
	if in.ChecksumSHA256 == nil || !failure(err).NoChecksum() {
		return out, err
	}
	in.ChecksumSHA256, in.Body = nil, bytes.NewReader(body)
	if out, err = s.client.PutObject(ctx, in, opts...); !failure(err).NoChecksum() {
		s.bare.Store(true)
	}
	return out, err
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	name, err := s.name(ctx, key)
	if err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	call, deadline := wire.Start(ctx, s.timeout, 0)
	defer deadline.Stop()
	if _, err = s.client.DeleteObject(call, &s3.DeleteObjectInput{Bucket: &s.place.Bucket, Key: &name}); err == nil {
		return nil
	}
	return wire.IgnoreAbsent(s.explain(ctx, call, wire.Call{Op: "delete", Key: key}, err))
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		l := &wire.Lister{Place: s.place, Prefix: prefix, After: after}
		in := &s3.ListObjectsV2Input{Bucket: &s.place.Bucket}
		if p := s.place.Prefix + prefix; p != "" {
			in.Prefix = &p
		}
		if start := l.StartAfter(); start != "" {
			in.StartAfter = &start
		}
		for more := true; more; {
			page, err := s.page(ctx, in)
			if err != nil {
				yield(store.Info{}, err)
				return
			}
			if !yieldPage(l, page, yield) {
				return
			}
			in.ContinuationToken = page.NextContinuationToken
			more = aws.ToBool(page.IsTruncated) && in.ContinuationToken != nil
		}
	}
}

func (s *Store) page(ctx context.Context, in *s3.ListObjectsV2Input) (*s3.ListObjectsV2Output, error) {
	call, deadline := wire.Start(ctx, s.timeout, 0)
	defer deadline.Stop()
	page, err := s.client.ListObjectsV2(call, in)
	if err != nil {
		return nil, s.explain(ctx, call, wire.Call{Op: "list", Key: aws.ToString(in.Prefix)}, err)
	}
	return page, nil
}

// yieldPage yields a page and reports whether to go on.
func yieldPage(l *wire.Lister, page *s3.ListObjectsV2Output, yield func(store.Info, error) bool) bool {
	for _, o := range page.Contents {
		key, ok, err := l.Key(aws.ToString(o.Key))
		if err != nil {
			yield(store.Info{}, fmt.Errorf("list %s: %w", l.Prefix, err))
			return false
		}
		i := store.Info{Key: key, Size: aws.ToInt64(o.Size), ETag: aws.ToString(o.ETag), Modified: aws.ToTime(o.LastModified)}
		if ok && !yield(i, nil) {
			return false
		}
	}
	return true
}

// name returns the object name of a key.
func (s *Store) name(ctx context.Context, key string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return s.place.Name(key)
}
