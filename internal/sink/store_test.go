package sink

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/store"
)

// bucket is a store without objects that notes how it is asked.
type bucket struct {
	mu       sync.Mutex
	requests []*http.Request
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, r)
	if r.Method != http.MethodPut {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("ETag", `"0123456789abcdef0123456789abcdef"`)
}

// methods returns what was asked, in order.
func (b *bucket) methods() string {
	var all []string
	for _, r := range b.requests {
		all = append(all, r.Method)
	}
	return strings.Join(all, " ")
}

// noEnvironment keeps what AWS and MinIO tools would find on this machine out.
func noEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL",
		"AWS_ENDPOINT_URL_S3", "MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD", "MINIO_ACCESS_KEY", "MINIO_SECRET_KEY", "HTTP_PROXY", "HTTPS_PROXY",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// at sets the location of a server in the form that a driver takes.
func at(driver, url string, s *settings.Settings) {
	host := url[strings.Index(url, "://")+3:]
	if driver == "s3" {
		s.Store, s.S3.Endpoint = "s3://lake/raw", url
		return
	}
	s.Store = driver + "://" + host + "/lake/raw"
}

// What the settings say reaches the store: the bucket, the folder, and who asks.
func TestStoreSettings(t *testing.T) {
	noEnvironment(t)
	f := func(driver string, change func(*settings.Settings), path, credential string) {
		t.Helper()
		b := &bucket{}
		server := httptest.NewServer(b)
		defer server.Close()
		set := good()
		at(driver, server.URL, set)
		change(set)
		s, err := OpenStore(t.Context(), set)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), "quakes/k", []byte("x"), store.IfAbsent()); err != nil {
			t.Fatalf("%s: %v", driver, err)
		}
		if b.methods() != "PUT" {
			t.Fatalf("%s: asked %s", driver, b.methods())
		}
		r := b.requests[0]
		auth := r.Header.Get("Authorization")
		if r.URL.Path != path || !strings.Contains(auth, "Credential="+credential) || r.Header.Get("If-None-Match") != "*" {
			t.Errorf("%s: %s, %s, If-None-Match %q; want %s, %s", driver, r.URL.Path, auth, r.Header.Get("If-None-Match"), path, credential)
		}
		if strings.Contains(auth, "hush") {
			t.Errorf("%s: the secret is sent", driver)
		}
	}
	keys := func(region string) func(*settings.Settings) {
		return func(s *settings.Settings) { s.S3.AccessKey, s.S3.SecretKey, s.S3.Region = "who", "hush", region }
	}
	for _, driver := range []string{"s3", "minio"} {
		// All of it by settings.
		f(driver, keys("eu-north-1"), "/lake/raw/quakes/k", "who/")
	}
	// The bucket alone.
	f("minio", func(s *settings.Settings) {
		keys("")(s)
		s.Store = strings.TrimSuffix(s.Store, "/raw")
	}, "/lake/quakes/k", "who/")
	// Without keys the environment decides.
	t.Setenv("AWS_ACCESS_KEY_ID", "env")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hush")
	for _, driver := range []string{"s3", "minio"} {
		f(driver, func(s *settings.Settings) { s.S3.Region = "us-east-1" }, "/lake/raw/quakes/k", "env/")
		// And keys in the settings come before it.
		f(driver, keys("us-east-1"), "/lake/raw/quakes/k", "who/")
	}
}

// The region of the settings is the one of the signature.
func TestStoreRegion(t *testing.T) {
	noEnvironment(t)
	f := func(driver, region, want string) {
		t.Helper()
		b := &bucket{}
		server := httptest.NewServer(b)
		defer server.Close()
		set := good()
		at(driver, server.URL, set)
		set.S3.AccessKey, set.S3.SecretKey, set.S3.Region = "who", "hush", region
		s, err := OpenStore(t.Context(), set)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), "k", nil, store.IfAbsent()); err != nil {
			t.Fatalf("%s: %v", driver, err)
		}
		if auth := b.requests[0].Header.Get("Authorization"); !strings.Contains(auth, "/"+want+"/s3/aws4_request") {
			t.Errorf("%s: %s, want region %s", driver, auth, want)
		}
	}
	f("s3", "eu-north-1", "eu-north-1")
	f("minio", "eu-north-1", "eu-north-1")
	// MinIO has one unless it was told otherwise.
	f("minio", "", "us-east-1")
}

