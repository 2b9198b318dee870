package s3_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/fakes3"
	"github.com/lakeweir/lakeweir/store/internal/wiretest"
	"github.com/lakeweir/lakeweir/store/s3"
)

// Credentials that the store calls expired before their time are not used
// again: the next call asks the provider for new ones.
func TestExpired(t *testing.T) {
	noEnv(t)
	var issued atomic.Int64
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"AccessKeyId": "AKID%d", "SecretAccessKey": %q, "Token": "t", "Expiration": %q}`,
			issued.Add(1), wiretest.SecretKey, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	defer provider.Close()
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", provider.URL)
	srv := &fakes3.Server{Meddle: func(w http.ResponseWriter, r *http.Request) bool {
		expired := strings.Contains(r.Header.Get("Authorization"), "Credential=AKID1/")
		if expired {
			fakes3.Error(w, http.StatusForbidden, "ExpiredToken", "The provided token has expired.")
		}
		return expired
	}}
	s, err := s3.New(t.Context(), s3.Config{Endpoint: srv.Start(t), Bucket: fakes3.Bucket, Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(t.Context(), "k", []byte("1"), store.IfAbsent())
	wiretest.OneLine(t, err, "ExpiredToken", "check the credentials")
	for _, body := range []string{"1", "2"} {
		if _, err := s.Put(t.Context(), "k", []byte(body), store.Blind()); err != nil {
			t.Error(err)
		}
	}
	if n := issued.Load(); n != 2 {
		t.Errorf("%d credentials were issued, want 2", n)
	}
}
