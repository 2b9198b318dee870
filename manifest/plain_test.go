package manifest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// samePlain fails unless both ways of decoding agree about a body that the
// short one takes, and both ways of encoding about what comes of it.
func samePlain(t *testing.T, body []byte) (head, isList bool) {
	t.Helper()
	got, head := fromPlainHead(body)
	if head {
		var want headJSON
		unknown, err := decodeWith(body, &want)
		if err != nil || unknown != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("head is decoded as\n%+v, want (%v, unknown %v)\n%+v\n%s", got, err, unknown, want, body)
		}
		if checkFormat(body) != nil {
			t.Errorf("head is taken, but %v", checkFormat(body))
		}
		if h, err := DecodeHead(body); err == nil {
			short, err1 := EncodeHead(h)
			long, err2 := encodeWith(newHeadForm(h, h.Pending, h.Ranges, h.Sealed), nil)
			if err1 != nil || err2 != nil || !bytes.Equal(short, long) {
				t.Errorf("encoded (%v, %v) as\n%s, want\n%s", err1, err2, short, long)
			}
		}
	}
	l, isList := fromPlainList(body)
	if isList {
		var want list
		if err := json.Unmarshal(body, &want); err != nil || !reflect.DeepEqual(l, want) {
			t.Errorf("list is decoded as\n%+v, want (%v)\n%+v\n%s", l, err, want, body)
		}
		short, err1 := encodeList(l)
		long, err2 := json.Marshal(l)
		if err1 != nil || err2 != nil || !bytes.Equal(short, long) {
			t.Errorf("encoded (%v, %v) as\n%s, want\n%s", err1, err2, short, long)
		}
	}
	return head, isList
}

// The short way takes what this version writes, and gives it as the long way does.
func TestPlain(t *testing.T) {
	f := func(what string, body string, head, isList bool) {
		t.Helper()
		if h, l := samePlain(t, []byte(body)); h != head || l != isList {
			t.Errorf("%s: taken as a head: %v, as a list: %v, want %v and %v", what, h, l, head, isList)
		}
	}
	good := asJSON(t, full())
	f("a full head", good, true, false)
	f("a new head", asJSON(t, Head{Table: "t", Version: 1, Epoch: 1, Owner: Owner{ID: "x"}}), true, false)
	h, lists := sealedHead(t, 65)
	f("a head that has sealed", asJSON(t, h), true, false)
	f("a list of ranges", string(lists[0].body), false, true)
	f("a list of lists", asJSON(t, list{listFields: listFields{Format: Format, Table: "t", Level: 1}, Lists: full().Sealed}), false, true)
	// Written by hand, in lines.
	var spread bytes.Buffer
	if err := json.Indent(&spread, []byte(good), " ", "\t"); err != nil {
		t.Fatal(err)
	}
	f("with spaces", "\n"+spread.String()+"\n", true, false)
	edit := func(old, repl string) string {
		t.Helper()
		if strings.Count(good, old) == 0 {
			t.Fatalf("%q is not in %s", old, good)
		}
		return strings.Replace(good, old, repl, 1)
	}
	// Quotes, brackets and commas inside strings end nothing.
	f("signs in strings", edit(`"host":"here"`, `"host":"a\"]},\\","mood":["{[",{}]`), true, false)
	// A member that this version does not know, at each place that keeps them.
	f("in the head", edit(`{"format":`, `{"more":{"rows":[1,"]"]},"format":`), false, false)
	f("in a range", edit(`{"start":164,`, `{"rows":1,"start":164,`), false, false)
	f("in a plan", edit(`{"start":172,`, `{"more":null,"start":172,`), false, false)
	f("in a file", edit(`{"key":"data/00003-0000000`, `{"more":-1.5e9,"key":"data/00003-0000000`), false, false)
	f("in a reference", edit(`{"level":0,`, `{"level":0,"more":"",`), false, false)
	// encoding/json would take these for ours, one way or the other.
	f("capitals", edit(`"next_offset"`, `"Next_Offset"`), false, false)
	f("escapes", edit(`"next_offset"`, `"\u006eext_offset"`), false, false)
	f("twice", edit(`"schema":2}`, `"schema":2,"schema":3}`), false, false)
	// Null for an object, and for a list of them.
	f("no plan", `{"format":"1.0","pending":null,"ranges":null,"sealed":[]}`, true, false)
	f("null in a list", `{"format":"1.0","ranges":[null,{"data":[null]}],"sealed":[null]}`, true, false)
	// Not a head at all.
	f("another major", edit(`"format":"1.0"`, `"format":"2.0"`), false, false)
	f("a number", `7`, false, false)
	f("a list of heads", `[{"format":"1.0"}]`, false, false)
	f("nothing", ``, false, false)
}

// wide is a head as wide tables have it: ranges with statistics of 16 columns,
// nearly enough to be sealed.
func wide() Head {
	h := Head{
		Partition: Partition{ID: part}, Table: "quakes", Identity: quakes, Version: 9, Epoch: 1,
		Owner: Owner{ID: "0123"}, First: begin, Next: begin, Schema: 1,
	}
	for i := int64(0); i < 23; i++ {
		r := filled(begin+i, begin+i+1)
		for c := range 16 {
			r.Data[0].Stats = append(r.Data[0].Stats, Stat{Column: c, Min: json.RawMessage(`"0123456789abcdef"`), Max: json.RawMessage(`1700000000000`)})
		}
		h.Ranges, h.Totals, h.Next = append(h.Ranges, r), h.Totals.Add(r.Totals()), r.Next
	}
	return h
}

// The codec of heads is what a claim costs, and half of a commit.
func BenchmarkHead(b *testing.B) {
	h := wide()
	body, err := EncodeHead(h)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := EncodeHead(h); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := DecodeHead(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	// What keeps unknown members, for comparison.
	b.Run("decode with unknown members", func(b *testing.B) {
		more := bytes.Replace(body, []byte(`{"format"`), []byte(`{"more":1,"format"`), 1)
		b.SetBytes(int64(len(more)))
		for b.Loop() {
			if _, err := DecodeHead(more); err != nil {
				b.Fatal(err)
			}
		}
	})
}
