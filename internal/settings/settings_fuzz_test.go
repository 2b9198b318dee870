package settings

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
)

// FuzzValue: a text that a setting takes is written as a text that it takes,
// for the same value; so is a location of a store and a path in a column.
func FuzzValue(f *testing.F) {
	for i, st := range New().All() {
		f.Add(i, st.Default)
	}
	for _, v := range []struct{ name, text string }{
		{"memory", "128MiB"},
		{"memory", "9223372036854775807"},
		{"partitions", "quakes=0,1; orders=2"},
		{"topics", `a,/b.{1,2}-\d/,c`},
		{"start", "2026-01-31T01:00:00.5+01:00"},
		{"start", "2026-01-31"},
		{"start", "42"},
		{"brokers", "a:1, b:2"},
		{"dead_letter.max_ratio", "1e-3"},
		{"batch.max_age", "1h0m0s"},
		{"store", "minios://h:9000/lake/a/b/"},
		{"store", "s3://lake/raw"},
		{"store", "dir:./lake one"},
		{"s3.path_style", "auto"},
		{"topics", "/a)|(b/"},
		{"topics", "/(?i)a/ , b"},
		{"topics", "//"},
		{"client_id", `a\.b.c\\`},
	} {
		f.Add(index(v.name), v.text)
	}
	f.Fuzz(func(t *testing.T, i int, text string) {
		s := New()
		st := s.all[uint(i)%uint(len(s.all))]
		if st.value.set(text) == nil {
			written := st.value.get()
			again := New()
			if err := again.find(st.Name).value.set(written); err != nil || differ(s, again) != "" {
				t.Errorf("%s: %q is written %q, then %q: %v", st.Name, text, written, again.find(st.Name).value.get(), err)
			}
		}
		checkTopics(t, text)
		if path, err := ParsePath(text); err == nil {
			if again, err := ParsePath(formatPath(path)); err != nil || !slices.Equal(again, path) {
				t.Errorf("%q is the path %q, written %q, read back %q, %v", text, path, formatPath(path), again, err)
			}
		}
		if l, err := ParseLocation(text); err == nil && l.Driver != "dir" {
			if again, err := ParseLocation(formatLocation(l)); err != nil || again != l {
				t.Errorf("%q is %+v, written %q, read back %+v, %v", text, l, formatLocation(l), again, err)
			}
		}
	})
}

// checkTopics fails unless each item of a list of topics stands for itself.
func checkTopics(t *testing.T, text string) {
	t.Helper()
	items, err := splitTopics(text)
	if err != nil {
		return
	}
	for _, item := range items {
		topic, err := ParseTopic(item)
		if err != nil {
			continue
		}
		if topic.Name != item || strings.HasPrefix(item, "/") != topic.IsPattern() {
			t.Errorf("%q became %+v", item, topic)
		}
		if again, err := splitTopics(item); err != nil || len(again) != 1 || again[0] != item {
			t.Errorf("%q is split into %q, %v", item, again, err)
		}
	}
}

// index is the place of a setting among all.
func index(name string) int {
	return slices.IndexFunc(New().All(), func(s *Setting) bool { return s.Name == name })
}

// differ names the first setting of which two have other values, or "".
func differ(a, b *Settings) string {
	for i, st := range a.all {
		if st.value.get() != b.all[i].value.get() {
			return st.Name
		}
	}
	for i, topic := range a.Topics {
		one, err := a.Schema(topic)
		two, err2 := b.Schema(b.Topics[i])
		if (err == nil) != (err2 == nil) || err == nil && !manifest.SameContent(one, two) || topic.IsPattern() != b.Topics[i].IsPattern() {
			return "topic " + topic.Name
		}
	}
	if len(a.Brokers) != len(b.Brokers) || !reflect.DeepEqual(a.Partitions, b.Partitions) {
		return "brokers or partitions"
	}
	return ""
}

// formatLocation writes what ParseLocation reads.
func formatLocation(l Location) string {
	switch {
	case l.Driver == "s3":
		return "s3://" + l.Bucket + "/" + l.Prefix
	case l.TLS:
		return "minios://" + l.Endpoint + "/" + l.Bucket + "/" + l.Prefix
	}
	return "minio://" + l.Endpoint + "/" + l.Bucket + "/" + l.Prefix
}

// FuzzYAML: whatever a file holds, there are settings or an error that names the
// file; and settings that are listed are read back as they were.
func FuzzYAML(f *testing.F) {
	f.Add(example)
	f.Add("a: &x {b: *x}\n")
	f.Add("topics: {a: {columns: [{element: {element: {}}}]}}")
	f.Add("topics: {a: {value: json, columns: [{name: x, path: 'p.q', type: decimal, precision: 9, scale: 2}, {name: l, type: list, element: uuid}]}}")
	f.Add("brokers: [a:1, b:2]\npartitions: {quakes: [0, 1]}\nstart: 7\nsasl: {mechanism: plain, user: u, password: \"*x\"}\n")
	f.Add("topics: ['/a.*/', b]\nbatch.max_age: 5m\nbatch: {max_rows: 1_000}\nlog: {level: debug}\n")
	f.Add("topics: {t: {value: json, columns: [&a {name: a, type: int32}, &b {name: b, type: struct, fields: [*a, *a]}, {name: c, type: struct, fields: [*b, *b]}]}}")
	f.Fuzz(func(t *testing.T, text string) {
		s := New()
		none := func(string) (string, bool) { return "", false }
		if err := s.loadYAML("f.yaml", []byte(text), none); err != nil {
			if !strings.HasPrefix(err.Error(), "f.yaml") {
				t.Errorf("the error %q does not name the file", err)
			}
			return
		}
		for _, topic := range s.Topics {
			if _, err := ParseTopic(topic.Name); err != nil {
				t.Error(err)
			}
		}
		for _, st := range s.all {
			if st.Secret && st.value.get() != "" || strings.Contains(st.value.get(), "${") {
				return // hidden, or to be taken for a variable
			}
		}
		var listing strings.Builder
		if _, err := s.WriteTo(&listing); err != nil {
			t.Fatal(err)
		}
		again := New()
		if err := again.loadYAML("listing.yaml", []byte(listing.String()), none); err != nil {
			t.Fatalf("%q: its listing is not read: %v", text, err)
		}
		if what := differ(s, again); what != "" {
			t.Errorf("%q: %s is listed and then read as something else", text, what)
		}
	})
}
