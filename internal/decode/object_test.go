package decode

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
)

// col is a column with a dotted path.
func col(path string, t manifest.Type) manifest.Column {
	return manifest.Column{Name: path, Path: strings.Split(path, "."), Type: t}
}

// structOf is a struct of strings with the names as fields.
func structOf(path string, fields ...string) manifest.Column {
	c := col(path, manifest.Struct)
	for _, f := range fields {
		c.Fields = append(c.Fields, col(f, manifest.String))
	}
	return c
}

func listOf(path string, e manifest.Column) manifest.Column {
	c := col(path, manifest.List)
	e.Name, e.Path = "", nil
	c.Element = &e
	return c
}

// show returns the tokens of fields and the rest, after the elements of lists
// were visited.
func show(o *Object, fields []*Field) string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%s=%s ", f.Column.Name, tokenText(o, f))
	}
	var a Arena
	rest, r := o.AppendRest(&a)
	fmt.Fprintf(&b, "rest=%s%s", rest, r)
	return b.String()
}

func tokenText(o *Object, f *Field) string {
	t := *o.Token(f)
	visit(f, t)
	if t.Kind == None {
		return "-"
	}
	if f.Column.Type != manifest.Struct || t.Kind != Map {
		return string(t.Text)
	}
	var parts []string
	for _, kid := range f.Fields {
		parts = append(parts, kid.Column.Name+":"+tokenText(o, kid))
	}
	return "<" + strings.Join(parts, " ") + ">"
}

// visit decodes the elements of a list, as an encoder does.
func visit(f *Field, t Token) {
	if f.Element == nil || t.Kind != Array {
		return
	}
	all := t.Elements()
	for e, ok := all.Next(); ok; e, ok = all.Next() {
		visit(f.Element, e)
		if o := f.Element.Object; o != nil && e.Kind == Map {
			_, _ = o.Decode(e.Text)
			for _, kid := range f.Element.Fields {
				visit(kid, *o.Token(kid))
			}
		}
	}
}

// check1 decodes a text with columns.
func check1(t *testing.T, cols []manifest.Column, text, want string) {
	t.Helper()
	o, fields := Compile(cols, true)
	// A record before it must leave no trace.
	_, _ = o.Decode([]byte(`{"a":1,"p":{"a":{"x":1},"z":3},"q":1,"list":[{"x":1}],"s":{"u":1}}`))
	got := ""
	if _, rej := o.Decode([]byte(text)); rej != nil {
		got = rej.Error()
	} else {
		got = show(o, fields)
	}
	if got != want {
		t.Errorf("%s\n got %s\nwant %s", text, got, want)
	}
}

func TestMembers(t *testing.T) {
	cols := []manifest.Column{col("a", manifest.Int32), col("p.b", manifest.Int32), col("p.c.d", manifest.Int32)}
	f := func(text, want string) {
		t.Helper()
		check1(t, cols, text, want)
	}
	f(`{"a":1,"p":{"b":2,"c":{"d":3}}}`, "a=1 p.b=2 p.c.d=3 rest=")
	// Any order, white space.
	f(` { "p" : { "c" : { "d" : 3 } , "b" : 2 } , "a" : 1 } `, "a=1 p.b=2 p.c.d=3 rest=")
	// Missing and null.
	f(`{}`, "a=- p.b=- p.c.d=- rest=")
	f(`{"a":null,"p":null}`, "a=null p.b=- p.c.d=- rest=")
	f(`{"p":{"c":null}}`, "a=- p.b=- p.c.d=- rest=")
	// Names are case-sensitive; the other spelling is a member of its own.
	f(`{"A":1,"a":2}`, `a=2 p.b=- p.c.d=- rest={"A":1}`)
	// Names may have escapes.
	f(`{"\u0061":1,"\u0070":{"\u0062":2}}`, "a=1 p.b=2 p.c.d=- rest=")
	// A prefix of a name, and a name with more.
	f(`{"aa":1,"":2}`, `a=- p.b=- p.c.d=- rest={"aa":1,"":2}`)
	// Something else where an object was expected is kept.
	f(`{"p":[1, 2]}`, `a=- p.b=- p.c.d=- rest={"p":[1, 2]}`)
	f(`{"p":{"c":"x"}}`, `a=- p.b=- p.c.d=- rest={"p":{"c":"x"}}`)
}

