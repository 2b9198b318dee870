package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/lakeweir/lakeweir/store"
)

// FuzzNames: a key that parses is the key of what it parses to, for each kind
// of key, and one that a store takes.
func FuzzNames(f *testing.F) {
	f.Add("data/00003-00000000000000000007-00000000000000000012.parquet")
	f.Add("data/day=1/hour=%41/g0001-00003-00000000000000000007-00000000000000000012-a2-" + random + ".parquet")
	f.Add("dead/00003-00000000000000000007-00000000000000000012-a1.parquet")
	f.Add("manifest/00042.json")
	f.Add("manifest/00042/2-00000000000000000007-00000000000000000012-" + random + ".json")
	f.Add("schema/0000000001.json")
	f.Fuzz(func(t *testing.T, key string) {
		kinds := 0
		agree := func(back string, err error) {
			t.Helper()
			switch {
			case err != nil && !errors.Is(err, ErrName):
				t.Errorf("%q: %v is not ErrName", key, err)
			case err == nil && back != key:
				t.Errorf("%q parses to what has the key %q", key, back)
			case err == nil && store.CheckKey(key) != nil:
				t.Errorf("%q parses, but %v", key, store.CheckKey(key))
			case err == nil:
				kinds++
			}
		}
		n, dead, err := Parse(key)
		if dead {
			agree(n.Dead(), err)
		} else {
			agree(n.Data(), err)
		}
		if err == nil && n.Validate() != nil {
			t.Errorf("%q parses, but %v", key, n.Validate())
		}
		id, err := ParseHeadKey(key)
		agree(Partition{ID: id}.HeadKey(), err)
		l, err := ParseListName(key)
		agree(l.Key(), err)
		version, err := ParseSchemaKey(key)
		agree(SchemaKey(version), err)
		if kinds > 1 {
			t.Errorf("%q is of %d kinds", key, kinds)
		}
	})
}

