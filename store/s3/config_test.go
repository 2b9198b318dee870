package s3_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/fakes3"
	"github.com/lakeweir/lakeweir/store/internal/wiretest"
	"github.com/lakeweir/lakeweir/store/s3"
)

// noEnv hides the AWS configuration of whoever runs the test.
func noEnv(t *testing.T) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_PROFILE": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_SESSION_TOKEN": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "", "AWS_CA_BUNDLE": "",
		"AWS_ROLE_ARN": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "",
	} {
		t.Setenv(name, value)
	}
}

// sent opens a store and returns the one request of a put, which is not sent.
func sent(t *testing.T, c s3.Config) *http.Request {
	t.Helper()
	return wiretest.Sent(t, func(tr http.RoundTripper) (store.Store, error) {
		c.Transport = tr
		return s3.New(t.Context(), c)
	})
}

// Where the bucket is looked for.
func TestAddress(t *testing.T) {
	noEnv(t)
	yes, no := true, false
	f := func(c s3.Config, want string) {
		t.Helper()
		c.Bucket, c.AccessKey, c.SecretKey = "lake", wiretest.AccessKey, wiretest.SecretKey
		r := sent(t, c)
		if got := r.URL.Scheme + "://" + r.URL.Host + r.URL.Path; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	// Amazon's own, and with the bucket in the path.
	f(s3.Config{Region: "eu-west-1"}, "https://lake.s3.eu-west-1.amazonaws.com/k")
	f(s3.Config{Region: "eu-west-1", PathStyle: &yes}, "https://s3.eu-west-1.amazonaws.com/lake/k")
	// Another store: path style, and a region that need not be said.
	f(s3.Config{Endpoint: "http://store:9000"}, "http://store:9000/lake/k")
	f(s3.Config{Endpoint: "store.example.com", Region: "auto"}, "https://store.example.com/lake/k")
	f(s3.Config{Endpoint: "http://store:9000", PathStyle: &no}, "http://lake.store:9000/k")
	f(s3.Config{Endpoint: "http://store:9000", Prefix: "/raw/"}, "http://store:9000/lake/raw/k")
	// What the environment says, and what the configuration says against it.
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://env:9000")
	f(s3.Config{}, "http://env:9000/lake/k")
	f(s3.Config{Endpoint: "http://store:9000"}, "http://store:9000/lake/k")
}

// Without a region nothing can be sent to Amazon.
func TestNoRegion(t *testing.T) {
	noEnv(t)
	_, err := s3.New(t.Context(), s3.Config{Bucket: "lake"})
	wiretest.OneLine(t, err, "region", "AWS_REGION")
}

// Credentials come from the usual chain, and their absence is said as such.
func TestCredentials(t *testing.T) {
	noEnv(t)
	// A secret key without an access key is not one.
	s, err := s3.New(t.Context(), s3.Config{
		Bucket: fakes3.Bucket, Endpoint: (&fakes3.Server{}).Start(t), Region: "us-east-1", SecretKey: wiretest.SecretKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(t.Context(), "k", nil, store.IfAbsent())
	wiretest.OneLine(t, err, "no credentials", "AWS_PROFILE")

	shared := filepath.Join(t.TempDir(), "credentials")
	text := "[other]\naws_access_key_id = AKIDOTHER\naws_secret_access_key = SECRETTEST1234567890\n"
	if err := os.WriteFile(shared, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", shared)
	t.Setenv("AWS_PROFILE", "other")
	r := sent(t, s3.Config{Bucket: "lake", Endpoint: "http://store:9000"})
	if got := r.Header.Get("Authorization"); len(got) < 40 || got[:41] != "AWS4-HMAC-SHA256 Credential=AKIDOTHER/202" {
		t.Errorf("signed as %.60q", got)
	}
}