// TLS is by the scheme or by s3.tls; the certificate must be one of s3.ca, or
// any if the operator says so.
func TestStoreTLS(t *testing.T) {
	noEnvironment(t)
	b := &bucket{}
	server := httptest.NewUnstartedServer(b)
	server.Config.ErrorLog = discard
	server.StartTLS()
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(driver string, change func(*settings.S3), ok bool) {
		t.Helper()
		set := good()
		at(driver, server.URL, set)
		set.S3.AccessKey, set.S3.SecretKey, set.S3.Region = "who", "hush", "us-east-1"
		change(&set.S3)
		s, err := OpenStore(t.Context(), set)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Get(t.Context(), "k", store.Span{})
		if errors.Is(err, store.ErrNotExist) != ok {
			t.Errorf("%s %+v: err %v, want it to be asked: %v", driver, set.S3, err, ok)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("the error %q shows a secret", err)
		}
	}
	withCA := func(s *settings.S3) { s.CA = ca }
	f("s3", withCA, true)
	f("minios", withCA, true)
	f("minio", func(s *settings.S3) { s.CA, s.TLS = ca, true }, true)
	f("minios", func(s *settings.S3) { s.InsecureSkipVerify = true }, true)
	f("s3", func(s *settings.S3) { s.InsecureSkipVerify = true }, true)
	// An authority that is not known, of a store that would answer.
	f("s3", func(*settings.S3) {}, false)
	f("minios", func(*settings.S3) {}, false)
	// A file of authorities that is not there.
	set := good()
	at("minios", server.URL, set)
	set.S3.CA = filepath.Join(t.TempDir(), "none.pem")
	if _, err := OpenStore(t.Context(), set); err == nil || !strings.Contains(err.Error(), "none.pem") {
		t.Errorf("a file of authorities that is not there: err %v", err)
	}
}

// Whoever rules out a second writer gets a store that looks, then writes
// without a condition; whoever does not sends the condition.
func TestStoreSingleWriter(t *testing.T) {
	noEnvironment(t)
	f := func(driver string, single bool, want, header string) {
		t.Helper()
		b := &bucket{}
		server := httptest.NewServer(b)
		defer server.Close()
		set := good()
		at(driver, server.URL, set)
		set.S3.AccessKey, set.S3.SecretKey, set.S3.Region, set.SingleWriter = "who", "hush", "us-east-1", single
		s, err := OpenStore(t.Context(), set)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), "k", nil, store.IfAbsent()); err != nil {
			t.Fatalf("%s: %v", driver, err)
		}
		if last := b.requests[len(b.requests)-1]; b.methods() != want || last.Header.Get("If-None-Match") != header {
			t.Errorf("%s, single writer %v: %s with If-None-Match %q, want %s, %q", driver, single, b.methods(), last.Header.Get("If-None-Match"), want, header)
		}
	}
	for _, driver := range []string{"s3", "minio"} {
		f(driver, false, "PUT", "*")
		f(driver, true, "HEAD PUT", "")
	}
}

// A bucket is made by its name, whatever folder of it the tables lie in.
func TestCreateBucket(t *testing.T) {
	noEnvironment(t)
	for _, driver := range []string{"s3", "minio"} {
		b := &bucket{}
		server := httptest.NewServer(b)
		set := good()
		at(driver, server.URL, set)
		set.S3.AccessKey, set.S3.SecretKey, set.S3.Region = "who", "hush", "us-east-1"
		if err := CreateBucket(t.Context(), set); err != nil {
			t.Errorf("%s: %v", driver, err)
		}
		last := b.requests[len(b.requests)-1]
		if last.Method != http.MethodPut || strings.Trim(last.URL.Path, "/") != "lake" {
			t.Errorf("%s: %s %s", driver, last.Method, last.URL.Path)
		}
		server.Close()
	}
}