// FuzzObjects reads any bytes as a head, as a sealed list and as a schema. What
// the short way of decoding takes, it takes as the long way does.
func FuzzObjects(f *testing.F) {
	for _, h := range []Head{full(), {Table: "t", Version: 1, Epoch: 1, Owner: Owner{ID: "x"}}} {
		f.Add([]byte(asJSON(f, h)))
	}
	h, lists := sealedHead(f, 65)
	f.Add([]byte(asJSON(f, h)))
	f.Add(lists[0].body)
	small := list{listFields: listFields{Format: Format, Table: "t"}, Ranges: []RangeRecord{full().Ranges[0], full().Ranges[1]}}
	f.Add([]byte(asJSON(f, small)))
	f.Add([]byte(asJSON(f, list{listFields: listFields{Format: Format, Table: "t", Level: 1}, Lists: full().Sealed})))
	s, err := NewSchema(declared(
		Column{Name: "a", Type: List, Element: &Column{Type: Struct, Fields: []Column{{Name: "x", Type: Decimal, Precision: 9}}}},
		Column{Name: "at", Path: []string{"p", "q.r"}, Type: Timestamp, Unit: Milliseconds, Encoding: Delta, Required: true},
	))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(asJSON(f, s)))
	f.Add([]byte(`{"format":"1.0"}`))
	f.Add([]byte(`{"format":"1.0","ranges":[null,{"data":[{"stats":[{"c":1,"min":{"a":[]}}]}]}]}`))
	f.Add([]byte(`{"format":"2.0","a":[{"b":null}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		fuzzHead(t, body)
		fuzzList(t, body)
		fuzzSchema(t, body)
		samePlain(t, body)
	})
}

// caused fails for an error that does not say whether the object is damaged
// or of another format.
func caused(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrDamage) && !errors.Is(err, ErrFormat) {
		t.Errorf("%v is neither ErrDamage nor ErrFormat", err)
	}
}

// fuzzHead: a head that is taken keeps its promises, is written back as it was
// read, and loses no member that is not known.
func fuzzHead(t *testing.T, body []byte) {
	t.Helper()
	h, err := DecodeHead(body)
	if err != nil {
		caused(t, err)
		return
	}
	stored := asJSON(t, h)
	back, err := DecodeHead([]byte(stored))
	if err != nil {
		t.Fatalf("decoded, but not again: %v\n%s", err, stored)
	}
	if again := asJSON(t, back); again != stored {
		t.Errorf("stored as\n%s, then as\n%s", stored, again)
	}
	sound(t, h.Totals)
	var in, out map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(body, &in), json.Unmarshal([]byte(stored), &out)); err != nil {
		t.Fatal(err)
	}
	for name, value := range in {
		if !memberNames(reflect.TypeFor[headJSON]())[name] && !equalJSON(t, value, out[name]) {
			t.Errorf("member %q is %s, was %s", name, out[name], value)
		}
	}
}

// equalJSON reports whether two texts differ in white space at most.
func equalJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y bytes.Buffer
	if err := errors.Join(json.Compact(&x, a), json.Compact(&y, b)); err != nil {
		return false
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// sound fails for totals that no sum of ranges has.
func sound(t *testing.T, sum Totals) {
	t.Helper()
	c := sum.Counts
	if least := min(sum.Ranges, sum.Files, sum.Bytes, c.Rows, c.Duplicates, c.Dead, c.Filtered, c.Absent, c.Lost, c.Sum()); least < 0 {
		t.Errorf("totals %+v", sum)
	}
}

// fuzzList: a list that is taken spans the range of its reference, in parts
// that follow each other, and is written back as it was read.
func fuzzList(t *testing.T, body []byte) {
	t.Helper()
	ref := refOf(body)
	if ref.Next <= ref.Start {
		return // no list has such a reference
	}
	l, err := decodeList(body, ref)
	if err != nil {
		caused(t, err)
		return
	}
	sound(t, ref.Totals)
	at := ref.Start
	for _, r := range l.Ranges {
		if r.Start != at || r.Counts.Sum() != r.Len() {
			t.Errorf("range %s at %d accounts for %d: %s", r.Range, at, r.Counts.Sum(), body)
		}
		at = r.Next
	}
	for _, r := range l.Lists {
		if r.Start != at || r.Level != l.Level-1 {
			t.Errorf("list of level %d, %s, at %d below level %d", r.Level, r.Range, at, l.Level)
		}
		at = r.Next
	}
	if at != ref.Next {
		t.Errorf("the list ends at %d, not at %d", at, ref.Next)
	}
	if _, err := decodeList([]byte(asJSON(t, l)), ref); err != nil {
		t.Errorf("decoded, but not again: %v", err)
	}
}

// refOf returns the reference that a list would have if it were sound. No
// fuzzer would find a list for one that is given.
func refOf(body []byte) (ref ListRef) {
	var l list
	_ = json.Unmarshal(body, &l) // an error leaves a reference that fits nothing
	ref.Level = l.Level
	for i, r := range l.Ranges {
		if i == 0 {
			ref.Start, ref.Generation = r.Start, r.Generation
		}
		ref.Next, ref.Totals = r.Next, ref.Totals.Add(r.Totals())
	}
	for i, r := range l.Lists {
		if i == 0 {
			ref.Start, ref.Generation = r.Start, r.Generation
		}
		ref.Next, ref.Totals = r.Next, ref.Totals.Add(r.Totals)
	}
	return ref
}

// fuzzSchema: a schema that is taken is the same when it is written and read.
func fuzzSchema(t *testing.T, body []byte) {
	t.Helper()
	s, err := DecodeSchema(body)
	if err != nil {
		caused(t, err)
		return
	}
	again, err := EncodeSchema(s)
	if err != nil {
		t.Fatalf("cannot be encoded again: %v", err)
	}
	got, err := DecodeSchema(again)
	if err != nil || !SameContent(got, s) || !reflect.DeepEqual(idsOf(got), idsOf(s)) {
		t.Errorf("came back as %+v, %v", got, err)
	}
	if err := s.DeadLetters().Validate(); err != nil {
		t.Errorf("its dead letters: %v", err)
	}
	if next := s.Inherit([]Schema{s}); !reflect.DeepEqual(idsOf(next), idsOf(s)) {
		t.Errorf("ids %v are inherited as %v", idsOf(s), idsOf(next))
	}
}
