package wirefault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// errReset is what the network says of a broken connection.
var errReset = errors.New("read tcp: connection reset by peer")

// meet carries out one request with one fault.
func (t *Transport) meet(r *http.Request, k Kind) (*http.Response, error) {
	switch k {
	case LostAnswer:
		return t.lose(r)
	case ResetRequest:
		return t.cutBody(r)
	case Stall:
		return stall(r)
	case Late:
		return t.delay(r)
	case Internal:
		return refuse(r, http.StatusInternalServerError, "InternalError")
	case SlowDown:
		return refuse(r, http.StatusServiceUnavailable, "SlowDown")
	case Expired:
		return refuse(r, http.StatusForbidden, "ExpiredToken")
	case Conflict:
		return refuse(r, http.StatusConflict, "ConditionalRequestConflict")
	case NotMet:
		return refuse(r, http.StatusPreconditionFailed, "PreconditionFailed")
	case FalseOK:
		return refuse(r, http.StatusOK, "InternalError")
	case Arrived500:
		return t.deny(r, http.StatusInternalServerError, "InternalError")
	case OwnConflict:
		return t.deny(r, http.StatusPreconditionFailed, "PreconditionFailed")
	case FalseOKDone:
		return t.deny(r, http.StatusOK, "InternalError")
	case ResetAnswer, StallAnswer, WrongByte, Shorter, Longer:
		return t.spoil(r, k)
	}
	return t.next().RoundTrip(r)
}

func (t *Transport) next() http.RoundTripper {
	if t.Next == nil {
		return http.DefaultTransport
	}
	return t.Next
}

// lose lets the request arrive and drops its answer.
func (t *Transport) lose(r *http.Request) (*http.Response, error) {
	if err := t.arrive(r); err != nil {
		return nil, err
	}
	return nil, errReset
}

// deny lets the request arrive and answers another thing.
func (t *Transport) deny(r *http.Request, status int, code string) (*http.Response, error) {
	if err := t.arrive(r); err != nil {
		return nil, err
	}
	return answer(r, status, code), nil
}

func (t *Transport) arrive(r *http.Request) error {
	resp, err := t.next().RoundTrip(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return err
}

// cutBody sends half of the body and then breaks the connection.
func (t *Transport) cutBody(r *http.Request) (*http.Response, error) {
	half := r.Clone(r.Context())
	half.Body = &broken{ReadCloser: r.Body, left: r.ContentLength / 2, end: errReset}
	resp, err := t.next().RoundTrip(half)
	if err != nil {
		return nil, err
	}
	resp.Body.Close() // the server answered before it had all
	return nil, errReset
}

// broken is a body that ends too early.
type broken struct {
	io.ReadCloser
	left int64
	end  error
}

func (b *broken) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, b.end
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// stall takes the request and answers when the caller has given up.
func stall(r *http.Request) (*http.Response, error) {
	drop(r)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// delay lets the request arrive after its caller has given up.
func (t *Transport) delay(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	later := r.Clone(context.WithoutCancel(r.Context()))
	later.Body = io.NopCloser(bytes.NewReader(body))
	<-r.Context().Done()
	t.late.Go(func() { _ = t.arrive(later) }) // nobody waits for the answer
	return nil, r.Context().Err()
}

// refuse answers for the server, which the request does not reach.
func refuse(r *http.Request, status int, code string) (*http.Response, error) {
	drop(r)
	return answer(r, status, code), nil
}

func drop(r *http.Request) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
}

// answer is an error as S3 tells it. An answer to HEAD has no body.
func answer(r *http.Request, status int, code string) *http.Response {
	body := "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>" + code + "</Code><Message>injected</Message></Error>"
	if r.Method == http.MethodHead {
		body = ""
	}
	return &http.Response{
		StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/xml"}, "Content-Length": {strconv.Itoa(len(body))}},
		Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// spoil changes the body of a good answer.
func (t *Transport) spoil(r *http.Request, k Kind) (*http.Response, error) {
	resp, err := t.next().RoundTrip(r)
	if err != nil || resp.StatusCode >= 300 {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	half := int64(len(body) / 2)
	switch k {
	case ResetAnswer:
		resp.Body = &broken{ReadCloser: io.NopCloser(bytes.NewReader(body)), left: half, end: errReset}
		return resp, nil
	case StallAnswer:
		begin := bytes.NewReader(body[:half])
		resp.Body = io.NopCloser(io.MultiReader(begin, silent{r.Context()}))
		return resp, nil
	case WrongByte:
		if len(body) > 0 {
			body[t.Requests()*7919%len(body)] ^= 1 // another place each time
		}
	case Shorter:
		body = body[:half]
	case Longer:
		body = append(body, "\n{}"...)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return resp, nil
}

// silent gives nothing until the caller gives up.
type silent struct{ ctx context.Context }

func (s silent) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}
