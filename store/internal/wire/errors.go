package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/lakeweir/lakeweir/store"
)

// Call is one call to a store, for its errors.
type Call struct {
	Op   string // "get", "stat", "put", "list", "delete"
	Key  string
	Cond store.Cond // of a put
}

// Failure is what is known of a call that failed.
type Failure struct {
	Status  int    // of HTTP, 0 when no answer came
	Code    string // of S3, "" when the answer had none
	Message string // of S3
	Err     error  // what the SDK returned
}

// Explain turns a failure into an error of store, or into one line that tells
// the operator what to do. ctx is the caller's, call the one with the deadline.
func (p Place) Explain(ctx, call context.Context, c Call, f Failure) error {
	return fmt.Errorf("%s %s: %w", c.Op, c.Key, p.explain(ctx, call, c, f))
}

// NoCredentials is the error of a call that could not be signed. how names
// where credentials may come from.
func (p Place) NoCredentials(c Call, how string) error {
	return fmt.Errorf("%s %s: %s: there are no credentials: %s", c.Op, c.Key, p.where(), how)
}

func (p Place) explain(ctx, call context.Context, c Call, f Failure) error {
	switch {
	case f.Status != 0:
		return p.answer(c, f)
	case ctx.Err() != nil:
		return ctx.Err()
	case call.Err() != nil:
		return expired{fmt.Errorf("%s: %w", p.where(), context.Cause(call))}
	default:
		return answered(0, "%s: %w", p.where(), network(f.Err))
	}
}

// answer explains an answer of the store.
func (p Place) answer(c Call, f Failure) error {
	if f.Status == http.StatusNotFound && f.Code == "NoSuchBucket" {
		return fmt.Errorf("%s: there is no such bucket: create it, or correct store", p.where())
	}
	if c.Op == "put" {
		if err := p.putAnswer(c, f); err != nil {
			return err
		}
	} else if c.Op != "list" && f.absent() {
		return store.ErrNotExist
	}
	said := f.said()
	if todo := advice(f); todo != "" {
		return answered(f.Status, "%s: %s: %s", p.where(), said, todo)
	}
	return answered(f.Status, "%s: %s", p.where(), said)
}

// putAnswer returns ErrConflict where a store says by this answer that a
// condition does not hold. They differ: 412 is the rule, 409 is the loser of a
// race, 304 some give for If-None-Match, 404 is If-Match without an object.
func (p Place) putAnswer(c Call, f Failure) error {
	_, match := c.Cond.ETag()
	if !match && !c.Cond.Absent() {
		return nil
	}
	switch f.Status {
	case http.StatusPreconditionFailed, http.StatusConflict, http.StatusNotModified:
		return store.ErrConflict
	case http.StatusNotFound:
		if match && f.absent() {
			return store.ErrConflict
		}
	case http.StatusNotImplemented:
		header := "If-None-Match"
		if match {
			header = "If-Match"
		}
		return fmt.Errorf("%s: the store does not have %s on PUT (%s): %s", p.where(), header, f.said(), useAnother)
	}
	return nil
}

// absent says that an object is not there. Stores answer 404 to other things
// too, such as an access key that they do not know; an answer to HEAD has no
// body to tell.
func (f Failure) absent() bool {
	return f.Status == http.StatusNotFound && (f.Code == "NoSuchKey" || f.Code == "NotFound" || f.Code == "")
}

const useAnother = "use another store, or set single_writer: true if no second writer can ever run"

// advice is what to do about an answer, "" when there is nothing to say.
func advice(f Failure) string {
	switch f.Code {
	case "InvalidAccessKeyId", "InvalidToken", "ExpiredToken", "TokenRefreshRequired", "InvalidClientTokenId":
		return "the store does not know the access key, or it has expired: check the credentials"
	case "SignatureDoesNotMatch":
		return "the secret key is wrong: check the credentials (and the region)"
	case "RequestTimeTooSkewed":
		return "the clock of this machine is wrong: set it"
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException":
		return "the bucket is in another region: set s3.region"
	case "BadDigest", "XAmzContentChecksumMismatch", "InvalidDigest", "XAmzContentSHA256Mismatch":
		return "the body was damaged on its way: look for a faulty proxy or memory"
	case "InvalidBucketName":
		return "correct the bucket in store"
	}
	switch {
	case f.Status == http.StatusForbidden || f.Status == http.StatusUnauthorized:
		return "access is denied: check the credentials and the policy (GetObject, PutObject, ListBucket, DeleteObject on the bucket and prefix)"
	case f.Status >= 300 && f.Status < 400:
		return "the bucket is elsewhere: check s3.endpoint and s3.region"
	case f.Status == http.StatusRequestEntityTooLarge:
		return "a smaller batch.max_bytes makes smaller objects"
	case f.Status == http.StatusTooManyRequests || f.Status >= 500:
		return "the store is busy or failing"
	}
	return ""
}

// NoChecksum says that a store may have refused a PUT because of its
// x-amz-checksum-sha256 header, which some do not know. A body that is not what
// the header says is another thing.
func (f Failure) NoChecksum() bool {
	switch f.Code {
	case "BadDigest", "XAmzContentChecksumMismatch", "InvalidDigest", "InvalidBucketName", "RequestTimeout", "ExpiredToken":
		return false
	}
	return f.Status == http.StatusBadRequest || f.Status == http.StatusNotImplemented
}

// Expired says that the credentials were good once.
func (f Failure) Expired() bool {
	return f.Code == "ExpiredToken" || f.Code == "TokenRefreshRequired"
}

// said is what the store said, in one line.
func (f Failure) said() string {
	s := fmt.Sprintf("HTTP %d %s", f.Status, f.Code)
	if f.Code == "" {
		s = fmt.Sprintf("HTTP %d %s", f.Status, http.StatusText(f.Status))
	}
	if f.Message != "" {
		s += " (" + oneLine(f.Message) + ")"
	}
	return strings.TrimSpace(s)
}

// where names the place without anything secret.
func (p Place) where() string {
	if p.Endpoint == "" {
		return fmt.Sprintf("%s bucket %s", p.Driver, p.Bucket)
	}
	return fmt.Sprintf("%s bucket %s at %s", p.Driver, p.Bucket, p.Endpoint)
}

// network explains why no answer came. The outcome of a write is unknown.
func network(err error) error {
	var cert *tls.CertificateVerificationError
	var dns *net.DNSError
	var dial *net.OpError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &cert):
		return fmt.Errorf("its certificate is not trusted: %s: set s3.ca", oneLine(cert.Err.Error()))
	case errors.As(err, &record), strings.HasSuffix(err.Error(), "server gave HTTP response to HTTPS client"):
		return errors.New("it does not speak TLS: is the endpoint http://?")
	case errors.As(err, &dns):
		return fmt.Errorf("cannot find the host %s: check the address of the store", dns.Name)
	case errors.As(err, &dial) && dial.Op == "dial":
		return fmt.Errorf("cannot reach it: %s: check its address, and that the store runs", oneLine(dial.Err.Error()))
	}
	return fmt.Errorf("no whole answer: %s", oneLine(innermost(err)))
}

// innermost leaves out what the layers around an error of the network say,
// among them URLs.
func innermost(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}

// oneLine cuts a text of others to one line of a bearable length.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "..."
	}
	return s
}

// IgnoreAbsent drops ErrNotExist: some stores answer a DELETE by 404.
func IgnoreAbsent(err error) error {
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	return err
}
