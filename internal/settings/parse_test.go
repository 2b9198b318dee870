package settings

import (
	"slices"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	f := func(text string, want int64) {
		t.Helper()
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	f("0", 0)
	f("4096", 4096)
	f("4_096", 4096)
	f("128MiB", 128<<20)
	f("1 GiB", 1<<30)
	f("1GB", 1e9)
	f("64KiB", 64<<10)
	f("5kB", 5000)
	f("7B", 7)
	for _, bad := range []string{"", "MiB", "-1", "+1", "1.5GiB", "1XB", "9223372036854775807GiB", "1MiBMiB"} {
		if n, err := ParseSize(bad); err == nil {
			t.Errorf("%q is taken for %d", bad, n)
		}
	}
}

func TestParseStart(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got, err := ParseStart(text); err != nil || got.String() != want {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
	f("earliest", "earliest")
	f("latest", "latest")
	f("0", "0")
	f("42", "42")
	f("2026-01-31", "2026-01-31T00:00:00Z")
	f("2026-01-31T01:00:00+01:00", "2026-01-31T00:00:00Z")
	for _, bad := range []string{"", "-1", "newest", "1960-01-01", "2026-13-01"} {
		if s, err := ParseStart(bad); err == nil {
			t.Errorf("%q is taken for %s", bad, s)
		}
	}
}

func TestParsePath(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		if got, err := ParsePath(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	f("a", "a")
	f("a.b", "a", "b")
	f(`a\.b.c`, "a.b", "c")
	f(`a\\.b`, `a\`, "b")
	for _, bad := range []string{"", ".", "a.", "a..b", `a\b`, `a\`} {
		if got, err := ParsePath(bad); err == nil {
			t.Errorf("%q is taken for %q", bad, got)
		}
	}
}

func TestNearest(t *testing.T) {
	f := func(word, want string) {
		t.Helper()
		if got := Nearest(word, []string{"brokers", "batch", "topics", "ca"}); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
	f("broker", "brokers")
	f("borkers", "brokers")
	f("bath", "batch")
	f("cert", "")
	f("completely", "")
	f("", "")
}

func TestParseLocation(t *testing.T) {
	f := func(text string, want Location, uri string) {
		t.Helper()
		got, err := ParseLocation(text)
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
		if u, err := got.URI("t/data/a.parquet"); err != nil || !strings.HasSuffix(u, uri) {
			t.Errorf("%q: URI %s, %v, want %s", text, u, err, uri)
		}
	}
	f("s3://lake/raw", Location{Driver: "s3", Bucket: "lake", Prefix: "raw/"}, "s3://lake/raw/t/data/a.parquet")
	f("s3://lake", Location{Driver: "s3", Bucket: "lake"}, "s3://lake/t/data/a.parquet")
	f("s3://lake/a/b/", Location{Driver: "s3", Bucket: "lake", Prefix: "a/b/"}, "s3://lake/a/b/t/data/a.parquet")
	f("minio://localhost:9000/lake/raw", Location{Driver: "minio", Endpoint: "localhost:9000", Bucket: "lake", Prefix: "raw/"}, "s3://lake/raw/t/data/a.parquet")
	f("minios://h/lake", Location{Driver: "minio", TLS: true, Endpoint: "h", Bucket: "lake"}, "s3://lake/t/data/a.parquet")
	f("dir:./lake one", Location{Driver: "dir", Path: "./lake one"}, "/lake%20one/t/data/a.parquet")
	for _, bad := range []string{"", "lake", "dir:", "s3:lake", "s3://", "s3://ab", "minio://", "minio://h", "minio:///lake", "s3://lake//a", "s3://lake/../a", "s3://key:secret@lake/a", "gs://lake"} {
		l, err := ParseLocation(bad)
		if err == nil {
			t.Errorf("%q is taken for %+v", bad, l)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error %q shows a secret", err)
		}
	}
}

// formatPath writes what ParsePath reads.
func formatPath(path []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `.`, `\.`)
	var names []string
	for _, name := range path {
		names = append(names, escape.Replace(name))
	}
	return strings.Join(names, ".")
}