func TestDuplicates(t *testing.T) {
	cols := []manifest.Column{col("a", manifest.Int32), col("p.b", manifest.Int32), col("p.c.d", manifest.Int32)}
	f := func(text, want string) {
		t.Helper()
		check1(t, cols, text, want)
	}
	f(`{"a":1,"a":2}`, "a=2 p.b=- p.c.d=- rest=")
	f(`{"a":1,"\u0061":null}`, "a=null p.b=- p.c.d=- rest=")
	// A later object replaces the earlier one, with all that was nested in it.
	f(`{"p":{"b":1,"x":1,"c":{"d":1,"y":1}},"p":{"c":{"d":2}}}`, "a=- p.b=- p.c.d=2 rest=")
	f(`{"p":{"b":1,"x":1},"q":0,"p":{"z":3}}`, `a=- p.b=- p.c.d=- rest={"q":0,"p":{"z":3}}`)
	f(`{"p":{"c":{"d":1,"y":1},"c":{"d":2,"z":1}}}`, `a=- p.b=- p.c.d=2 rest={"p":{"c":{"z":1}}}`)
	// An object replaces what is none, and the other way round.
	f(`{"p":3,"p":{"b":1}}`, "a=- p.b=1 p.c.d=- rest=")
	f(`{"p":{"b":1,"x":1},"p":3}`, `a=- p.b=- p.c.d=- rest={"p":3}`)
	f(`{"p":{"b":1,"x":1},"p":null}`, "a=- p.b=- p.c.d=- rest=")
	// In the rest too, escapes or not, at the place of the last.
	f(`{"x":1,"y":2,"x":3}`, `a=- p.b=- p.c.d=- rest={"y":2,"x":3}`)
	f(`{"x":1,"\u0078":3}`, `a=- p.b=- p.c.d=- rest={"\u0078":3}`)
	f(`{"x":1,"p":{"x":2,"x":3}}`, `a=- p.b=- p.c.d=- rest={"x":1,"p":{"x":3}}`)
}

func TestRest(t *testing.T) {
	cols := []manifest.Column{
		col("a", manifest.Int32), col("whole", manifest.JSON), col("whole.in", manifest.Int32),
		structOf("s", "f"), listOf("list", structOf("", "f")), listOf("flat", col("", manifest.Int32)),
	}
	f := func(text, want string) {
		t.Helper()
		check1(t, cols, text, "a=- whole=- whole.in=- s=- list=- flat=- rest="+want)
	}
	// Keys and values are kept byte for byte, the white space between them is not.
	f(`{ "x" : [ 1.0e0 , "\u00e9" ] , "y":{ } }`, `{"x":[ 1.0e0 , "\u00e9" ],"y":{ }}`)
	f(`{"\u00e9":"é"}`, `{"\u00e9":"é"}`)
	f(`{"x":null}`, `{"x":null}`)
	f("{\"x\":\"\xff\"}", "invalid_utf8")
	f("{\"\xff\":1}", "invalid_utf8")
	f(`{"x":"\ud83d\ude00"}`, `{"x":"\ud83d\ude00"}`)
	f(`{"x":"\ud83d"}`, "invalid_utf8")
	f(`{"\ude00":1}`, "invalid_utf8")

	g := func(text, want string) {
		t.Helper()
		check1(t, cols, text, want)
	}
	// A column of JSON keeps all of its value, so nothing in it is left over.
	g(`{"whole":{"in":1,"x":2}}`, `a=- whole={"in":1,"x":2} whole.in=1 s=- list=- flat=- rest=`)
	// A struct takes its fields and leaves the rest.
	g(`{"s":{"f":"1","g":2}}`, `a=- whole=- whole.in=- s=<f:"1"> list=- flat=- rest={"s":{"g":2}}`)
	g(`{"s":{"f":"1"}}`, `a=- whole=- whole.in=- s=<f:"1"> list=- flat=- rest=`)
	// A value that does not fit is the column's, not left over.
	g(`{"s":7,"flat":8}`, `a=- whole=- whole.in=- s=7 list=- flat=8 rest=`)
	// A list of structs stays as a whole if any element has more.
	g(`{"list":[{"f":"1"},{"f":"2"}]}`, `a=- whole=- whole.in=- s=- list=[{"f":"1"},{"f":"2"}] flat=- rest=`)
	g(`{"list":[{"f":"1"},{"g":2}]}`, `a=- whole=- whole.in=- s=- list=[{"f":"1"},{"g":2}] flat=- rest={"list":[{"f":"1"},{"g":2}]}`)
	// A list of scalars has no rest.
	g(`{"flat":[1,2]}`, `a=- whole=- whole.in=- s=- list=- flat=[1,2] rest=`)
}

