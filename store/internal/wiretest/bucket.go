package wiretest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a store answers to the making of its bucket.
func (d driver) createBucket(t *testing.T) {
	f := func(status int, code, want string) {
		t.Helper()
		var got string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = r.Method + " " + r.URL.Path
			w.WriteHeader(status)
			if code != "" {
				_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>no</Message></Error>")
			}
		}))
		defer server.Close()
		s, err := d.new(t.Context(), Config{Bucket: "lake", Endpoint: server.URL, AccessKey: "a", SecretKey: "b"})
		if err != nil {
			t.Fatal(err)
		}
		err = s.CreateBucket(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d %s: got %v, want %q", status, code, err, want)
		}
		if !strings.HasPrefix(got, "PUT /lake") {
			t.Errorf("request %q", got)
		}
	}
	// It is made.
	f(200, "", "")
	// It is ours already.
	f(409, "BucketAlreadyOwnedByYou", "")
	// It is another's.
	f(409, "BucketAlreadyExists", "BucketAlreadyExists")
	// We may not.
	f(403, "AccessDenied", "access is denied")
}
