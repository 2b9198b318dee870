package settings

import (
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
)

// Patterns are entries between slashes, wherever topics are listed, commas of
// their own included.
func TestPatterns(t *testing.T) {
	f := func(file string, env, args []string, want string) {
		t.Helper()
		s, err := load(t, file, env, args...)
		if err != nil {
			t.Errorf("%s %v %v: %v", file, env, args, err)
			return
		}
		var have []string
		for _, topic := range s.Topics {
			name := topic.Name
			if topic.IsPattern() {
				name = "pattern " + name
			}
			have = append(have, name)
		}
		if text := strings.Join(have, "; "); text != want {
			t.Errorf("%s %v %v:\ngot  %s\nwant %s", file, env, args, text, want)
		}
	}
	f(`topics: [a, /evt\..*/]`, nil, nil, `a; pattern /evt\..*/`)
	f("topics:\n  - '/x{1,2}/'\n  - b\n", nil, nil, `pattern /x{1,2}/; b`)
	f(`topics: "a, /x{1,2}/ ,/y/,b"`, nil, nil, `a; pattern /x{1,2}/; pattern /y/; b`)
	f("topics:\n  /evt.*/: {value: json}\n  a:\n", nil, nil, `pattern /evt.*/; a`)
	f("", []string{`LAKEWEIR_TOPICS=/x{1,2}/,a`}, nil, `pattern /x{1,2}/; a`)
	f("", nil, []string{"--topic", "/x{1,2}/", "--topic", "a,/b|c/"}, `pattern /x{1,2}/; a; pattern /b|c/`)
}

// What no pattern can be is an error of one line, with that of the file.
func TestPatternErrors(t *testing.T) {
	f := func(file, want string) {
		t.Helper()
		_, err := load(t, file, nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\ngot  %v\nwant %s", file, err, want)
		}
	}
	f("topics:\n  - a\n  - /evt(/\n", "lakeweir.yaml:3: topics: pattern /evt(/: error parsing regexp: missing closing ): `evt(`")
	f("topics:\n  a:\n  /b[/:\n", "lakeweir.yaml:3: topics: pattern /b[/: error parsing regexp")
	// Alone it must be one: no way out of the brackets that anchor it.
	f("topics: ['/a)|(b/']", "lakeweir.yaml:1: topics: pattern /a)|(b/: error parsing regexp: unexpected )")
	f("topics:\n  - a\n  - /evt\n", `lakeweir.yaml:3: topics: pattern "/evt": a slash is missing at its end`)
	f("topics: [//]", "lakeweir.yaml:1: topics: pattern //: it is empty")
	f("topics: [/a/b/]", "lakeweir.yaml:1: topics: pattern \"/a/b/\": names of topics have no slash")
	f("topics: [/a/, /a/]", "lakeweir.yaml:1: topics: topic \"/a/\" is listed twice")
	f("topics: 'a,,/b/'", "lakeweir.yaml:1: topics: \"a,,/b/\" has an empty item")
	f("topics: 'a,'", "lakeweir.yaml:1: topics: \"a,\" has an empty item")
	f("topics: {a: {}, /a/: {}, '/a/': {}}", "lakeweir.yaml:1: topic \"/a/\" is declared twice")
	f("dead_letter: {topic: /a/}", "lakeweir.yaml:1: dead_letter.topic: \"/a/\" is a pattern")
}

// A topic is read as its name says, else as the first pattern does that takes
// it; some are taken by none.
func TestWhichPattern(t *testing.T) {
	s, err := load(t, `
topics:
  /evt\..*/: {value: json, key: on}
  /evt\.b.*|x/: {value: json, headers: on}
  evt.plain: {value: raw}
  /.*/: {value: json}
dead_letter: {topic: evt.dead}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := func(name string, want *manifest.Declared) {
		t.Helper()
		topic, ok := s.Topic(name)
		if ok != (want != nil) {
			t.Errorf("%s: read %v", name, ok)
			return
		}
		if ok && (topic.Name != name || topic.IsPattern() || topic.Declared.Value != want.Value || topic.Declared.Key != want.Key || topic.Declared.Headers != want.Headers) {
			t.Errorf("%s: %+v, want %+v", name, topic, *want)
		}
	}
	json := func(key, headers bool) *manifest.Declared {
		return &manifest.Declared{Value: manifest.JSONValue, Key: key, Headers: headers}
	}
	// The first of two that match.
	f("evt.b", json(true, false))
	// The second where the first does not match whole names.
	f("x", json(false, true))
	f("my.evt.b", json(false, false))
	// A name wins over patterns, wherever it is.
	f("evt.plain", &manifest.Declared{Value: manifest.RawValue})
	// Internal topics, dead letters, and what is ours in a store.
	f("__consumer_offsets", nil)
	f("__evt", nil)
	f("evt.dead", nil)
	f(".lakeweir-probe", nil)
	f("..", nil)
}

// A topic that is selected later, by name, keeps the declaration of its
// pattern: else a flag would change the columns of its table.
func TestSelectOfPattern(t *testing.T) {
	s, err := load(t, "topics:\n  /evt.*/: {value: json}\n  b:\n", nil, "--topic", "evt.a", "--topic", "other", "--topic", "/evt.*/")
	if err != nil {
		t.Fatal(err)
	}
	want := []manifest.ValueKind{manifest.JSONValue, "", manifest.JSONValue}
	for i, topic := range s.Topics {
		if topic.Declared.Value != want[i] {
			t.Errorf("%s: %q", topic.Name, topic.Declared.Value)
		}
	}
	if len(s.Topics) != 3 {
		t.Errorf("%d topics", len(s.Topics))
	}
}

// The listing is a configuration file with the same patterns.
func TestPatternListing(t *testing.T) {
	s, err := load(t, "topics:\n  '/a: #{1,2}/': {value: json}\n  b:\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if _, err := s.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	again, err := load(t, out.String(), nil)
	if err != nil || len(again.Topics) != 2 || again.Topics[0].Name != "/a: #{1,2}/" || again.Topics[0].Declared.Value != manifest.JSONValue {
		t.Errorf("%+v, %v", again, err)
	}
}
