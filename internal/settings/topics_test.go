package settings

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
)

// declared loads one topic from the text of its declaration.
func declared(t *testing.T, text string) (manifest.Declared, error) {
	t.Helper()
	s, err := load(t, "topics:\n  t:\n"+text, nil)
	if err != nil {
		return manifest.Declared{}, err
	}
	return s.Topics[0].Declared, nil
}

func TestDeclaredTopics(t *testing.T) {
	f := func(text string, want manifest.Declared) {
		t.Helper()
		got, err := declared(t, text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v", text, got, err, want)
		}
	}
	// Nothing said is raw.
	f("", manifest.Declared{})
	f("    value: raw\n", manifest.Declared{Value: manifest.RawValue})
	// JSON without columns: all goes to the extra column.
	f("    value: json\n", manifest.Declared{Value: manifest.JSONValue})
	// Options, in all forms of yes and no.
	f("    {value: json, extra: off, key: on, headers: true}\n", manifest.Declared{Value: manifest.JSONValue, NoExtra: true, Key: true, Headers: true})
	f("    {value: json, extra: on, key: no}\n", manifest.Declared{Value: manifest.JSONValue})
	json := func(c ...manifest.Column) manifest.Declared {
		return manifest.Declared{Value: manifest.JSONValue, Columns: c}
	}
	// A path in three forms.
	col := manifest.Column{Name: "a", Type: manifest.String, Path: []string{"b", "c.d"}}
	f(`    {value: json, columns: [{name: a, type: string, path: 'b.c\.d'}]}`, json(col))
	f("    {value: json, columns: [{name: a, type: string, path: [b, c.d]}]}", json(col))
	f("    {value: json, columns: [{name: a, type: string}]}", json(manifest.Column{Name: "a", Type: manifest.String}))
	// Everything that a type may need.
	f("    {value: json, columns: [{name: a, type: decimal, precision: 10, scale: 2, required: yes}]}",
		json(manifest.Column{Name: "a", Type: manifest.Decimal, Precision: 10, Scale: 2, Required: true}))
	f("    {value: json, columns: [{name: a, type: timestamp, unit: ms, encoding: delta}]}",
		json(manifest.Column{Name: "a", Type: manifest.Timestamp, Unit: manifest.Milliseconds, Encoding: manifest.Delta}))
	f("    {value: json, columns: [{name: a, type: string, encoding: plain}]}", json(manifest.Column{Name: "a", Type: manifest.String}))
	// Nesting, with the short form of an element.
	f("    {value: json, columns: [{name: a, type: list, element: {type: list, element: int64}}]}",
		json(manifest.Column{Name: "a", Type: manifest.List, Element: &manifest.Column{Type: manifest.List, Element: &manifest.Column{Type: manifest.Int64}}}))
	f("    {value: json, columns: [{name: a, type: struct, fields: [{name: b, type: date}, {name: c, type: uuid}]}]}",
		json(manifest.Column{Name: "a", Type: manifest.Struct, Fields: []manifest.Column{
			{Name: "b", Type: manifest.Date}, {Name: "c", Type: manifest.UUID},
		}}))
	// An anchor and its alias.
	f("    {value: json, columns: [&c {name: a, type: list, element: &e {type: bool}}, {name: b, type: list, element: *e}]}",
		json(manifest.Column{Name: "a", Type: manifest.List, Element: &manifest.Column{Type: manifest.Bool}},
			manifest.Column{Name: "b", Type: manifest.List, Element: &manifest.Column{Type: manifest.Bool}}))
}

func TestDeclaredErrors(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := declared(t, text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "lakeweir.yaml:") {
			t.Errorf("%s\ngot %v, want %q", text, err, want)
		}
	}
	// Of the wrong shape.
	f("    - value\n", "topic: want key: value")
	f("    {value: [json]}\n", "want a plain value")
	f("    {value: json, columns: {a: string}}\n", "want a list of columns")
	f("    {value: json, columns: [a]}\n", "column: want key: value")
	f("    {value: json, columns: [{type: string}]}\n", "a column has no name")
	f("    {value: json, columns: [{name: a, type: string, path: [[b]]}]}\n", "want a list of names")
	// A value that does not fit.
	f("    {value: xml}\n", `value kind "xml"`)
	f("    {value: json, extra: perhaps}\n", `"perhaps" is not true or false`)
	f("    {value: json, columns: [{name: a, type: decimal, precision: many}]}\n", `"many" is not a whole number`)
	f("    {value: json, columns: [{name: a, type: decimal}]}\n", `column "a": decimal precision 0`)
	f("    {value: json, columns: [{name: a, type: string, encoding: zip}]}\n", `unknown encoding "zip"`)
	f("    {value: json, columns: [{name: a, type: string, encoding: delta}]}\n", "encoding delta is for")
	f("    {value: json, columns: [{name: a, type: string, path: a..b}]}\n", "has an empty name")
	f("    {value: json, columns: [{name: a, type: long}]}\n", `unknown type "long"`)
	f("    {value: json, columns: [{name: a, type: tmestamp}]}\n", `did you mean "timestamp"?`)
	// Said twice, and not known.
	f("    {value: json, value: raw}\n", "value is set twice")
	f("    {value: json, columns: [{name: a, name: b}]}\n", "name is set twice")
	f("    {value: json, zzz: 1}\n", `unknown key "zzz": it takes columns, extra, headers, key, value`)
	// Names that meet.
	f("    {value: json, columns: [{name: a, type: string}, {name: A, type: string}]}\n", `column "A"`)
	f("    {value: json, columns: [{name: extra, type: string}]}\n", "extra: off")
}

