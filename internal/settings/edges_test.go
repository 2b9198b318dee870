package settings

import (
	"bytes"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Sizes at the edges of what they hold, read and written.
func TestSizesAtTheEdges(t *testing.T) {
	f := func(text string, want int64, written string) {
		t.Helper()
		got, err := ParseSize(text)
		if err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
		if again := FormatSize(got); again != written {
			t.Errorf("%q is written %s, want %s", text, again, written)
		}
	}
	f("1B", 1, "1")
	f("1023", 1023, "1023")
	f("1024", 1024, "1KiB")
	f("1025", 1025, "1025")
	f("1536KiB", 1536<<10, "1536KiB")
	f("2048MiB", 2<<30, "2GiB")
	f("1000KB", 1e6, "1000000")
	f("1TB", 1e12, "976562500KiB")
	f("1TiB", 1<<40, "1TiB")
	f(" 7 MiB ", 7<<20, "7MiB")
	// The largest, in each form.
	f("4611686018427387904", 1<<62, "4194304TiB")
	f("4194304TiB", 1<<62, "4194304TiB")
	for _, bad := range []string{
		"4611686018427387905", "4194305TiB", "9223372036854775808", // too large
		"1mib", "1M", "1MB/s", "1e6", "0x10", "1,5GiB", "_", "1MiB 2", "∞", // no size
	} {
		if n, err := ParseSize(bad); err == nil || !strings.Contains(err.Error(), "is not a size such as 128MiB") {
			t.Errorf("%q: got %d, %v", bad, n, err)
		}
	}
}

// What a number, a duration or a start may be, by the setting that takes it.
func TestValuesAtTheEdges(t *testing.T) {
	f := func(name, text, want string) {
		t.Helper()
		s, err := load(t, "", []string{New().find(name).Env() + "=" + text})
		if err != nil {
			if want != "" {
				t.Errorf("%s=%s: %v", name, text, err)
			}
			return
		}
		if got := s.find(name).value.String(); got != want {
			t.Errorf("%s=%s is %q, want %q", name, text, got, want)
		}
	}
	const number, span = "batch.max_rows", "batch.max_age"
	f(number, "1_000_000", "1000000")
	f(number, "9223372036854775807", "9223372036854775807")
	f(number, "9223372036854775808", "")
	f(number, "-1", "")
	f(number, "1.0", "")
	f(number, "1e3", "")
	f(span, "1ns", "1ns")
	f(span, "1.5h", "1h30m")
	f(span, "3600s", "1h")
	f(span, "1h0m1s", "1h0m1s")
	f(span, "2562047h", "2562047h")
	f(span, "2562048h", "") // about 292 years is the most
	f(span, "0s", "")
	f(span, "-5s", "")
	f(span, "1d", "")
	f(span, "5", "")
	f("start", "9223372036854775807", "9223372036854775807")
	f("start", "9223372036854775808", "")
	f("start", "2026-01-31T12:00:00.25+02:00", "2026-01-31T10:00:00.25Z")
	f("start", "1970-01-02", "1970-01-02T00:00:00Z")
	f("start", "Latest", "")
	f("start", "2026-02-30", "")
	f("partitions", " a = 0 , 1 ; b = 2 ", "a=0,1;b=2")
	f("partitions", "a=2147483647", "a=2147483647")
	f("partitions", "a=2147483648", "")
	f("s3.path_style", "auto", "auto")
	f("s3.path_style", "TRUE", "true")
	f("s3.path_style", "1", "")
	f("isolation", "READ_COMMITTED", "")
}

// A file never keeps what a bad value was to replace half changed.
func TestBadValueChangesNothing(t *testing.T) {
	for _, st := range New().All() {
		if st.Kind() == "text" || st.Kind() == "list" && st.Name != "topics" {
			continue // takes any text
		}
		before := st.value.String()
		if err := st.value.set("a b;=!"); err == nil {
			t.Errorf("%s takes anything", st.Name)
		}
		if after := st.value.String(); after != before {
			t.Errorf("%s was %q, and is %q after an error", st.Name, before, after)
		}
	}
}

// Limits of what can run, on both sides.
func TestCheckAtTheEdges(t *testing.T) {
	f := func(want string, change func(*Settings)) {
		t.Helper()
		s := New()
		s.Brokers, s.Store, s.Topics = []string{"a:1"}, "dir:lake", []Topic{{Name: "a"}}
		change(s)
		err := s.Check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	f("", func(s *Settings) { s.Memory = 64 << 20 })
	f("memory 67108863 is less than 64MiB", func(s *Settings) { s.Memory = 64<<20 - 1 })
	f("", func(s *Settings) { s.Batch.MaxBytes = 1 << 30 })
	f("batch.max_bytes 1073741825 is more than 1GiB", func(s *Settings) { s.Batch.MaxBytes = 1<<30 + 1 })
	f("", func(s *Settings) { s.Batch.MaxAge = time.Millisecond })
	f("must be positive", func(s *Settings) { s.Batch.MaxAge = time.Millisecond - 1 })
	f("must be positive", func(s *Settings) { s.Batch.MaxBytes = 0 })
	f("", func(s *Settings) { s.Batch.MaxRows = math.MaxInt64 })
	f("", func(s *Settings) { s.Files.Level = 22 })
	f("", func(s *Settings) { s.HeartbeatInterval = s.SessionTimeout / 3 })
	f("more than a third", func(s *Settings) { s.HeartbeatInterval = s.SessionTimeout/3 + 1 })
	// The shutdown is bounded by the group only where there is one to wait.
	f("", func(s *Settings) { s.Group, s.ShutdownTimeout = "g", s.RebalanceTimeout-1 })
	f("not below rebalance_timeout", func(s *Settings) { s.Group, s.ShutdownTimeout = "g", s.RebalanceTimeout })
	f("", func(s *Settings) {
		s.Group, s.ShutdownTimeout, s.Partitions = "g", s.RebalanceTimeout, map[string][]int32{"a": {0}}
	})
	// Partitions of a topic without any.
	f(`name none of topic "a"`, func(s *Settings) { s.Partitions = map[string][]int32{"a": {}} })
	f(`name none of topic "a"`, func(s *Settings) { s.Partitions = map[string][]int32{} })
	// Logins and certificates in halves.
	f("tls.cert and tls.key", func(s *Settings) { s.TLS.Key = "k" })
	f("", func(s *Settings) { s.TLS.Cert, s.TLS.Key = "c", "k" })
	f("sasl.user and sasl.password", func(s *Settings) { s.SASL.Mechanism = "plain" })
	f("sasl.user and sasl.password", func(s *Settings) { s.SASL.Mechanism, s.SASL.Password = "plain", "p" })
	f("", func(s *Settings) { s.SASL = SASL{Mechanism: "scram-sha-512", User: "u", Password: "p"} })
	f("", func(s *Settings) { s.SASL = SASL{Mechanism: "plain", User: "u", PasswordFile: "f"} })
	f("both set: remove one", func(s *Settings) { s.SASL = SASL{Mechanism: "plain", User: "u", Password: "p", PasswordFile: "f"} })
	f("not sasl.mechanism", func(s *Settings) { s.SASL.PasswordFile = "f" })
	f("not sasl.mechanism", func(s *Settings) { s.SASL.TokenFile = "f" })
	// A token has no user of ours, and is of one mechanism.
	f("", func(s *Settings) { s.SASL = SASL{Mechanism: "oauthbearer", TokenFile: "f"} })
	f("it takes sasl.token_file", func(s *Settings) { s.SASL = SASL{Mechanism: "oauthbearer"} })
	f("it takes sasl.token_file", func(s *Settings) { s.SASL = SASL{Mechanism: "oauthbearer", TokenFile: "f", User: "u"} })
	f("sasl.token_file is for oauthbearer", func(s *Settings) { s.SASL = SASL{Mechanism: "plain", User: "u", Password: "p", TokenFile: "f"} })
	// Static partitions are of topics by name.
	f("topics has the pattern /a.*/", func(s *Settings) {
		p, err := ParseTopic("/a.*/")
		if err != nil {
			t.Fatal(err)
		}
		s.Topics, s.Partitions = append(s.Topics, p), map[string][]int32{"a": {0}}
	})
}

// Any TLS setting turns TLS on.
func TestTLSOn(t *testing.T) {
	if (TLS{}).On() {
		t.Error("TLS without a setting")
	}
	for _, st := range New().All() {
		if !strings.HasPrefix(st.Name, "tls.") {
			continue
		}
		s, err := load(t, "", []string{st.Env() + "=true"})
		if err != nil || !s.TLS.On() {
			t.Errorf("%s: on %v, err %v", st.Name, s.TLS.On(), err)
		}
	}
}

// Places of a store, and where keys lie in them.
func TestLocationsAtTheEdges(t *testing.T) {
	f := func(text, uri, file string) {
		t.Helper()
		l, err := ParseLocation(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			return
		}
		if got, err := l.URI("t/a b.parquet"); err != nil || got != uri {
			t.Errorf("%q: URI %s, %v, want %s", text, got, err, uri)
		}
		if got := filepath.ToSlash(l.File("t/a b.parquet")); got != file {
			t.Errorf("%q: file %s, want %s", text, got, file)
		}
	}
	f("s3://abc", "s3://abc/t/a b.parquet", "t/a b.parquet")
	f("minios://h:1/lake/a/b", "s3://lake/a/b/t/a b.parquet", "a/b/t/a b.parquet")
	f("dir:/lake", "file:///lake/t/a%20b.parquet", "/lake/t/a b.parquet")
	f("dir:///lake", "file:///lake/t/a%20b.parquet", "/lake/t/a b.parquet")
	f("dir:/lake/../pond/é%#?", "file:///pond/%C3%A9%25%23%3F/t/a%20b.parquet", "/pond/é%#?/t/a b.parquet")
	for _, bad := range []string{
		"dir://lake", "dir://./lake", // as of a host
		"s3:///lake", "s3://la", "s3://lake/raw///", "s3://lake/a//b", "s3://lake/./a", "s3://lake/a\nb", "s3://lake?x=1", "s3://lake#x", "minio://h:9000", "minio://h/la",
		"s3", "S3://lake", "file:///lake", "/lake", "./lake", " dir:lake", "s3://lake/" + strings.Repeat("x", 1025),
	} {
		if l, err := ParseLocation(bad); err == nil || !strings.Contains(err.Error(), "store") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %+v, %v", bad, l, err)
		}
	}
}

// Whatever a text is, the listing gives it back; but for ${NAME} in a value that
// came from a variable: the file, which has no escape for it, means another.
func TestListingOfAnyText(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	parts := []string{"a", "null", "NULL", "~", "true", "No", "1", "1e5", ".5", "-", "- ", ":", ": ", " #", "#", "'", `"`, `\`, "{", "}", "[", "*", "&", "!", "%", "@", "|", ">", "?", "\n", "\t", " ", "é", "東", "\u2028", "\u0085", "\x7f", "$", "${", "=", "<<"}
	check := func(name, text string) {
		t.Helper()
		first, err := load(t, "", []string{New().find(name).Env() + "=" + text})
		if err != nil {
			t.Fatalf("%s=%q: %v", name, text, err)
		}
		var out bytes.Buffer
		if _, err := first.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		second, err := load(t, out.String(), nil)
		if err != nil {
			t.Errorf("%s=%q: %v", name, text, err)
			return
		}
		if got := second.find(name).value.String(); got != text {
			t.Errorf("%s=%q is %q after reading the listing", name, text, got)
		}
	}
	for _, part := range parts {
		check("group", part)
		check("store", part)
	}
	for range 200 {
		text := ""
		for range 1 + r.IntN(4) {
			text += parts[r.IntN(len(parts))]
		}
		if reference.MatchString(text) {
			continue
		}
		check("client_id", text)
	}
}

// The help of a flag is the default as the file takes it, and its kind.
func TestFlagHelp(t *testing.T) {
	for _, st := range New().All() {
		f := &flagText{setting: st}
		if f.String() != st.Default || f.Type() != st.Kind() || f.Type() == "" {
			t.Errorf("%s: default %q, kind %q", st.Name, f, f.Type())
		}
	}
	// pflag asks a zero one whether the default is zero.
	for _, zero := range []*flagText{nil, {}} {
		if got := zero.String(); got != "" {
			t.Errorf("zero: %q", got)
		}
	}
}
