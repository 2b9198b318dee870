package columnar_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lakeweir/lakeweir/manifest"
)

// modelColumns reach into nested objects, and leave a rest everywhere.
func modelColumns() []manifest.Column {
	return []manifest.Column{
		{Name: "a", Type: manifest.Int64},
		{Name: "s", Path: []string{"p", "s"}, Type: manifest.String},
		{Name: "n", Path: []string{"p", "q", "n"}, Type: manifest.Int64},
		{Name: "r", Type: manifest.Struct, Fields: []manifest.Column{{Name: "f", Type: manifest.String}}},
		{Name: "j", Type: manifest.JSON},
	}
}

// randomJSON writes an object; names repeat, so that there are duplicates.
func randomJSON(r *rand.Rand, b *strings.Builder, depth int) {
	b.WriteByte('{')
	for i := range r.IntN(6) {
		if i > 0 {
			b.WriteByte(',')
		}
		name := []string{"a", "p", "q", "s", "n", "r", "f", "j", "x", "é"}[r.IntN(10)]
		fmt.Fprintf(b, "%q: ", name)
		switch k := r.IntN(8); {
		case k < 3 && depth > 0:
			randomJSON(r, b, depth-1)
		case k == 3:
			b.WriteString("null")
		case k == 4 || name == "s" || name == "f":
			b.WriteString([]string{`"x"`, `"é\n"`, `"\ud83d\ude00"`, `""`}[r.IntN(4)])
		default:
			b.WriteString([]string{"1", "-7", "2.0", "3e2"}[r.IntN(4)])
		}
	}
	b.WriteByte('}')
}

// model is what a row has, by encoding/json: texts of the columns, null as "".
// ok is false when a value does not fit its column.
func model(value []byte) (columns map[string]string, ok bool) {
	var members map[string]any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if d.Decode(&members) != nil {
		return nil, false
	}
	at := func(m map[string]any, path ...string) any {
		for _, p := range path[:len(path)-1] {
			m, _ = m[p].(map[string]any)
		}
		return m[path[len(path)-1]]
	}
	columns = map[string]string{}
	for name, path := range map[string][]string{"a": {"a"}, "n": {"p", "q", "n"}, "s": {"p", "s"}, "r.f": {"r", "f"}} {
		switch x := at(members, path...).(type) {
		case nil:
		case string:
			columns[name], ok = x, name == "s" || name == "r.f"
			if !ok {
				return nil, false
			}
		case json.Number:
			f, err := x.Float64()
			if err != nil || name == "s" || name == "r.f" {
				return nil, false
			}
			columns[name] = fmt.Sprint(int64(f))
		default:
			return nil, false
		}
	}
	if r := members["r"]; r != nil {
		if _, isObject := r.(map[string]any); !isObject {
			return nil, false
		}
	}
	return columns, true
}

// Random events come out as encoding/json reads them: the values of columns in
// files, everything else in the extra column, what does not fit set aside.
func TestEncodeAgainstModel(t *testing.T) {
	r := seeded(t)
	events := make([][]byte, 2000)
	for i := range events {
		var b strings.Builder
		randomJSON(r, &b, 3)
		events[i] = []byte(b.String())
	}
	out := encode(t, manifest.Declared{Value: manifest.JSONValue, Columns: modelColumns()}, jobOf(batchOf(t, 0, events...)))
	data, dead := out.Bodies[out.Record.Data[0].Key], out.Bodies[out.Record.Dead[0].Key]
	var offsets []string
	want := map[string][]string{}
	for i, e := range events {
		columns, ok := model(e)
		if !ok {
			offsets = append(offsets, fmt.Sprintf("%d:%q", i, e))
			continue
		}
		for _, name := range []string{"a", "n", "s", "r.f"} {
			if columns[name] != "" {
				want[name] = append(want[name], columns[name])
			}
		}
	}
	if got := values(t, dead, "value"); got != strings.Join(offsets, " ") {
		t.Errorf("dead letters %.300s\nwant %.300s", got, strings.Join(offsets, " "))
	}
	for name := range want {
		var got []string
		for _, v := range readValues(t, data, name) {
			if v != "" {
				got = append(got, v)
			}
		}
		if !reflect.DeepEqual(got, want[name]) {
			t.Errorf("%s: %.300q\nwant %.300q", name, got, want[name])
		}
	}
	for _, e := range readValues(t, data, "extra") {
		if !json.Valid([]byte(e)) || e == "{}" {
			t.Errorf("extra %s", e)
		}
	}
}

// FuzzEncode: any bytes become a row or a dead letter with exactly those
// bytes, and text columns hold nothing but UTF-8.
func FuzzEncode(f *testing.F) {
	for _, s := range []string{`{"a":1,"p":{"s":"é","x":1}}`, `{"p":{"s":"` + "\xff" + `"}}`, "{\"\xff\":1}", "null", "", `{"a":1.5}`, `{"j":["\ud800"]}`} {
		f.Add([]byte(s))
	}
	e := mustEncoder(f, mustSchema(f, manifest.Declared{Value: manifest.JSONValue, Columns: modelColumns()}))
	f.Fuzz(func(t *testing.T, value []byte) {
		if value == nil {
			value = []byte{}
		}
		out, err := e.Encode(t.Context(), jobOf(batchOf(t, 0, value)))
		if err != nil {
			t.Fatal(err)
		}
		if c := out.Record.Counts; c.Rows+c.Dead != 1 || len(out.Bodies) != 1 {
			t.Fatalf("%q: %+v", value, c)
		}
		if out.Record.Counts.Dead == 1 {
			body := out.Bodies[out.Record.Dead[0].Key]
			if got := readValues(t, body, "value"); len(got) != 1 || got[0] != string(value) {
				t.Errorf("%q is the dead letter %q", value, got)
			}
			for _, column := range []string{"reason", "detail"} {
				if got := readValues(t, body, column); len(got) != 1 || got[0] == "" || !utf8.ValidString(got[0]) {
					t.Errorf("%q: %s %q", value, column, got)
				}
			}
			return
		}
		for _, column := range []string{"s", "r.f", "j", "extra"} {
			for _, v := range readValues(t, out.Bodies[out.Record.Data[0].Key], column) {
				if !utf8.ValidString(v) {
					t.Errorf("%q: column %s has %q", value, column, v)
				}
			}
		}
	})
}
