package columnar_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/manifest"
)

// readValues returns the values of a column that are not null.
func readValues(t *testing.T, body []byte, column string) []string {
	t.Helper()
	f, err := columnar.Open(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for r, err := range f.Read(column) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Value != nil {
			out = append(out, string(r.Value))
		}
	}
	return out
}

// checkBounds compares every value with the bounds, by rational arithmetic.
func checkBounds(t *testing.T, c manifest.Column, s manifest.Stat, values []string) {
	t.Helper()
	order := strings.Compare
	if c.Type != manifest.String && c.Type != manifest.UUID && c.Type != manifest.Bool {
		order = func(a, b string) int {
			x, ok1 := new(big.Rat).SetString(a)
			y, ok2 := new(big.Rat).SetString(b)
			if !ok1 || !ok2 {
				t.Fatalf("%s: %q and %q are not both numbers", c.Name, a, b)
			}
			return x.Cmp(y)
		}
	}
	plain := func(raw json.RawMessage) string {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return string(raw)
		}
		return text
	}
	met := map[bool]bool{}
	for _, v := range values {
		low, high := order(v, plain(s.Min)), -1
		if s.Max != nil {
			high = order(v, plain(s.Max))
		}
		if low < 0 || high > 0 {
			t.Errorf("%s: %s is not from %s to %s", c.Name, v, s.Min, s.Max)
		}
		met[true], met[false] = met[true] || low == 0, met[false] || high == 0
	}
	if c.Type != manifest.String && (!met[true] || !met[false]) {
		t.Errorf("%s: the bounds %s and %s are met by no value", c.Name, s.Min, s.Max)
	}
	if n := max(len(plain(s.Min)), len(plain(s.Max))); n > 36 {
		t.Errorf("%s: a bound has %d bytes", c.Name, n)
	}
}

// Bounds of strings are cut at a character, and an upper one is rounded up.
func TestStringBounds(t *testing.T) {
	f := func(value, low, high string) {
		t.Helper()
		body, err := json.Marshal(map[string]string{"s": value})
		if err != nil {
			t.Fatal(err)
		}
		d := manifest.Declared{Value: manifest.JSONValue, Columns: []manifest.Column{{Name: "s", Type: manifest.String}}}
		s := encode(t, d, jobOf(batchOf(t, 0, body))).Record.Data[0].Stats[0]
		if got, want := fmt.Sprintf("%s %s", s.Min, s.Max), low+" "+high; got != want {
			t.Errorf("%.50q: bounds %s\nwant %s", value, got, want)
		}
	}
	x := strings.Repeat("x", 31)
	f("short", `"short"`, `"short"`)
	f("", `""`, `""`)
	f(x+"y", `"`+x+`y"`, `"`+x+`y"`)
	f(x+"yy", `"`+x+`y"`, `"`+x+`z"`)
	// The 32nd byte is in the middle of a character.
	f(x+"é", `"`+x+`"`, `"`+x[1:]+`y"`)
	// The last character has no next one: the one before it counts.
	f(x[:28]+"\U0010FFFF!", `"`+x[:28]+`􏿿"`, `"`+x[:27]+`y"`)
	// The one in front of the surrogates, and no character that has a next one.
	f(x[:29]+"\uD7FF!", `"`+x[:29]+"\uD7FF"+`"`, `"`+x[:29]+"\uE000"+`"`)
	f(strings.Repeat("\U0010FFFF", 9), `"`+strings.Repeat("\U0010FFFF", 8)+`"`, "")
}

// Columns whose values are all null, or of which there are none, have no bounds.
func TestNoBounds(t *testing.T) {
	d := manifest.Declared{Value: manifest.JSONValue, Columns: []manifest.Column{
		{Name: "i", Type: manifest.Int32}, {Name: "l", Type: manifest.List, Element: &manifest.Column{Type: manifest.Int32}},
	}}
	b := batchOf(t, 0, []byte(`{"l":[]}`), nil)
	s := encode(t, d, jobOf(b)).Record.Data[0].Stats
	for i, nulls := range []int64{2, 2} {
		if s[i].Min != nil || s[i].Max != nil || s[i].Nulls != nulls {
			t.Errorf("column %d: %+v", i, s[i])
		}
	}
	// One row group of nulls does not take the bounds of another away.
	d.Layout.GroupRows = 256
	vs := make([][]byte, 600)
	vs[300] = []byte(`{"i":-7}`)
	if s := encode(t, d, jobOf(batchOf(t, 0, vs...))).Record.Data[0].Stats[0]; string(s.Min) != "-7" || string(s.Max) != "-7" || s.Nulls != 599 {
		t.Errorf("%+v", s)
	}
}
