package verify

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
)

const (
	head0 = "manifest/00000.json"
	data0 = "data/00000-00000000000000000000-00000000000000000005.parquet"
	data1 = "data/00000-00000000000000000005-00000000000000000010.parquet"
	dead0 = "dead/00000-00000000000000000000-00000000000000000005.parquet"
)

var deep = Options{Table: "quakes", Deep: true, ID: "id"}

// A table that writers made is whole, however deep one looks: with sealed
// lists, with a plan that is pending, and with superseded names.
func TestWholeTable(t *testing.T) {
	tb := newTable(t, sealing)
	if lists := tb.list("manifest/00000/"); len(lists) == 0 {
		t.Fatal("nothing was sealed")
	}
	var done int64
	tb.finds(Options{})
	tb.finds(Options{Table: "quakes", Progress: func(d, _ int64) { done = max(done, d) }})
	if want := int64(2 * (sealing + 1)); done != want {
		t.Errorf("looked at %d files, want %d", done, want)
	}
	tb.finds(deep)
	// Written, not published.
	tb.plan(0, tb.encode(0, "", 0))
	tb.finds(deep)
}

// A range that was planned again leaves names without rows.
func TestSupersededNames(t *testing.T) {
	tb := newTable(t, 1)
	first := tb.encode(0, "", 0)
	tb.plan(0, first)
	second := tb.encode(0, "", 1)
	tb.plan(0, second, first.Record.Keys()...)
	// The old objects still have rows, but their names are in the plan.
	tb.finds(deep)
	tb.commit(0, second)
	// Published without emptying them: whoever lists data/ reads rows twice.
	tb.finds(deep, "damage unknown_file "+first.Record.Data[0].Key, "damage unknown_file "+first.Record.Dead[0].Key)
	for _, key := range first.Record.Keys() {
		job := manifest.Job{Table: "quakes", Range: first.Record.Range, Attempt: 1, Schema: 1}
		body, err := tb.encoder.Vacant(job, key)
		if err != nil {
			t.Fatal(err)
		}
		tb.put(key, body)
	}
	tb.finds(deep)
}

func TestFiles(t *testing.T) {
	f := func(damage func(tb *table), o Options, want ...string) {
		t.Helper()
		tb := newTable(t, 2)
		damage(tb)
		tb.finds(o, want...)
	}
	quick := Options{Table: "quakes"}
	// Gone.
	f(func(tb *table) { tb.remove(data1) }, quick, "damage missing_file "+data1)
	f(func(tb *table) { tb.remove(dead0) }, quick, "damage missing_file "+dead0)
	// Cut off.
	f(func(tb *table) { b := tb.get(data0); tb.put(data0, b[:len(b)-9]) }, quick, "damage bad_size "+data0)
	// One bit turned, in the rows and in the footer.
	f(func(tb *table) { b := tb.get(data0); b[len(b)/4] ^= 1; tb.put(data0, b) }, quick, "damage bad_hash "+data0)
	f(func(tb *table) { b := tb.get(data0); b[len(b)-20] ^= 1; tb.put(data0, b) }, deep, "damage bad_hash "+data0)
	// Something that is no Parquet, recorded as if it were.
	f(func(tb *table) {
		body := []byte("PAR1 but not really PAR1")
		tb.put(data1, body)
		tb.rewrite(0, func(r *manifest.RangeRecord) {
			r.Data[0].Bytes, r.Data[0].SHA256 = int64(len(body)), sha256.Sum256(body)
		})
	}, quick, "damage bad_footer "+data1)
	// The bytes of another range's file under this one's name, recorded so.
	f(func(tb *table) {
		body := tb.get(data0)
		tb.put(data1, body)
		tb.rewrite(0, func(r *manifest.RangeRecord) {
			r.Data[0].Bytes, r.Data[0].SHA256 = int64(len(body)), sha256.Sum256(body)
		})
	}, quick, "damage bad_footer "+data1)
}

func TestForeignFiles(t *testing.T) {
	f := func(key string, want ...string) {
		t.Helper()
		tb := newTable(t, 2)
		tb.put(key, tb.get(data0))
		tb.finds(Options{Table: "quakes"}, want...)
	}
	// No name of ours.
	f("data/copy.parquet", "damage unknown_file data/copy.parquet")
	f("dead/copy.parquet", "damage unknown_file dead/copy.parquet")
	// Our form of name, but no head names it: another cut of the same records.
	const cut = "data/00000-00000000000000000000-00000000000000000003.parquet"
	f(cut, "damage unknown_file "+cut)
	// Beyond what is published, without a plan.
	const beyond = "data/00000-00000000000000000010-00000000000000000015.parquet"
	f(beyond, "damage unknown_file "+beyond)
	// Of a generation that there is not.
	const later = "data/g0001-00000-00000000000000000000-00000000000000000005.parquet"
	f(later, "damage unknown_file "+later)
	// Of a partition that has no head.
	f("data/00007-00000000000000000000-00000000000000000005.parquet", "damage no_head manifest/00007.json")
	// No Parquet.
	tb := newTable(t, 1)
	tb.put(cut, []byte("x"))
	tb.put("data/00000-00000000000000000000-00000000000000000004.parquet", nil)
	tb.finds(Options{}, "damage unknown_file "+cut,
		"damage unknown_file data/00000-00000000000000000000-00000000000000000004.parquet")
	// Elsewhere nobody reads rows.
	tb = newTable(t, 1)
	tb.put("_delta_log/00000000000000000000.json", []byte("{}"))
	tb.put("manifest/notes.txt", []byte("x"))
	tb.put("schema/notes.txt", []byte("x"))
	tb.finds(Options{}, "warning unknown_entry manifest/notes.txt", "warning unknown_entry schema/notes.txt")
}