// What elements of nested lists have left over counts for the outermost list.
func TestRestOfNestedLists(t *testing.T) {
	inner := structOf("", "f")
	inner.Fields = append(inner.Fields, listOf("in", structOf("", "f")), col("way.to", manifest.Int32))
	cols := []manifest.Column{listOf("list", listOf("", inner))}
	f := func(text, want string) {
		t.Helper()
		check1(t, cols, text, "list="+text[len(`{"list":`):len(text)-1]+" rest="+want)
	}
	f(`{"list":[[{"f":"1","in":[{"f":"2"}]}],[]]}`, "")
	f(`{"list":[[{"f":"1","in":[{"f":"2","g":3}]}],[]]}`, `{"list":[[{"f":"1","in":[{"f":"2","g":3}]}],[]]}`)
	f(`{"list":[[],[{"g":1}]]}`, `{"list":[[],[{"g":1}]]}`)
	f(`{"list":[[{"way":{"to":1}}]]}`, "")
	f(`{"list":[[{"way":{"to":1,"x":2}}]]}`, `{"list":[[{"way":{"to":1,"x":2}}]]}`)
	f(`{"list":[[{"way":7}]]}`, `{"list":[[{"way":7}]]}`)
}

// Without a column for it, the rest is neither built nor looked at.
func TestNoRest(t *testing.T) {
	o, fields := Compile([]manifest.Column{col("a", manifest.Int32)}, false)
	if _, rej := o.Decode([]byte("{\"a\":1,\"x\":\"\xff\"}")); rej != nil {
		t.Fatal(rej)
	}
	if got := show(o, fields); got != "a=1 rest=" {
		t.Error(got)
	}
}

// Names with quotes and backslashes can be declared, and only match as a whole.
func TestOddNames(t *testing.T) {
	cols := []manifest.Column{
		{Name: "q", Path: []string{`a"b`}, Type: manifest.Int32},
		{Name: "s", Path: []string{`a\`}, Type: manifest.Int32},
		{Name: "e", Path: []string{""}, Type: manifest.Int32},
		{Name: "u", Path: []string{"é"}, Type: manifest.Int32},
	}
	check1(t, cols, `{"a\"b":1,"a\\":2,"":3,"é":4}`, "q=1 s=2 e=3 u=4 rest=")
	check1(t, cols, `{"a\"":1,"\u00e9":4}`, `q=- s=- e=- u=4 rest={"a\"":1}`)
}

// Many names that are not declared, with duplicates among them, make the table grow.
func TestRestOfManyMembers(t *testing.T) {
	o, fields := Compile(nil, true)
	for _, n := range []int{10, 1000, 30} {
		var b strings.Builder
		for i := range 2 * n {
			fmt.Fprintf(&b, `,"k%d":%d`, i%n, i)
		}
		if _, rej := o.Decode([]byte("{" + b.String()[1:] + "}")); rej != nil {
			t.Fatal(rej)
		}
		got := show(o, fields)
		if c := strings.Count(got, ":"); c != n {
			t.Errorf("%d members are left of %d names", c, n)
		}
		if want := fmt.Sprintf(`rest={"k0":%d,`, n); !strings.HasPrefix(got, want) {
			t.Errorf("%.40s, want %s", got, want)
		}
	}
}

// Two columns may look at one place.
func TestSamePlaceTwice(t *testing.T) {
	one, two := col("t", manifest.Int64), col("t", manifest.Timestamp)
	two.Name = "at"
	check1(t, []manifest.Column{one, two}, `{"t":5}`, "t=5 at=5 rest=")
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	o, fields := Compile([]manifest.Column{col("a", manifest.String), col("p.b", manifest.Int32), listOf("l", structOf("", "f"))}, true)
	text := []byte(`{"a":"\u00e9","x":[1,2],"p":{"b":1,"y":"é"},"l":[{"f":"1"},{"g":2}],"\u0078":1}`)
	var a Arena
	n := testing.AllocsPerRun(100, func() {
		a.Reset()
		if _, rej := o.Decode(text); rej != nil {
			t.Fatal(rej)
		}
		visit(fields[2], *o.Token(fields[2]))
		if rest, r := o.AppendRest(&a); r != "" || len(rest) == 0 {
			t.Fatal(r)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations for a record", n)
	}
}
