package fakes3

import (
	"io"
	"net/http"
	"net/http/httptest"
)

// Inside carries requests to a server in the same process, without a network:
// for tests whose clock is not the real one.
type Inside struct{ Server *Server }

// RoundTrip implements http.RoundTripper.
func (i Inside) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	body := &watched{ReadCloser: http.NoBody}
	if r.Body != nil {
		body.ReadCloser = r.Body
	}
	in := r.Clone(r.Context())
	in.Body = body
	w := httptest.NewRecorder()
	i.Server.ServeHTTP(w, in)
	body.Close()
	if body.err != nil {
		return nil, body.err // the connection broke while the body was sent
	}
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

// watched remembers how its body broke off.
type watched struct {
	io.ReadCloser
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}
