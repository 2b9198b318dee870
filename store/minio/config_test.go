package minio_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/wiretest"
	"github.com/lakeweir/lakeweir/store/minio"
)

// noEnv hides the credentials of whoever runs the test.
func noEnv(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD", "MINIO_ACCESS_KEY", "MINIO_SECRET_KEY",
		"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN",
	} {
		t.Setenv(name, "")
	}
}

// sent opens a store and returns the one request of a put, which is not sent.
func sent(t *testing.T, c minio.Config) *http.Request {
	t.Helper()
	return wiretest.Sent(t, func(tr http.RoundTripper) (store.Store, error) {
		c.Transport = tr
		return minio.New(t.Context(), c)
	})
}

// Where the bucket is looked for; no client asks for its region first.
func TestAddress(t *testing.T) {
	f := func(c minio.Config, want string) {
		t.Helper()
		c.Bucket, c.AccessKey, c.SecretKey = "lake", wiretest.AccessKey, wiretest.SecretKey
		r := sent(t, c)
		if got := r.URL.Scheme + "://" + r.URL.Host + r.URL.Path; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	f(minio.Config{Endpoint: "http://store:9000"}, "http://store:9000/lake/k")
	f(minio.Config{Endpoint: "store.example.com"}, "https://store.example.com/lake/k")
	f(minio.Config{Endpoint: "http://store:9000", VirtualHost: true}, "http://lake.store:9000/k")
	f(minio.Config{Endpoint: "http://store:9000", Prefix: "/raw/"}, "http://store:9000/lake/raw/k")
}

// Without credentials minio-go would send unsigned requests; that is an error
// here, before anything is sent.
func TestCredentials(t *testing.T) {
	noEnv(t)
	c := minio.Config{Endpoint: "http://store:9000", Bucket: "lake"}
	_, err := minio.New(t.Context(), c)
	wiretest.OneLine(t, err, "no credentials", "MINIO_ROOT_USER")
	for user, secret := range map[string]string{
		"MINIO_ROOT_USER": "MINIO_ROOT_PASSWORD", "MINIO_ACCESS_KEY": "MINIO_SECRET_KEY", "AWS_ACCESS_KEY_ID": "AWS_SECRET_ACCESS_KEY",
	} {
		noEnv(t)
		t.Setenv(user, "AKIDENV")
		t.Setenv(secret, wiretest.SecretKey)
		if got := sent(t, c).Header.Get("Authorization"); !strings.Contains(got, "Credential=AKIDENV/") {
			t.Errorf("%s: signed as %.60q", user, got)
		}
	}
}
