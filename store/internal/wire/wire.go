// Package wire is what the drivers for S3 stores share: how conditions and
// spans look in HTTP, what an answer means, how long one may take and how long
// it may be. It knows no SDK.
package wire

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/lakeweir/lakeweir/store"
)

// MetaSHA256 is the user metadata that keeps the SHA-256 of a body in
// hexadecimal, for stores that keep no checksum by themselves.
const MetaSHA256 = "sha256"

// MaxBody is the largest object that one PUT can make, and so the largest that
// is read: 5 GiB.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
const MaxBody = 5 << 30

// Place is where the objects of a store are.
type Place struct {
	Driver   string // "s3" or "minio", the word that the configuration uses
	Endpoint string // for people; "" is the service's own
	Bucket   string
	Prefix   string // "" or ends with "/"
}

// NewPlace checks the bucket and the prefix.
func NewPlace(driver, endpoint, bucket, prefix string) (Place, error) {
	p := Place{Driver: driver, Endpoint: endpoint, Bucket: bucket}
	// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
	if len(bucket) < 3 || len(bucket) > 63 || strings.ContainsAny(bucket, "/ \t\n") {
		return p, fmt.Errorf("open %s store: bucket %q: a name has 3 to 63 characters and no slash", driver, bucket)
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		if err := store.CheckKey(prefix); err != nil {
			return p, fmt.Errorf("open %s store: prefix: %w", driver, err)
		}
		p.Prefix = prefix + "/"
	}
	return p, nil
}

// Name returns the object name of a key.
func (p Place) Name(key string) (string, error) {
	if err := store.CheckKey(key); err != nil {
		return "", err
	}
	if n := len(p.Prefix) + len(key); n > store.MaxKey {
		return "", fmt.Errorf("key and prefix together have %d bytes, the limit is %d", n, store.MaxKey)
	}
	return p.Prefix + key, nil
}

