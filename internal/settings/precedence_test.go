package settings

import (
	"strings"
	"testing"
)

// three returns three different values of a setting.
func three(st *Setting) [3]string {
	switch st.Name {
	case "topics":
		return [3]string{"a", "b,c", "d"}
	case "on_data_loss":
		return [3]string{Skip, Fail, Skip}
	case "isolation":
		return [3]string{ReadUncommitted, ReadCommitted, ReadUncommitted}
	case "sasl.mechanism":
		return [3]string{"plain", "scram-sha-256", "scram-sha-512"}
	case "files.compression":
		return [3]string{"snappy", "lz4", "none"}
	case "log.level":
		return [3]string{"debug", "warn", "error"}
	case "log.format":
		return [3]string{"json", "text", "json"}
	}
	return map[string][3]string{
		"text": {"x", "y z", "true"}, "bool": {"true", "false", "true"}, "number": {"7", "8", "9"},
		"size": {"96MiB", "1GiB", "100"}, "duration": {"7s", "8m", "9ms"}, "list": {"a:1", "b:2,c:3", "d:4"},
		"partitions": {"a=0", "a=1,2;b=0", "c=3"}, "start": {"latest", "17", "2026-01-31T00:00:00Z"},
		"share": {"0.5", "1", "0.001"}, "topic": {"dead", "dead.2", "d"},
	}[st.Kind()]
}

// Whatever the setting and its kind: the environment comes before the file, and
// a flag before both, whichever of the others are there; Origin says which won.
func TestPrecedenceOfEverySetting(t *testing.T) {
	for _, st := range New().All() {
		v := three(st)
		if v[0] == "" {
			t.Fatalf("%s of kind %s has no values in this test", st.Name, st.Kind())
		}
		f := func(file, env, flag bool, want, origin string) {
			t.Helper()
			yaml, environ, args := "", []string(nil), []string(nil)
			if file {
				yaml = "\n" + st.Name + ": " + quote(v[0]) + "\n"
			}
			if env {
				environ = []string{st.Env() + "=" + v[1]}
			}
			if flag {
				args = []string{"--" + st.Flag() + "=" + v[2]}
			}
			s, err := load(t, yaml, environ, args...)
			if err != nil {
				t.Errorf("%s: %v", st.Name, err)
				return
			}
			got := s.find(st.Name)
			if got.value.String() != want || got.Origin != origin {
				t.Errorf("%s: %q from %s, want %q from %s", st.Name, got.value.String(), got.Origin, want, origin)
			}
			// Nothing else has changed.
			for _, other := range s.All() {
				if other.Name != st.Name && (other.Origin != "default" || other.value.String() != other.Default) {
					t.Errorf("%s changes %s to %q from %s", st.Name, other.Name, other.value.String(), other.Origin)
				}
			}
		}
		f(false, false, false, st.Default, "default")
		f(true, false, false, v[0], "lakeweir.yaml:2")
		f(false, true, false, v[1], st.Env())
		f(true, true, false, v[1], st.Env())
		f(true, false, true, v[2], "--"+st.Flag())
		f(false, true, true, v[2], "--"+st.Flag())
		f(true, true, true, v[2], "--"+st.Flag())
	}
}

// A setting has the same value nested and dotted.
func TestNestedAndDotted(t *testing.T) {
	for _, st := range New().All() {
		group, name, ok := strings.Cut(st.Name, ".")
		if !ok {
			continue
		}
		v := quote(three(st)[0])
		nested, err := load(t, group+":\n  "+name+": "+v+"\n", nil)
		if err != nil {
			t.Errorf("%s nested: %v", st.Name, err)
			continue
		}
		dotted, err := load(t, st.Name+": "+v+"\n", nil)
		if err != nil {
			t.Errorf("%s dotted: %v", st.Name, err)
			continue
		}
		a, b := nested.find(st.Name), dotted.find(st.Name)
		if a.value.String() != b.value.String() || a.value.String() == st.Default {
			t.Errorf("%s: %q nested, %q dotted", st.Name, a.value.String(), b.value.String())
		}
		if a.Origin != "lakeweir.yaml:2" || b.Origin != "lakeweir.yaml:1" {
			t.Errorf("%s: from %s and %s", st.Name, a.Origin, b.Origin)
		}
	}
}

// An empty variable and an empty flag take a value away where there may be
// none, and are errors of their place elsewhere.
func TestEmptyValues(t *testing.T) {
	for _, st := range New().All() {
		empty := st.Kind() == "text" || st.Kind() == "topic" || st.Kind() == "list" || st.Kind() == "partitions" || st.Name == "sasl.mechanism"
		for _, err := range []error{
			second(load(t, st.Name+": "+quote(three(st)[0])+"\n", []string{st.Env() + "="})),
			second(load(t, st.Name+": "+quote(three(st)[0])+"\n", nil, "--"+st.Flag()+"=")),
		} {
			if empty != (err == nil) {
				t.Errorf("%s without a value: err %v, want it taken: %v", st.Name, err, empty)
			}
			if err != nil && !strings.HasPrefix(err.Error(), st.Env()+": ") && !strings.HasPrefix(err.Error(), "--"+st.Flag()+": ") {
				t.Errorf("%s: the error %q does not begin with its place", st.Name, err)
			}
		}
		// In the file a key without a value is as good as none.
		if s, err := load(t, st.Name+":\n", nil); err != nil || s.find(st.Name).Origin != "default" {
			t.Errorf("%s without a value in the file: %v", st.Name, err)
		}
	}
}

func second(_ *Settings, err error) error { return err }

// A flag given again adds to a list and replaces anything else.
func TestRepeatedFlags(t *testing.T) {
	for _, st := range New().All() {
		v := three(st)
		s, err := load(t, "", nil, "--"+st.Flag()+"="+v[0], "--"+st.Flag()+"="+v[1])
		if err != nil {
			t.Errorf("%s: %v", st.Name, err)
			continue
		}
		want := v[1]
		if st.Kind() == "list" {
			want = v[0] + "," + v[1]
		}
		if got := s.find(st.Name).value.String(); got != want {
			t.Errorf("%s: %q, want %q", st.Name, got, want)
		}
	}
}

// The file is named by the flag, else by the environment, and it is the only
// one that is read.
func TestWhichFile(t *testing.T) {
	env := []string{"LAKEWEIR_CONFIG=/nowhere/env.yaml"}
	if _, err := load(t, "group: a\n", env); err != nil {
		t.Errorf("the flag does not come first: %v", err)
	}
	if _, err := load(t, "", env); err == nil || !strings.Contains(err.Error(), "/nowhere/env.yaml: no such file") {
		t.Errorf("got %v", err)
	}
	if _, err := load(t, "", nil, "--config", "/nowhere/flag.yaml"); err == nil || !strings.Contains(err.Error(), "/nowhere/flag.yaml: no such file") {
		t.Errorf("got %v", err)
	}
	// A directory is no file, and is told of in one line.
	dir := t.TempDir()
	if _, err := load(t, "", nil, "--config", dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
	// An empty variable names none.
	if _, err := load(t, "", []string{"LAKEWEIR_CONFIG="}); err != nil {
		t.Error(err)
	}
}
