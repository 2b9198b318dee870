package decode

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lakeweir/lakeweir/manifest"
)

// half finds escapes of surrogates, which encoding/json replaces when they
// stand alone.
var half = regexp.MustCompile(`(?i)\\ud[89a-f]`)

// FuzzDecode compares with encoding/json: what is JSON at all, the values of
// columns, and what is left over.
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
		kind, rej := o.Decode(text)
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
	})
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

// FuzzNumber compares the exact reading of numbers with rational arithmetic.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"0", "-1.50e2", "9223372036854775808", "0.0001e4", "1e-2", "12345678901234567890.5", "9007199254740993", "1e300"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !isNumber([]byte(text)) {
			return
		}
		if _, exp := cutExponent([]byte(text)); exp > 1000 || exp < -1000 || len(text) > 2000 {
			return // rationals of that size take too long
		}
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%s is a number", text)
		}
		tok := token(t, text)
		v, r := tok.Int64()
		if fits := want.IsInt() && want.Num().IsInt64(); fits != (r == "") || fits && want.Num().Int64() != v {
			t.Errorf("%s as int64 is %d %s", text, v, r)
		}
		var a Arena
		wide, r := tok.WideDecimal(&a, 38, 6)
		scaled := new(big.Rat).Mul(want, big.NewRat(1e6, 1))
		limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil)
		if fits := scaled.IsInt() && new(big.Int).Abs(scaled.Num()).Cmp(limit) < 0; fits != (r == "") || fits && fromWide(wide).Cmp(scaled.Num()) != 0 {
			t.Errorf("%s as decimal(38,6) is %x %s", text, wide, r)
		}
		near, _ := want.Float64()
		integer := tok.Kind == Integer
		back := new(big.Rat)
		fits := !math.IsInf(near, 0) && (!integer || back.SetFloat64(near).Cmp(want) == 0)
		if d, r := tok.Double(); fits != (r == "") || fits && d != near {
			t.Errorf("%s as double is %v %s, want %v", text, d, r, near)
		}
	})
}

// fromWide reads 16 bytes of two's complement.
func fromWide(b []byte) *big.Int {
	x := new(big.Int).SetBytes(b)
	if b[0] >= 0x80 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	return x
}

// strict is the form of RFC 3339; the time package takes hours of one digit
// and offsets of 24 hours too.
var strict = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// FuzzTimestamp compares with the time package, which knows fewer forms.
func FuzzTimestamp(f *testing.F) {
	for _, s := range []string{"2018-02-07T01:26:13.840Z", "2000-02-29T23:59:59+01:00", "0000-01-01T00:00:00Z", "2016-12-31T23:59:60Z", "2018-02-07T01:26:13.1234567Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		us, ok := rfc3339([]byte(text))
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || !strict.MatchString(text) {
			return
		}
		if at.Nanosecond()%1000 != 0 {
			if ok {
				t.Errorf("%s fits: %d", text, us)
			}
			return
		}
		dot := strings.IndexByte(text, '.')
		if dot >= 0 && len(text)-dot > 10 {
			return // the time package cuts what is finer than a nanosecond
		}
		if !ok || us != at.UnixMicro() {
			t.Errorf("%s is %d %v, want %d", text, us, ok, at.UnixMicro())
		}
	})
}
