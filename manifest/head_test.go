package manifest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/record"
)

// full is a head with something in every field.
func full() Head {
	zero, late, null := int64(0), int64(1700000000000), "2026-01-31"
	r := filled(164, 170)
	r.Counts = Counts{Rows: 2, Duplicates: 1, Dead: 1, Filtered: 1, Absent: 1}
	r.Data[0].Rows = 2
	r.Data[0].MinTime, r.Data[0].MaxTime = &zero, &late
	r.Data[0].Values = []Value{{Column: "day", Value: &null}, {Column: "kind"}}
	r.Data[0].Stats = []Stat{{Column: 4, Min: json.RawMessage(`-1.5`), Max: json.RawMessage(`"z"`), Nulls: 1}, {Column: 5}}
	r.Dead = []File{{Key: Name{Partition: Partition{ID: part}, Range: r.Range}.Dead(), Rows: 1, Bytes: 9}}
	lost := hollow(170, 172)
	lost.Counts = Counts{Lost: 2}
	sealed := ListRef{Range: Range{Start: 100, Next: 164}, Random: random, Totals: Totals{Ranges: 64, Files: 64, Bytes: 640, Counts: Counts{Rows: 64}}}
	h := Head{
		Partition: Partition{ID: part}, Table: "quakes", Identity: quakes, LeaderEpoch: 5, Version: 200, Epoch: 2,
		Owner: Owner{ID: "0123", Host: "here", Software: "test 1.0"}, First: 100, Next: 172,
		Ranges: []RangeRecord{r, lost}, Sealed: []ListRef{sealed},
		Totals: sealed.Totals.Add(r.Totals()).Add(lost.Totals()), Schema: 2,
	}
	next := Name{Partition: h.Partition, Range: Range{Start: 172, Next: 180}}
	again := next
	again.Attempt = 1
	h.Pending = &Plan{Range: next.Range, Attempt: 1, Schema: 2, Keys: []string{again.Data()}, Superseded: []string{next.Data(), next.Dead()}}
	return h
}

// The stored form is a contract with other versions and other programs.
func TestHeadGolden(t *testing.T) {
	f := func(name string, h Head) {
		t.Helper()
		body, err := EncodeHead(h)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".json")
		if *update {
			if err := os.WriteFile(path, append(body, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(body) + "\n"; got != string(want) {
			t.Errorf("%s: the stored form changed (go test -update writes it anew)\ngot  %swant %s", path, got, want)
		}
		back, err := DecodeHead(want)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, h) {
			t.Errorf("%s decodes to\n%+v, want\n%+v", path, back, h)
		}
	}
	f("head-full", full())
	// A partition that was claimed and has published nothing.
	f("head-new", Head{
		Partition: Partition{ID: 0}, Table: "t", LeaderEpoch: -1, Version: 1, Epoch: 1, Owner: Owner{ID: "0123"},
		Identity: record.Identity{Cluster: "lab"},
	})
}

// What a newer minor version wrote comes back as it was, at every place.
func TestUnknownMembersComeBack(t *testing.T) {
	const more = `"zeta":{"a":[1,2.50,"<&>"],"b":null},"alpha":12345678901234567890,`
	body := asJSON(t, full())
	for _, at := range []string{
		`{"format":`,                      // head
		`{"start":164,`,                   // range record
		`{"start":172,`,                   // plan
		`{"key":"data/00003-` + "0000000", // file with rows
		`{"key":"dead/`,                   // dead-letter file
		`{"level":0,`,                     // list reference
	} {
		if strings.Count(body, at) != 1 {
			t.Fatalf("%q is %d times in %s", at, strings.Count(body, at), body)
		}
		body = strings.Replace(body, at, "{"+more+at[1:], 1)
	}
	body = strings.Replace(body, `"format":"1.0"`, `"format":"1.7"`, 1)
	h, err := DecodeHead([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	back, err := EncodeHead(h)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	for _, p := range []struct {
		body []byte
		to   *any
	}{{[]byte(body), &want}, {back, &got}} {
		d := json.NewDecoder(strings.NewReader(string(p.body)))
		d.UseNumber() // digits matter
		if err := d.Decode(p.to); err != nil {
			t.Fatal(err)
		}
	}
	want.(map[string]any)["format"] = Format
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// Unknown members live through a publish and a seal by this version.
func TestUnknownMembersAreSealedToo(t *testing.T) {
	s := empty()
	l := claim(t, s)
	commit(t, l, filled(100, 101))
	h := read(t, s)
	body := strings.Replace(asJSON(t, h), `{"key":"data/`, `{"color":"red","key":"data/`, 1)
	body = strings.Replace(body, `{"start":100,`, `{"mood":7,"start":100,`, 1)
	body = strings.Replace(body, `{"format":`, `{"weather":["wet"],"format":`, 1)
	body = strings.Replace(body, `"version":3`, `"version":4`, 1)
	put(t, s, h.HeadKey(), []byte(body))
	for at := int64(101); at < 165; at++ {
		commit(t, l, filled(at, at+1))
	}
	h = read(t, s)
	if len(h.Sealed) != 1 {
		t.Fatalf("%d lists, want 1", len(h.Sealed))
	}
	if got := asJSON(t, h); !strings.Contains(got, `"weather":["wet"]`) {
		t.Error("the member of the head is gone: ", got)
	}
	if got := asJSON(t, allRanges(t, h, s)[0]); !strings.Contains(got, `"mood":7`) || !strings.Contains(got, `"color":"red"`) {
		t.Error("the members of range and file are gone: ", got)
	}
}

func TestDecodeHeadRefuses(t *testing.T) {
	good := asJSON(t, full())
	f := func(what string, want error, old, repl string) {
		t.Helper()
		body := strings.Replace(good, old, repl, 1)
		if body == good {
			t.Fatalf("%s: %q is not in %s", what, old, good)
		}
		if _, err := DecodeHead([]byte(body)); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	// Another major format is refused before anything else is looked at.
	f("major", ErrFormat, `{"format":"1.0","table":"quakes"`, `{"format":"2.0","table":7`)
	f("no format", ErrDamage, `"format":"1.0",`, ``)
	f("format without a minor", ErrDamage, `"1.0"`, `"1"`)
	f("format in words", ErrDamage, `"1.0"`, `"one.zero"`)
	// What is no head at all.
	f("not JSON", ErrDamage, `{`, ``)
	f("array", ErrDamage, good, `[]`)
	f("null", ErrDamage, good, `null`)
	f("cut short", ErrDamage, good, good[:len(good)/2])
	f("nothing", ErrDamage, good, ``)
	// Members of the wrong form.
	f("short topic id", ErrDamage, `"topic_id":"01`, `"topic_id":"`)
	f("long topic id", ErrDamage, `"topic_id":"01`, `"topic_id":"0101`)
	f("topic id not hex", ErrDamage, `"topic_id":"01`, `"topic_id":"xx`)
	f("offset in words", ErrDamage, `"next_offset":172`, `"next_offset":"172"`)
	f("short sha256", ErrDamage, `"sha256":"`, `"sha256":"0`)
	f("sha256 not hex", ErrDamage, `"sha256":"0`, `"sha256":"x`)
	// A second spelling would win or lose by its place in the object.
	f("member in capitals", ErrDamage, `"next_offset":172`, `"next_offset":172,"Next_Offset":9`)
}
