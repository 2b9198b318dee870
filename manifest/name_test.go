package manifest

import (
	"errors"
	"testing"
)

const random = "00c0ffee00c0ffee"

// Every form of a name has one key, and the key has one name.
func TestNames(t *testing.T) {
	f := func(n Name, data, dead string) {
		t.Helper()
		if err := n.Validate(); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		if got := n.Data(); got != data {
			t.Errorf("data key %s, want %s", got, data)
		}
		if back, isDead, err := Parse(data); err != nil || isDead || back != n {
			t.Errorf("%s parses to %+v, dead %v, %v", data, back, isDead, err)
		}
		n.Hive = "" // dead letters are not partitioned
		if got := n.Dead(); got != dead {
			t.Errorf("dead key %s, want %s", got, dead)
		}
		if back, isDead, err := Parse(dead); err != nil || !isDead || back != n {
			t.Errorf("%s parses to %+v, dead %v, %v", dead, back, isDead, err)
		}
	}
	r := Range{Start: 7, Next: 12}
	const span = "00000000000000000007-00000000000000000012"
	p := Partition{ID: 3}

	// The plain form.
	f(Name{Partition: p, Range: r}, "data/00003-"+span+".parquet", "dead/00003-"+span+".parquet")
	// Planned again.
	f(Name{Partition: p, Range: r, Attempt: 12}, "data/00003-"+span+"-a12.parquet", "dead/00003-"+span+"-a12.parquet")
	// An output of maintenance.
	f(Name{Partition: p, Range: r, Random: random}, "data/00003-"+span+"-"+random+".parquet", "dead/00003-"+span+"-"+random+".parquet")
	// A random part that looks like the beginning of an attempt.
	f(Name{Partition: p, Range: r, Random: "a123456789012345"}, "data/00003-"+span+"-a123456789012345.parquet", "dead/00003-"+span+"-a123456789012345.parquet")
	// A later generation of the log.
	f(Name{Partition: Partition{ID: 3, Generation: 2}, Range: r}, "data/g0002-00003-"+span+".parquet", "dead/g0002-00003-"+span+".parquet")
	// Directories of partition columns.
	f(Name{Partition: p, Range: r, Hive: "day=2026-01-31/kind=%51uake"}, "data/day=2026-01-31/kind=%51uake/00003-"+span+".parquet", "dead/00003-"+span+".parquet")
	// All at once, with the largest numbers there are.
	f(Name{Partition: Partition{ID: 99999, Generation: 9999}, Range: Range{Start: 0, Next: 1<<63 - 1}, Attempt: 1<<30 - 1, Random: random, Hive: "a=b"},
		"data/a=b/g9999-99999-00000000000000000000-09223372036854775807-a1073741823-"+random+".parquet",
		"dead/g9999-99999-00000000000000000000-09223372036854775807-a1073741823-"+random+".parquet")
}

// What is nearly a name is none: it belongs to someone else.
func TestKeysThatAreNotNames(t *testing.T) {
	const ok = "00003-00000000000000000007-00000000000000000012"
	f := func(key string) {
		t.Helper()
		if n, _, err := Parse(key); err == nil {
			t.Errorf("%q parses to %+v", key, n)
		}
	}
	f("")
	f(ok + ".parquet")                                                   // no folder
	f("data/")                                                           // no base
	f("data/" + ok)                                                      // no suffix
	f("data/" + ok + ".PARQUET")                                         // suffix in capitals
	f("data/3-00000000000000000007-00000000000000000012.parquet")        // partition not padded
	f("data/00003-7-12.parquet")                                         // offsets not padded
	f("data/00003-00000000000000000007.parquet")                         // no next
	f("data/00003-00000000000000000012-00000000000000000012.parquet")    // empty range
	f("data/00003-00000000000000000012-00000000000000000007.parquet")    // negative range
	f("data/00003-+0000000000000000007-00000000000000000012.parquet")    // a sign is no digit
	f("data/00003-00000000000000000007-99999999999999999999.parquet")    // beyond 64 bits
	f("data/" + ok + "-a0.parquet")                                      // attempt 0 has no such part
	f("data/" + ok + "-a01.parquet")                                     // attempt padded
	f("data/" + ok + "-a+1.parquet")                                     // attempt with a sign
	f("data/" + ok + "-a.parquet")                                       // attempt without a number
	f("data/" + ok + "-a99999999999.parquet")                            // attempt beyond 31 bits
	f("data/" + ok + "-" + random + "-a1.parquet")                       // wrong order
	f("data/" + ok + "-" + random[:15] + ".parquet")                     // random part too short
	f("data/" + ok + "-00C0FFEE00C0FFEE.parquet")                        // random part in capitals
	f("data/" + ok + "-a1-" + random + "-x.parquet")                     // a part too many
	f("data/g0000-" + ok + ".parquet")                                   // generation 0 has no such part
	f("data/g1-" + ok + ".parquet")                                      // generation not padded
	f("data/g0001-" + ".parquet")                                        // nothing behind the generation
	f("data//" + ok + ".parquet")                                        // empty directory
	f("data/day/" + ok + ".parquet")                                     // directory without a value
	f("data/=x/" + ok + ".parquet")                                      // directory without a column
	f("data/day=/" + ok + ".parquet")                                    // directory with an empty value
	f("data/day=A b/" + ok + ".parquet")                                 // value not escaped
	f("data/../" + ok + ".parquet")                                      // way out of the table
	f("dead/day=1/" + ok + ".parquet")                                   // dead letters are not partitioned
	f("manifest/" + ok + ".parquet")                                     // another folder
	f("data/g0001-g0001-" + ok + ".parquet")                             // two generations
	f("data/00003-0000000000000000000x-00000000000000000012.parquet")    // not a digit
	f("data/00003-00000000000000000007-0000000000000000001\xff.parquet") // not text
}

