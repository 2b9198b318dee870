package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/store"
)

// A list is what its reference says, or damage.
// Long: a case a line.
func TestListDamage(t *testing.T) {
	h, lists := sealedHead(t, 64*64)
	leaf, top := lists[0], lists[64]
	var root list
	if err := json.Unmarshal(top.body, &root); err != nil {
		t.Fatal(err)
	}
	f := func(what string, body []byte, ref ListRef, want error, break_ func(l *list, ref *ListRef)) {
		t.Helper()
		if _, err := decodeList(body, ref); err != nil {
			t.Fatal(err)
		}
		var l list
		if err := json.Unmarshal(body, &l); err != nil {
			t.Fatal(err)
		}
		break_(&l, &ref)
		body, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeList(body, ref); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	ranges := func(what string, want error, break_ func(l *list, ref *ListRef)) {
		t.Helper()
		f(what, leaf.body, root.Lists[0], want, break_)
	}
	refs := func(what string, want error, break_ func(l *list, ref *ListRef)) {
		t.Helper()
		f(what, top.body, h.Sealed[0], want, break_)
	}
	// The list itself.
	ranges("other major", ErrFormat, func(l *list, _ *ListRef) { l.Format = "2.0" })
	ranges("no format", ErrDamage, func(l *list, _ *ListRef) { l.Format = "" })
	ranges("other level", ErrDamage, func(l *list, _ *ListRef) { l.Level = 1 })
	ranges("level of the reference", ErrDamage, func(_ *list, ref *ListRef) { ref.Level = 1 })
	ranges("nothing in it", ErrDamage, func(l *list, _ *ListRef) { l.Ranges = nil })
	// Ranges.
	ranges("first missing", ErrDamage, func(l *list, _ *ListRef) { l.Ranges = l.Ranges[1:] })
	ranges("last missing", ErrDamage, func(l *list, _ *ListRef) { l.Ranges = l.Ranges[:63] })
	ranges("one missing", ErrDamage, func(l *list, _ *ListRef) { l.Ranges = append(l.Ranges[:9:9], l.Ranges[10:]...) })
	ranges("one twice", ErrDamage, func(l *list, _ *ListRef) { l.Ranges = append(l.Ranges, l.Ranges[63]) })
	ranges("order", ErrDamage, func(l *list, _ *ListRef) { l.Ranges[4], l.Ranges[5] = l.Ranges[5], l.Ranges[4] })
	ranges("counts", ErrDamage, func(l *list, _ *ListRef) { l.Ranges[4].Counts.Rows = 0 })
	ranges("totals", ErrDamage, func(_ *list, ref *ListRef) { ref.Totals.Bytes++ })
	ranges("generation of the reference", ErrDamage, func(_ *list, ref *ListRef) { ref.Generation = 1 })
	ranges("generation in the middle", ErrDamage, func(l *list, _ *ListRef) {
		for i := 32; i < 64; i++ {
			l.Ranges[i].Generation = 1
			l.Ranges[i].Data[0] = dataFile(l.Ranges[i].Range, 1, 0)
		}
	})
	// References.
	refs("lists missing", ErrDamage, func(l *list, _ *ListRef) { l.Lists = nil })
	refs("one missing", ErrDamage, func(l *list, _ *ListRef) { l.Lists = append(l.Lists[:9:9], l.Lists[10:]...) })
	refs("order", ErrDamage, func(l *list, _ *ListRef) { l.Lists[4], l.Lists[5] = l.Lists[5], l.Lists[4] })
	refs("level below", ErrDamage, func(l *list, _ *ListRef) { l.Lists[4].Level = 1 })
	refs("random part", ErrDamage, func(l *list, _ *ListRef) { l.Lists[4].Random = "x/y" })
	refs("totals", ErrDamage, func(l *list, _ *ListRef) { l.Lists[4].Totals.Rows++ })
	refs("ranges beside", ErrDamage, func(l *list, ref *ListRef) {
		r := filled(ref.Start-1, ref.Start)
		l.Ranges, ref.Start, ref.Totals = []RangeRecord{r}, r.Start, ref.Totals.Add(r.Totals())
	})
	// What is no list at all.
	for _, body := range []string{"", "[]", "null", "{", `{"format":"1.0","level":"x"}`, string(leaf.body[:100])} {
		if _, err := decodeList([]byte(body), root.Lists[0]); !errors.Is(err, ErrDamage) {
			t.Errorf("%q: got %v, want ErrDamage", body, err)
		}
	}
}

// All names the list that it cannot read, and goes no further.
func TestAllEndsAtABadList(t *testing.T) {
	s := empty()
	claim(t, s)
	h := extend(t, s, read(t, s), 200) // three lists and eight ranges
	key := h.Sealed[1].Key(part)
	good, err := s.Get(t.Context(), key, store.Span{})
	if err != nil {
		t.Fatal(err)
	}
	f := func(what string, want error) {
		t.Helper()
		n := 0
		for r, err := range h.All(t.Context(), s) {
			if err == nil {
				n++
				continue
			}
			if !errors.Is(err, want) || !strings.Contains(err.Error(), key) || r.Len() != 0 {
				t.Errorf("%s: got %v with %s, want %v and %s", what, err, r.Range, want, key)
			}
			n += 1000
		}
		if n != 1064 {
			t.Errorf("%s: %d, want 64 ranges and one error, the last", what, n)
		}
	}
	// A list that is not there: the head is old, or it is damage.
	if err := s.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	f("gone", store.ErrNotExist)
	// A list of another partition under this key.
	put(t, s, key, bytes.Replace(good.Body, []byte(`"partition":3`), []byte(`"partition":4`), 1))
	f("other partition", ErrDamage)
	// Half of it.
	put(t, s, key, good.Body[:len(good.Body)/2])
	f("cut", ErrDamage)
	// As it was.
	put(t, s, key, good.Body)
	contiguous(t, allRanges(t, h, s), begin, begin+200)
}
