// Package fakes3 is the small part of the S3 protocol that the drivers use, as
// a handler over a store in memory, for their tests. It keeps every request, so
// that a test can look at what was on the wire.
package fakes3

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// Bucket is the only bucket.
const Bucket = "lake"

// Server is a server of one bucket. Its fields are set before it is used.
type Server struct {
	Objects  memory.Store
	PageSize int // of a list, 0 is 1000

	// Meddle may answer in place of the server, and then returns true.
	Meddle func(w http.ResponseWriter, r *http.Request) bool

	// NoChecksum makes it a store that keeps user metadata but no checksum.
	NoChecksum bool

	mu       sync.Mutex
	requests []*http.Request
	meta     map[string]http.Header // by key
}

// Start serves until the test ends and returns the address.
func (s *Server) Start(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return srv.URL
}

// Requests returns the requests so far with the method, without their bodies.
func (s *Server) Requests(method string) []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rs []*http.Request
	for _, r := range s.requests {
		if r.Method == method {
			rs = append(rs, r)
		}
	}
	return rs
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	if s.Meddle != nil && s.Meddle(w, r) {
		return
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case bucket != Bucket:
		Error(w, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
	case key == "" && r.Method == http.MethodGet:
		s.list(w, r)
	case r.Method == http.MethodPut:
		s.put(w, r, key)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		s.get(w, r, key)
	case r.Method == http.MethodDelete:
		if err := s.Objects.Delete(r.Context(), key); err != nil {
			Error(w, http.StatusBadRequest, "InvalidArgument", err.Error())
			return
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		Error(w, http.StatusMethodNotAllowed, "MethodNotAllowed", r.Method)
	}
}

// Error writes an error as S3 does.
func Error(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName       xml.Name `xml:"Error"`
		Code, Message string
	}{Code: code, Message: message})
}

func (s *Server) put(w http.ResponseWriter, r *http.Request, key string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	sum := sha256.Sum256(body)
	if sent := r.Header.Get("x-amz-checksum-sha256"); sent != base64.StdEncoding.EncodeToString(sum[:]) && !s.NoChecksum {
		Error(w, http.StatusBadRequest, "BadDigest", "The SHA256 you specified did not match what we received.")
		return
	}
	cond := store.Blind()
	if r.Header.Get("If-None-Match") == "*" {
		cond = store.IfAbsent()
	}
	if etag := r.Header.Get("If-Match"); etag != "" {
		cond = store.IfMatch(etag)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.Objects.Put(r.Context(), key, body, cond)
	_, match := cond.ETag()
	switch {
	case errors.Is(err, store.ErrConflict) && match && s.missing(r, key):
		Error(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	case errors.Is(err, store.ErrConflict):
		Error(w, http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
	case err != nil:
		Error(w, http.StatusBadRequest, "InvalidArgument", err.Error())
	default:
		if s.meta == nil {
			s.meta = map[string]http.Header{}
		}
		s.meta[key] = r.Header.Clone()
		w.Header().Set("ETag", i.ETag)
	}
}

func (s *Server) missing(r *http.Request, key string) bool {
	_, err := s.Objects.Stat(r.Context(), key)
	return errors.Is(err, store.ErrNotExist)
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, key string) {
	s.mu.Lock()
	o, err := s.Objects.Get(r.Context(), key, store.Span{})
	meta := s.meta[key]
	s.mu.Unlock()
	if err != nil {
		Error(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
		return
	}
	h := w.Header()
	h.Set("ETag", o.ETag)
	for name, values := range meta {
		if strings.HasPrefix(name, "X-Amz-Meta-") {
			h[name] = values
		}
	}
	if !s.NoChecksum && r.Header.Get("x-amz-checksum-mode") == "ENABLED" {
		h.Set("x-amz-checksum-sha256", base64.StdEncoding.EncodeToString(o.SHA256[:]))
	}
	h.Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", o.Modified, strings.NewReader(string(o.Body)))
}

type contents struct {
	Key          string
	Size         int64
	ETag         string
	LastModified string
}

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	Name                  string
	Prefix                string
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	EncodingType          string `xml:",omitempty"`
	Contents              []contents
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	size := s.PageSize
	if size == 0 {
		size = 1000
	}
	after := q.Get("start-after")
	if token := q.Get("continuation-token"); token != "" {
		after = token
	}
	l := listing{Name: Bucket, Prefix: q.Get("prefix"), EncodingType: q.Get("encoding-type")}
	if max, err := strconv.Atoi(q.Get("max-keys")); err == nil && max > 0 {
		size = min(size, max)
	}
	for i, err := range s.Objects.List(r.Context(), l.Prefix, after) {
		if err != nil {
			Error(w, http.StatusInternalServerError, "InternalError", fmt.Sprint(err))
			return
		}
		if len(l.Contents) == size {
			l.IsTruncated, l.NextContinuationToken = true, after
			break
		}
		after = i.Key
		l.Contents = append(l.Contents, contents{
			encode(i.Key, l.EncodingType), i.Size, i.ETag, i.Modified.UTC().Format(time.RFC3339),
		})
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(l)
}

// encode escapes every byte that is not plain, when it is asked for.
func encode(key, as string) string {
	if as != "url" {
		return key
	}
	var b strings.Builder
	for _, c := range []byte(key) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_./", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