// A reset gives a pending plan up: its objects are left, and are no damage.
func TestLeftOfAReset(t *testing.T) {
	tb := newTable(t, 1)
	e := tb.encode(0, "", 0)
	tb.plan(0, e)
	if _, err := manifest.Reset(t.Context(), tb.s, manifest.Claimant{Table: "quakes", First: zero}); err != nil {
		t.Fatal(err)
	}
	tb.finds(deep, "warning leftover "+e.Record.Data[0].Key, "warning leftover "+e.Record.Dead[0].Key)
	// The next generation has the same offsets and other names.
	delete(tb.logs, 0)
	tb.publish(0, "")
	tb.finds(Options{}, "warning leftover "+e.Record.Data[0].Key, "warning leftover "+e.Record.Dead[0].Key)
}

func TestHeads(t *testing.T) {
	f := func(damage func(tb *table), want ...string) {
		t.Helper()
		tb := newTable(t, sealing)
		damage(tb)
		tb.finds(Options{Table: "quakes"}, want...)
	}
	bad := "damage bad_head " + head0
	// A gap in the ranges.
	f(func(tb *table) { tb.edit(head0, `"ranges":[{"start":155,`, `"ranges":[{"start":156,`) }, bad)
	// The end of the ranges is not the next offset.
	f(func(tb *table) { tb.edit(head0, `"next_offset":170`, `"next_offset":171`) }, bad)
	// Totals that are not the sums.
	f(func(tb *table) { tb.edit(head0, `"totals":{"ranges":34`, `"totals":{"ranges":35`) }, bad)
	// Counts that do not sum up to the range.
	f(func(tb *table) { tb.edit(head0, `"counts":{"rows":4`, `"counts":{"rows":3`) }, bad)
	// No JSON.
	f(func(tb *table) { tb.put(head0, []byte("{")) }, bad)
	// The head of another table.
	f(func(tb *table) { tb.edit(head0, `"table":"quakes"`, `"table":"orders"`) }, append(allFooters(), bad)...)
	// A lost head.
	f(func(tb *table) { tb.remove(head0) }, "damage no_head "+head0)
	// A lost head without sealed lists: the files tell of it.
	tb := newTable(t, 2)
	tb.remove(head0)
	tb.finds(Options{}, "damage no_head "+head0)
}

// allFooters is what is found when every file of partition 0 differs.
func allFooters() []string {
	var all []string
	for i := range int64(sealing) {
		n := manifest.Name{Range: manifest.Range{Start: i * batch, Next: (i + 1) * batch}}
		all = append(all, "damage bad_footer "+n.Data(), "damage bad_footer "+n.Dead())
	}
	return all
}

func TestSealedLists(t *testing.T) {
	f := func(damage func(tb *table, list string)) {
		t.Helper()
		tb := newTable(t, sealing)
		list := tb.list("manifest/00000/")[0]
		damage(tb, list)
		// Its files are not called foreign: nobody can know. Those of the rest
		// of the head are still looked at.
		tb.remove(manifest.Name{Range: manifest.Range{Start: 165, Next: 170}}.Data())
		tb.finds(Options{Table: "quakes"}, "damage bad_list "+list,
			"damage missing_file "+manifest.Name{Range: manifest.Range{Start: 165, Next: 170}}.Data())
	}
	// Gone.
	f(func(tb *table, list string) { tb.remove(list) })
	// A gap, a count, and a body that is none.
	f(func(tb *table, list string) { tb.edit(list, `"ranges":[{"start":0,`, `"ranges":[{"start":1,`) })
	f(func(tb *table, list string) { tb.edit(list, `"counts":{"rows":4`, `"counts":{"rows":3`) })
	f(func(tb *table, list string) { tb.put(list, nil) })
}