// A name that no key could carry is refused before it is written.
func TestNamesWithoutAKey(t *testing.T) {
	f := func(n Name) {
		t.Helper()
		if n.Validate() == nil {
			t.Errorf("%+v is valid", n)
		}
	}
	r := Range{Start: 7, Next: 12}
	f(Name{Partition: Partition{ID: -1}, Range: r})
	f(Name{Partition: Partition{ID: 100000}, Range: r})
	f(Name{Partition: Partition{Generation: -1}, Range: r})
	f(Name{Partition: Partition{Generation: 10000}, Range: r})
	f(Name{Range: r, Attempt: -1})
	f(Name{Range: r, Random: "short"})
	f(Name{Range: r, Hive: "day"})
	f(Name{Range: Range{Start: -1, Next: 1}})
	f(Name{})
}

func TestHeadKeys(t *testing.T) {
	// Partition ids have five digits.
	if got := (Partition{ID: 42, Generation: 3}).HeadKey(); got != "manifest/00042.json" {
		t.Errorf("head key %s: it must not depend on the generation", got)
	}
	if id, err := ParseHeadKey("manifest/00042.json"); err != nil || id != 42 {
		t.Errorf("got %d, %v", id, err)
	}
	// What lies beside heads is none.
	for _, key := range []string{"", "manifest/", "manifest/42.json", "manifest/000042.json", "manifest/00042.json.bak", "00042.json", "manifest/0004x.json", "manifest/00042/0.json"} {
		if id, err := ParseHeadKey(key); !errors.Is(err, ErrName) {
			t.Errorf("%q is the head of %d, %v", key, id, err)
		}
	}
}

func TestListNames(t *testing.T) {
	n := ListName{Partition: 42, Level: 2, Range: Range{Start: 7, Next: 12}, Random: random}
	const key = "manifest/00042/2-00000000000000000007-00000000000000000012-" + random + ".json"
	if got := n.Key(); got != key {
		t.Errorf("key %s, want %s", got, key)
	}
	if back, err := ParseListName(key); err != nil || back != n {
		t.Errorf("parses to %+v, %v", back, err)
	}
	f := func(key string) {
		t.Helper()
		if n, err := ParseListName(key); !errors.Is(err, ErrName) {
			t.Errorf("%q parses to %+v, %v", key, n, err)
		}
	}
	const span = "00000000000000000007-00000000000000000012"
	f("manifest/00042.json")                                                            // a head
	f("manifest/42/2-" + span + "-" + random + ".json")                                 // partition not padded
	f("manifest/00042/02-" + span + "-" + random + ".json")                             // level padded
	f("manifest/00042/-2-" + span + "-" + random + ".json")                             // negative level
	f("manifest/00042/99-" + span + "-" + random + ".json")                             // level beyond all
	f("manifest/00042/2-" + span + ".json")                                             // no random part
	f("manifest/00042/2-" + span + "-" + random + "-1.json")                            // a part too many
	f("manifest/00042/2-00000000000000000012-00000000000000000007-" + random + ".json") // negative range
	f("data/00042/2-" + span + "-" + random + ".json")                                  // another folder
	f("manifest/00042/x/2-" + span + "-" + random + ".json")                            // a folder too many
}

// Names sort as the offsets do: a listing is in order.
func TestNamesSortAsOffsets(t *testing.T) {
	before := ""
	for _, start := range []int64{0, 9, 10, 99, 1 << 20, 1 << 62} {
		key := Name{Range: Range{Start: start, Next: start + 1}}.Data()
		if key <= before {
			t.Errorf("%s does not sort after %s", key, before)
		}
		before = key
	}
}