// Endpoint checks the address of a store, such as "https://s3.example.com:9000".
// Without a scheme it is https.
func Endpoint(driver, address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("open %s store: the endpoint is not like https://host:port", driver)
	case u.User != nil, u.RawQuery != "", u.Fragment != "", strings.Trim(u.Path, "/") != "":
		return nil, fmt.Errorf("open %s store: the endpoint %s://%s must have a host and a port only", driver, u.Scheme, u.Host)
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// ETag returns the value of an If-Match header, and false for what is no ETag
// of an object: an empty one would be left out, and "*" matches any.
func ETag(etag string) (string, bool) {
	if bare := strings.Trim(etag, `"`); bare == "" || bare == "*" || strings.ContainsFunc(bare, notInHeader) {
		return "", false
	}
	return etag, true
}

func notInHeader(r rune) bool { return r < ' ' || r > '~' || r == '"' }

// Range returns the value of a Range header, "" for the whole body.
// https://www.rfc-editor.org/rfc/rfc9110#name-range
func Range(s store.Span) string {
	switch {
	case s == store.Span{}:
		return ""
	case s.Offset < 0:
		return fmt.Sprintf("bytes=-%d", uint64(-s.Offset)) // may be cut at its end by Part
	case s.Length <= 0 || s.Length > MaxBody:
		return fmt.Sprintf("bytes=%d-", s.Offset)
	default:
		return fmt.Sprintf("bytes=%d-%d", s.Offset, s.Offset+s.Length-1)
	}
}

// Part reads the part of a body that span asked for. length is that of the
// answer, -1 if it does not say, and contentRange its Content-Range, which
// is "" if the whole body came. It returns the size of the whole body too.
func Part(r io.Reader, length int64, contentRange string, span store.Span) (part []byte, size int64, err error) {
	if length > MaxBody {
		return nil, 0, fmt.Errorf("the object has %d bytes, more than one PUT can write", length)
	}
	begin := int64(0)
	size = length
	if length == 0 {
		contentRange = "" // some say "bytes 0--1/0" of an empty object
	}
	if contentRange != "" {
		if begin, size, err = parseContentRange(contentRange); err != nil {
			return nil, 0, err
		}
	}
	body, err := readAll(r, length)
	if err != nil {
		return nil, 0, err
	}
	if contentRange == "" {
		size = int64(len(body))
	}
	from, to := span.Bounds(size)
	if from < begin || to > begin+int64(len(body)) {
		return nil, 0, fmt.Errorf("asked for bytes %d to %d, got %d from %d on", from, to, len(body), begin)
	}
	return body[from-begin : to-begin], size, nil
}

// readAll reads length bytes, or up to MaxBody when length is not known.
func readAll(r io.Reader, length int64) ([]byte, error) {
	if length >= 0 {
		body := make([]byte, length)
		_, err := io.ReadFull(r, body)
		return body, err
	}
	body, err := io.ReadAll(io.LimitReader(r, MaxBody+1))
	if err == nil && len(body) > MaxBody {
		err = errors.New("the object is longer than one PUT can write")
	}
	return body, err
}

// parseContentRange reads "bytes 0-9/100".
func parseContentRange(s string) (begin, size int64, err error) {
	rest, ok := strings.CutPrefix(s, "bytes ")
	bounds, total, ok2 := strings.Cut(rest, "/")
	first, last, ok3 := strings.Cut(bounds, "-")
	if !ok || !ok2 || !ok3 {
		return 0, 0, fmt.Errorf("the answer has the Content-Range %q", s)
	}
	begin, err1 := strconv.ParseInt(first, 10, 64)
	end, err2 := strconv.ParseInt(last, 10, 64)
	size, err3 := strconv.ParseInt(total, 10, 64)
	if errors.Join(err1, err2, err3) != nil || begin < 0 || end < begin || size <= end {
		return 0, 0, fmt.Errorf("the answer has the Content-Range %q", s)
	}
	return begin, size, nil
}

// Sum returns the SHA-256 that an answer tells: that of the store, in base64,
// else that of our user metadata, in hexadecimal. It is nil if there is neither
// or what there is cannot be one, such as the sum of a multipart upload.
func Sum(checksum, meta string) *[sha256.Size]byte {
	if b, err := base64.StdEncoding.DecodeString(checksum); err == nil && len(b) == sha256.Size {
		return (*[sha256.Size]byte)(b)
	}
	if b, err := hex.DecodeString(meta); err == nil && len(b) == sha256.Size {
		return (*[sha256.Size]byte)(b)
	}
	return nil
}

// Check compares a whole body with the SHA-256 that the answer tells. Nothing
// else sees that a digit of a head was changed on its way. A part of a body and
// an object that tells no SHA-256 pass.
func Check(body []byte, span store.Span, sum *[sha256.Size]byte) error {
	if sum == nil || span != (store.Span{}) {
		return nil
	}
	if got := sha256.Sum256(body); got != *sum {
		return fmt.Errorf("%w: its SHA-256 is %x, it was written with %x", store.ErrDamaged, got, *sum)
	}
	return nil
}

// Again calls get once more if the answer broke off or its body was damaged:
// the SDKs do not, once the body has begun.
func Again(ctx context.Context, get func() (store.Object, error)) (store.Object, error) {
	o, err := get()
	if errors.Is(err, errBody) && ctx.Err() == nil {
		o, err = get()
	}
	return o, err
}

// errBody marks a body that did not come, or not as it is.
var errBody = errors.New("no whole answer")

// BadBody explains why a body could not be read.
func (p Place) BadBody(ctx, call context.Context, c Call, err error) error {
	if ctx.Err() != nil || call.Err() != nil {
		return p.Explain(ctx, call, c, Failure{Err: err})
	}
	return answered(0, "%s %s: %s: %w: %w", c.Op, c.Key, p.where(), errBody, err)
}