// Accounting that holds together in the head, but is not what the files say.
func TestAccounting(t *testing.T) {
	f := func(change func(r *manifest.RangeRecord), want ...string) {
		t.Helper()
		tb := newTable(t, 1)
		tb.rewrite(0, change)
		tb.finds(Options{Table: "quakes"}, want...)
	}
	// A row too few.
	f(func(r *manifest.RangeRecord) { r.Counts.Rows--; r.Counts.Absent++; r.Data[0].Rows-- },
		"damage bad_footer "+data0, "damage bad_footer "+dead0)
	// Dead letters called filtered.
	f(func(r *manifest.RangeRecord) { r.Counts.Dead--; r.Counts.Filtered++; r.Dead = nil; r.Counts.Dead = 0 },
		"damage bad_footer "+data0, "damage unknown_file "+dead0)
	// Another attempt.
	f(func(r *manifest.RangeRecord) { r.Attempt = 1 }, "damage bad_footer "+data0, "damage bad_footer "+dead0)
	// A schema that there is not.
	f(func(r *manifest.RangeRecord) { r.Schema = 2 },
		"damage bad_schema schema/0000000002.json", "damage bad_footer "+data0, "damage bad_footer "+dead0)
	// Timestamps.
	f(func(r *manifest.RangeRecord) { r.Data[0].MinTime = nil }, "damage bad_footer "+data0)
	// Size and hash.
	f(func(r *manifest.RangeRecord) { r.Dead[0].Bytes++ }, "damage bad_size "+dead0)
	f(func(r *manifest.RangeRecord) { r.Dead[0].SHA256[0]++ }, "damage bad_hash "+dead0)
}

func TestSchemas(t *testing.T) {
	tb := newTable(t, 1)
	tb.put("schema/0000000001.json", []byte("{}"))
	tb.finds(Options{}, "damage bad_schema schema/0000000001.json", "damage bad_schema schema/0000000001.json")
	tb = newTable(t, 1)
	tb.remove("schema/0000000001.json")
	tb.finds(Options{}, "damage bad_schema schema/0000000001.json")
}

// An id in two rows, of one partition and of two.
func TestDuplicateIDs(t *testing.T) {
	tb := newTable(t, 1)
	second := tb.publish(0, "0-0-0")
	third := tb.publish(1, "0-0-1")
	// It is not looked for unless asked.
	tb.finds(Options{Deep: true})
	got := tb.verify(Options{ID: "id"})
	if len(got) != 2 {
		t.Fatalf("found %s", got)
	}
	for i, e := range []manifest.Encoded{second, third} {
		// Which of two files is read first is open.
		if s := got[i]; !strings.HasPrefix(s, "damage duplicate_id data/") {
			t.Errorf("range %s: found %s", e.Record.Range, s)
		}
	}
	// A column that is in no file.
	for _, err := range Run(t.Context(), tb.s, Options{ID: "uuid"}) {
		if err == nil || !strings.Contains(err.Error(), `column "uuid"`) {
			t.Errorf("got %v", err)
		}
	}
}

// Rows that are not of their range, in a file that agrees with the head in all
// that its footer says.
func TestRows(t *testing.T) {
	tb := newTable(t, 5)
	name := func(start int64) manifest.Name {
		return manifest.Name{Range: manifest.Range{Start: start, Next: start + batch}}
	}
	body := tb.get(name(20).Data())
	for key, value := range map[string]string{"lakeweir.start": "10", "lakeweir.next": "15"} {
		at := bytes.LastIndex(body, []byte(key)) + len(key) + 2 // behind a field header and a length
		copy(body[at:], value)
	}
	key := name(10).Data()
	tb.put(key, body)
	tb.rewriteAt(0, 2, func(r *manifest.RangeRecord) {
		r.Data[0].Bytes, r.Data[0].SHA256 = int64(len(body)), sha256.Sum256(body)
	})
	// The digest of the records is that of another range: seen from footers.
	digest := "damage bad_footer " + name(10).Dead()
	tb.finds(Options{}, digest)
	// Each of the four rows.
	row := "damage bad_rows " + key
	tb.finds(Options{Deep: true}, digest, row, row, row, row)
}

// An offset is new once, wherever it lies.
func TestOffsets(t *testing.T) {
	o := newOffsets()
	for _, at := range []int64{0, 1, 63, 64, 65535, 65536, 1 << 40, 1<<62 + 7} {
		if !o.add(at) {
			t.Errorf("%d is not new", at)
		}
		if o.add(at) {
			t.Errorf("%d is new twice", at)
		}
	}
}

// A head of a format to come is no damage: another version is to look at it.
func TestNewerFormat(t *testing.T) {
	tb := newTable(t, 1)
	tb.edit(head0, `"format":"1.0"`, `"format":"2.0"`)
	var got error
	for _, err := range Run(t.Context(), tb.s, Options{}) {
		got = err
	}
	if !errors.Is(got, manifest.ErrFormat) {
		t.Errorf("got %v, want ErrFormat", got)
	}
}

// Whoever has seen enough stops, and nothing is left running.
func TestStopEarly(t *testing.T) {
	tb := newTable(t, 20)
	for _, key := range tb.list("data/") {
		tb.remove(key)
	}
	n := 0
	for range Run(t.Context(), tb.s, Options{}) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("saw %d findings, want 3", n)
	}
}

// A store that fails is an error and not damage.
func TestStoreFails(t *testing.T) {
	tb := newTable(t, 1)
	for _, op := range []string{"list", "stat", "get"} {
		var got error
		for f, err := range Run(t.Context(), failing{tb.s, op}, deep) {
			if err == nil {
				t.Errorf("%s fails: found %v", op, f)
			}
			got = err
		}
		if !errors.Is(got, errBroken) {
			t.Errorf("%s fails: got %v", op, got)
		}
	}
}
