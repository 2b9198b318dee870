package decode

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"runtime/metrics"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lakeweir/lakeweir/manifest"
)

// half finds escapes of surrogates, which encoding/json replaces when they
// stand alone.
var half = regexp.MustCompile(`(?i)\\ud[89a-f]`)

// FuzzDecode compares with encoding/json, which keeps the last of duplicates too:
// what is JSON at all, the values of columns, numbers to the digit, and what is
// left over. What is stored as text is UTF-8, and JSON where it should be.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, `3`, `{"a":1,"p":{"b":2,"c":{"d":3},"x":4},"whole":[1],"y":"é"}`,
		`{"p":{"b":1,"x":1},"q":0,"p":{"z":3}}`, `{"\u0061":1e2,"A":-0.5}`, `{"a":1,"a":2,"x":1,"\u0078":{}}`,
		`{"s":{"f":"1","g":[]}}`, `{"a":01}`, `{"a":"` + "\x1f" + `"}`, `{"a":1}}`, `{"p":[{"b":1}]}`,
	} {
		f.Add([]byte(s))
	}
	cols := []manifest.Column{
		col("a", manifest.Int32), col("p.b", manifest.Int32), col("p.c.d", manifest.JSON),
		col("whole", manifest.JSON), structOf("s", "f"),
	}
	o, fields := Compile(cols, true)
	f.Fuzz(func(t *testing.T, text []byte) {
		var kind Kind
		var rej *Reject
		if n := allocated(func() { kind, rej = o.Decode(text) }); n > 1<<20+400*uint64(len(text)) {
			t.Errorf("%d bytes allocated for a text of %d", n, len(text))
		}
		checkStored(t, o, fields, rej)
		if !utf8.Valid(text) || half.Match(text) || rej != nil && rej.Reason == TooDeep {
			return
		}
		var want any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		valid := json.Valid(text) && d.Decode(&want) == nil
		members, object := want.(map[string]any)
		switch {
		case !valid:
			if rej == nil || rej.Reason != BadJSON {
				t.Fatalf("%q is no JSON, got %v", text, rej)
			}
			return
		case want == nil && (rej != nil || kind != Null), want != nil && !object && (rej == nil || rej.Reason != NotObject):
			t.Fatalf("%q: %v %v", text, kind, rej)
		case !object:
			return
		case rej != nil:
			t.Fatalf("%q is an object: %v", text, rej)
		}
		checkMembers(t, o, fields, text, members)
	})
}

// checkMembers compares the columns and what is left over with the members that
// encoding/json has.
func checkMembers(t *testing.T, o *Object, fields []*Field, text []byte, members map[string]any) {
	t.Helper()
	for _, field := range append(fields, fields[4].Fields[0]) {
		path := field.Column.Path
		if field.Column.Name == "f" {
			path = []string{"s", "f"}
		}
		if got, want := parse(t, o.Token(field).Text), at(members, path); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %v is %v, want %v", text, path, got, want)
		}
	}
	var a Arena
	rest, reason := o.AppendRest(&a)
	if reason != "" {
		t.Fatalf("%q: %s", text, reason)
	}
	got, _ := parse(t, rest).(map[string]any)
	if want := left(members, "a", "p.b", "p.c.d", "whole", "s.f"); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q leaves %v, want %v", text, got, want)
	}
	if len(got) == 0 && rest != nil {
		t.Fatalf("%q leaves %q instead of nothing", text, rest)
	}
}

// parse reads a text with encoding/json; none gives nil, as null does.
func parse(t *testing.T, text []byte) (v any) {
	t.Helper()
	if len(text) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// at follows a path; what is not there is nil.
func at(members map[string]any, path []string) any {
	v := members[path[0]]
	if len(path) == 1 {
		return v
	}
	m, _ := v.(map[string]any)
	return at(m, path[1:])
}

// left returns the members that no path takes.
func left(members map[string]any, paths ...string) map[string]any {
	out := map[string]any{}
	for name, v := range members {
		taken, below := name == "s" && v != nil, []string(nil)
		for _, p := range paths {
			taken = taken || p == name
			if rest, ok := strings.CutPrefix(p, name+"."); ok {
				below = append(below, rest)
			}
		}
		m, isObject := v.(map[string]any)
		switch {
		case below == nil && !taken:
			out[name] = v
		case below != nil && isObject:
			if m = left(m, below...); len(m) > 0 {
				out[name] = m
			}
		case below != nil && v != nil && !taken:
			out[name] = v
		}
	}
	return out
}

// checkStored fails for text of a column, or of the rest, that no reader takes.
func checkStored(t *testing.T, o *Object, fields []*Field, rej *Reject) {
	t.Helper()
	if rej != nil {
		if rej.Reason == "" || rej.Detail == "" || !utf8.ValidString(rej.Detail) || len(rej.Detail) > 400 {
			t.Errorf("reject %+v", rej)
		}
		return
	}
	var a Arena
	for _, field := range fields {
		tok := *o.Token(field)
		if tok.Absent() {
			continue
		}
		if text, r := tok.JSON(); r == "" && (!utf8.Valid(text) || !json.Valid(text)) {
			t.Errorf("column %s has the JSON %q", field.Column.Name, text)
		}
		chars, r := tok.Chars(&a)
		if r == "" && !utf8.Valid(chars) {
			t.Errorf("column %s has the text %q", field.Column.Name, chars)
		}
		var want string
		if r == "" && (json.Unmarshal(tok.Text, &want) != nil || want != string(chars)) {
			t.Errorf("column %s has the text %q, want %q", field.Column.Name, chars, want)
		}
	}
	if rest, r := o.AppendRest(&a); r == "" && rest != nil && (!utf8.Valid(rest) || !json.Valid(rest)) {
		t.Errorf("left over: %q", rest)
	}
}

// allocated returns how many bytes do allocates.
func allocated(do func()) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	do()
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}
