package decode

import (
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
)

// newBare returns an object that no column looks into: only the text is checked.
func newBare() *Object {
	o, _ := Compile(nil, false)
	return o
}

// checkText compares what is said of a text with want.
func checkText(t *testing.T, o *Object, text, want string) {
	t.Helper()
	got := "ok"
	if _, rej := o.Decode([]byte(text)); rej != nil {
		got = rej.Error()
	}
	if got != want {
		t.Errorf("%q: %s, want %s", text, got, want)
	}
}

func TestDecodeChecksText(t *testing.T) {
	o := newBare()
	f := func(text, want string) {
		t.Helper()
		checkText(t, o, text, want)
	}
	// One object with white space around it, or null.
	f("{}", "ok")
	f(" \t\r\n{ } \n", "ok")
	f("null", "ok")
	f(" null ", "ok")
	f(`{"a":[1,-0.5e+10,"x\u00e9",true,false,null,{},[],{"b":[[]]}]}`, "ok")
	f("{ \"a\" : 1 , \"b\" : [ 1 , 2 ] }", "ok")
	f(`{"":0,"a\"b":1}`, "ok")
	// Nothing, or blanks only.
	f("", "bad_json: the value is empty")
	f(" \n", "bad_json: the value is empty")
	// Other values than objects.
	f("3", "not_object: the value is 3")
	f(`"text"`, `not_object: the value is "text"`)
	f("[{}]", "not_object: the value is [{}]")
	f("true", "not_object: the value is true")
	// Text behind the value.
	f("{} {}", `bad_json: unexpected "{" at byte 3`)
	f("nullx", `bad_json: unexpected "x" at byte 4`)
	f("{}\x00", `bad_json: unexpected "\x00" at byte 2`)
	// Cut short.
	f("{", "bad_json: ends at byte 1 in the middle of a value")
	f(`{"a`, "bad_json: ends at byte 3 in the middle of a value")
	f(`{"a"`, "bad_json: ends at byte 4 in the middle of a value")
	f(`{"a":`, "bad_json: ends at byte 5 in the middle of a value")
	f(`{"a":1`, "bad_json: ends at byte 6 in the middle of a value")
	f(`{"a":[1`, "bad_json: ends at byte 7 in the middle of a value")
	f(`{"a":tru`, "bad_json: ends at byte 8 in the middle of a value")
	f(`{"a":"\`, "bad_json: ends at byte 7 in the middle of a value")
	f(`{"a":"\u12`, "bad_json: ends at byte 10 in the middle of a value")
	f("nul", "bad_json: ends at byte 3 in the middle of a value")
}

func TestDecodeChecksGrammar(t *testing.T) {
	o := newBare()
	f := func(text, want string) {
		t.Helper()
		checkText(t, o, text, want)
	}
	// Commas and colons.
	f(`{"a":1,}`, `bad_json: unexpected "}" at byte 7`)
	f(`{,}`, `bad_json: unexpected "," at byte 1`)
	f(`{"a" 1}`, `bad_json: unexpected "1" at byte 5`)
	f(`{"a":1 "b":2}`, `bad_json: unexpected "\"" at byte 7`)
	f(`{"a":[1,]}`, `bad_json: unexpected "]" at byte 8`)
	f(`{"a":[,1]}`, `bad_json: unexpected "," at byte 6`)
	f(`{"a":[1}`, `bad_json: unexpected "}" at byte 7`)
	f(`{"a":{"b":1]}`, `bad_json: unexpected "]" at byte 11`)
	f(`{a:1}`, `bad_json: unexpected "a" at byte 1`)
	f(`{1:1}`, `bad_json: unexpected "1" at byte 1`)
	f(`{'a':1}`, `bad_json: unexpected "'" at byte 1`)
	// Numbers that JSON does not have.
	f(`{"a":01}`, `bad_json: unexpected "1" at byte 6`)
	f(`{"a":-}`, `bad_json: unexpected "}" at byte 6`)
	f(`{"a":1.}`, `bad_json: unexpected "}" at byte 7`)
	f(`{"a":.5}`, `bad_json: unexpected "." at byte 5`)
	f(`{"a":1e}`, `bad_json: unexpected "}" at byte 7`)
	f(`{"a":1e+}`, `bad_json: unexpected "}" at byte 8`)
	f(`{"a":+1}`, `bad_json: unexpected "+" at byte 5`)
	f(`{"a":0x10}`, `bad_json: unexpected "x" at byte 6`)
	f(`{"a":NaN}`, `bad_json: unexpected "N" at byte 5`)
	f(`{"a":-Infinity}`, `bad_json: unexpected "I" at byte 6`)
	// Control characters and escapes that are none, early and late in a string.
	f("{\"a\":\"\n\"}", `bad_json: unexpected "\n" at byte 6`)
	f("{\"a\":\"0123456789\x1f\"}", `bad_json: unexpected "\x1f" at byte 16`)
	f("{\"a\tb\":1}", `bad_json: unexpected "\t" at byte 3`)
	f(`{"a":"\x41"}`, `bad_json: unexpected "x" at byte 7`)
	f(`{"a":"\u12g4"}`, `bad_json: unexpected "g" at byte 10`)
	f("{\"a\":\"\\\xff\"}", `bad_json: unexpected "�" at byte 7`)
	// Case of the literals, and a byte order mark.
	f(`{"a":True}`, `bad_json: unexpected "T" at byte 5`)
	f("\xef\xbb\xbf{}", `bad_json: unexpected "�" at byte 0`)
}

// A special byte is found at any place of a word, also behind bytes that look
// like it to arithmetic on words.
func TestStringScan(t *testing.T) {
	o := newBare()
	for n := range 20 {
		for _, before := range []string{"a", "!", "#", "\x7f", "[", "]", "é", "\U0001f600"} {
			text := `{"k":"` + strings.Repeat(before, n)
			if _, rej := o.Decode([]byte(text + `"}`)); rej != nil {
				t.Errorf("%d %q: %v", n, before, rej)
			}
			if _, rej := o.Decode([]byte(text + `\"\\"}`)); rej != nil {
				t.Errorf("%d %q and escapes: %v", n, before, rej)
			}
			if _, rej := o.Decode([]byte(text + "\x1f\"}")); rej == nil {
				t.Errorf("%d %q and a control character: accepted", n, before)
			}
			if _, rej := o.Decode([]byte(text)); rej == nil || !strings.Contains(rej.Detail, "middle") {
				t.Errorf("%d %q without an end: %v", n, before, rej)
			}
		}
	}
}

func TestDepth(t *testing.T) {
	f := func(cols []manifest.Column, open, end string, n int, want Reason) {
		t.Helper()
		o, _ := Compile(cols, true)
		got := Reason("")
		if _, rej := o.Decode([]byte(strings.Repeat(open, n) + "1" + strings.Repeat(end, n))); rej != nil {
			got = rej.Reason
		}
		if got != want {
			t.Errorf("%d levels of %s: %q, want %q", n, open, got, want)
		}
	}
	a := []manifest.Column{{Name: "a", Path: []string{"a", "a"}, Type: manifest.JSON}}
	f(nil, `{"a":`, "}", MaxDepth, "")
	f(nil, `{"a":`, "}", MaxDepth+1, TooDeep)
	// The same through objects that columns reach into.
	f(a, `{"a":`, "}", MaxDepth, "")
	f(a, `{"a":`, "}", MaxDepth+1, TooDeep)
	// Very deep text costs no stack.
	f(a, `{"a":[`, "]}", 1_000_000, TooDeep)
	// After a failure the depth starts anew.
	o, _ := Compile(nil, false)
	for range MaxDepth {
		_, _ = o.Decode([]byte(`{"a":{`))
	}
	if _, rej := o.Decode([]byte(`{"a":{}}`)); rej != nil {
		t.Error(rej)
	}
}

func TestElements(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		var got []string
		all := token(t, text).Elements()
		for e, ok := all.Next(); ok; e, ok = all.Next() {
			got = append(got, string(e.Text))
		}
		if strings.Join(got, "|") != strings.Join(want, "|") || len(got) != len(want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	f("[]")
	f("[ ]")
	f("[1]", "1")
	f(" [1]"[1:], "1")
	f(`[ 1 , "a,]" , [2, 3] , {"b":[]} , null ]`, "1", `"a,]"`, "[2, 3]", `{"b":[]}`, "null")
}

func TestQuote(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := Quote([]byte(text)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f("1.5", "1.5")
	f("\xff", "\uFFFD")
	f(strings.Repeat("x", 64), strings.Repeat("x", 64))
	f(strings.Repeat("x", 65), strings.Repeat("x", 64)+"... (65 bytes)")
	// Cut in the middle of a character.
	f(strings.Repeat("x", 63)+"éé", strings.Repeat("x", 63)+"\uFFFD... (67 bytes)")
}