func TestTopicNames(t *testing.T) {
	f := func(name string, ok bool) {
		t.Helper()
		if err := CheckTopic(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	f("quakes", true)
	f("a.b_c-D9", true)
	f(strings.Repeat("x", 249), true)
	f(strings.Repeat("x", 250), false)
	f(".hidden", true)
	// Folders of lakeweir's own: a table there met the locks of a directory.
	f(".lakeweir", false)
	f(".lakeweir-probe-x", false)
	for _, bad := range []string{"", ".", "..", "a/b", "a b", "a\n", "å"} {
		f(bad, false)
	}
	if _, err := load(t, "topics: [a, a]\n", nil); err == nil || !strings.Contains(err.Error(), "listed twice") {
		t.Errorf("a topic twice: %v", err)
	}
	if _, err := load(t, "topics: {a: {}, a: {}}\n", nil); err == nil {
		t.Error("a topic declared twice is taken")
	}
}

// A list is given in the file, by a variable, or by a flag again and again.
func TestLists(t *testing.T) {
	f := func(yaml string, env, args []string, want ...string) {
		t.Helper()
		s, err := load(t, yaml, env, args...)
		if err != nil || !slices.Equal(s.Brokers, want) {
			t.Errorf("got %q, %v, want %q", s.Brokers, err, want)
		}
	}
	f("brokers: [a:1, b:2]\n", nil, nil, "a:1", "b:2")
	f("brokers: a:1, b:2\n", nil, nil, "a:1", "b:2")
	f("brokers: [\"${HOST}:1\"]\n", []string{"HOST=h"}, nil, "h:1")
	f("", []string{"LAKEWEIR_BROKERS=a:1,b:2"}, nil, "a:1", "b:2")
	f("brokers: [x:1]\n", nil, []string{"--brokers", "a:1,b:2"}, "a:1", "b:2")
	f("", nil, []string{"--brokers=a:1", "--brokers=b:2"}, "a:1", "b:2")
	f("brokers: [x:1]\n", nil, []string{"--brokers", ""})
	for _, bad := range []string{"brokers: [[a]]\n", "brokers: {a: 1}\n", "brokers: \"a,,b\"\n"} {
		if _, err := load(t, bad, nil); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestPartitions(t *testing.T) {
	f := func(yaml, env, want string) {
		t.Helper()
		s, err := load(t, yaml, []string{env})
		if err != nil || formatPartitions(s.Partitions) != want {
			t.Errorf("got %s, %v, want %s", formatPartitions(s.Partitions), err, want)
		}
	}
	f("partitions: {quakes: [0, 1], orders: [2]}\n", "", "orders=2;quakes=0,1")
	f("partitions: {quakes: 3}\n", "", "quakes=3")
	f("partitions: {quakes: [0]}\n", "LAKEWEIR_PARTITIONS=quakes=4,5", "quakes=4,5")
	f("partitions: {quakes: [0]}\n", "LAKEWEIR_PARTITIONS=", "")
	for _, bad := range []string{"a", "a=", "=1", "a=-1", "a=1,1", "a=1;a=2", "a=1,,2", "a=99999999999"} {
		if m, err := parsePartitions(bad); err == nil {
			t.Errorf("%q is taken for %v", bad, m)
		}
	}
}

// A switch needs no value, takes one, and can be turned off again.
func TestBools(t *testing.T) {
	f := func(env string, args []string, want bool) {
		t.Helper()
		s, err := load(t, "wait_for_topics: yes\n", []string{env}, args...)
		if err != nil || s.WaitForTopics != want {
			t.Errorf("%s %q: got %v, %v", env, args, s.WaitForTopics, err)
		}
	}
	f("", nil, true)
	f("LAKEWEIR_WAIT_FOR_TOPICS=off", nil, false)
	f("LAKEWEIR_WAIT_FOR_TOPICS=off", []string{"--wait-for-topics"}, true)
	f("", []string{"--wait-for-topics=false"}, false)
	s, err := load(t, "s3: {path_style: true}\n", nil, "--s3-path-style=auto")
	if err != nil || s.S3.PathStyle != nil {
		t.Errorf("path style %v, %v", s.S3.PathStyle, err)
	}
}

// The file of the repository's own full run is one that this version takes.
func TestComposeFile(t *testing.T) {
	body, err := os.ReadFile("../../docker/lakeweir.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := load(t, string(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// A secret is in no error, whatever is wrong with it.
func TestSecretsInErrors(t *testing.T) {
	for _, yaml := range []string{
		"sasl: {password: [hunter2]}\n", "sasl: {passwort: hunter2}\n", "s3: {secret_key: {hunter2: x}}\n", "s3: {secret_key: \"${hunter2x\"}\nzz: 1\n",
	} {
		_, err := load(t, yaml, nil)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v", yaml, err)
		}
	}
}
