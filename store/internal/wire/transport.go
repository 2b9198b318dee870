package wire

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// maxAnswer bounds what is not the body of an object: lists and errors. A page
// of 1000 keys of 1024 bytes, each byte escaped, stays below it.
const maxAnswer = 16 << 20

// Transport returns a transport that trusts the certificates in caFile beside
// those of the system (caFile may be ""), or any certificate with skipVerify.
func Transport(driver, caFile string, skipVerify bool) (http.RoundTripper, error) {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		MaxIdleConnsPerHost:   64,               // a writer for each of many partitions, one host
		IdleConnTimeout:       15 * time.Second, // before stores close them: a PUT on one that is closed has an unknown outcome
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // ETags and sizes are of the bytes as they are
		TLSClientConfig:       &tls.Config{InsecureSkipVerify: skipVerify},
	}
	if caFile == "" {
		return t, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("open %s store: read certificates: %w", driver, err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("open %s store: %s has no certificates in PEM form", driver, caFile)
	}
	t.TLSClientConfig.RootCAs = pool
	return t, nil
}

// Guard wraps a transport so that an answer which is no object cannot fill the
// memory, and so that a PUT counts as done only on a clear answer.
func Guard(next http.RoundTripper) http.RoundTripper { return guarded{next} }

type guarded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	object := r.Method == http.MethodGet && resp.StatusCode < 300 && !r.URL.Query().Has("list-type")
	if !object {
		resp.Body = &limitedBody{resp.Body, maxAnswer}
	}
	if r.Method == http.MethodPut && r.Header.Get("X-Amz-Meta-"+MetaSHA256) != "" && resp.StatusCode < 300 {
		return unclear(resp)
	}
	return resp, nil
}

// unclear turns a success that is none into a failure, before an SDK believes
// it. Stores and proxies that must answer before they know the outcome say 200
// and put the error into the body; S3 itself does so for some calls. A true
// success names the ETag and has no error in its body.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html
func unclear(resp *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	failed := bytes.Contains(body, []byte("<Error>"))
	if failed || resp.Header.Get("ETag") == "" {
		resp.StatusCode, resp.Status = http.StatusBadGateway, "502 Bad Gateway"
		if !failed {
			body = []byte("<Error><Code>InternalError</Code><Message>the answer to a PUT has no ETag</Message></Error>")
		}
		resp.Header.Set("Content-Type", "application/xml")
		resp.ContentLength = int64(len(body))
		resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

type limitedBody struct {
	io.ReadCloser
	left int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the answer is longer than any list or error")
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
