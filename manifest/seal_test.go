package manifest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/store/memory"
)

// extend adds n ranges of one offset each to h as Publish does, and writes the
// lists that this seals. It is what n commits leave, without their heads.
func extend(t testing.TB, s *memory.Store, h Head, n int) Head {
	t.Helper()
	for range n {
		r := filled(h.Next, h.Next+1)
		r.Generation = h.Generation
		if h.Generation > 0 {
			r.Data = []File{dataFile(r.Range, h.Generation, 0)}
		}
		h.Ranges, h.Totals, h.Next = append(h.Ranges, r), h.Totals.Add(r.Totals()), r.Next
		if len(h.Ranges) < fanOut {
			continue
		}
		var lists []sealedList
		var err error
		if h, lists, err = seal(h, newRandom); err != nil {
			t.Fatal(err)
		}
		for _, l := range lists {
			put(t, s, l.key, l.body)
		}
	}
	return h
}

// sealedHead returns a head with n ranges and the lists that they made.
func sealedHead(t testing.TB, n int) (Head, []sealedList) {
	t.Helper()
	h := Head{Partition: Partition{ID: part}, Table: "quakes", Identity: quakes, Version: 1, Epoch: 1, Owner: Owner{ID: "x"}, First: begin, Next: begin}
	var all []sealedList
	random := numbered()
	for range n {
		r := filled(h.Next, h.Next+1)
		h.Ranges, h.Totals, h.Next = append(h.Ranges, r), h.Totals.Add(r.Totals()), r.Next
		if len(h.Ranges) < fanOut-1 {
			continue // too small to seal, see TestSealAtBytes
		}
		var lists []sealedList
		var err error
		if h, lists, err = seal(h, random); err != nil {
			t.Fatal(err)
		}
		all = append(all, lists...)
	}
	return h, all
}

// The 64th range seals, and the 64th list of a level makes one of the next.
func TestSealAtFanOut(t *testing.T) {
	f := func(n, ranges, lists int, levels ...int) {
		t.Helper()
		h, written := sealedHead(t, n)
		if err := h.Validate(); err != nil {
			t.Fatal(err)
		}
		got := []int{}
		for _, r := range h.Sealed {
			got = append(got, r.Level)
		}
		if len(h.Ranges) != ranges || len(written) != lists || fmt.Sprint(got) != fmt.Sprint(levels) {
			t.Errorf("after %d ranges: %d in the head, %d lists written, levels %v; want %d, %d, %v", n, len(h.Ranges), len(written), got, ranges, lists, levels)
		}
	}
	f(63, 63, 0)
	f(64, 0, 1, 0)
	f(65, 1, 1, 0)
	f(128, 0, 2, 0, 0)
	f(64*64, 0, 65, 1)
	f(64*64+64, 0, 66, 1, 0)
}

// Ranges with many statistics are sealed before there are 64 of them.
func TestSealAtBytes(t *testing.T) {
	h := Head{Partition: Partition{ID: part}, Table: "quakes", Next: begin}
	var stats []Stat
	for i := range 16 {
		stats = append(stats, Stat{Column: i, Min: json.RawMessage(`"` + strings.Repeat("a", 32) + `"`), Max: json.RawMessage(`"` + strings.Repeat("z", 32) + `"`)})
	}
	sizes := []int{}
	for range 100 {
		r := filled(h.Next, h.Next+1)
		r.Data[0].Stats = stats
		h.Ranges, h.Next = append(h.Ranges, r), r.Next
		before := len(h.Ranges)
		var err error
		if h, _, err = seal(h, newRandom); err != nil {
			t.Fatal(err)
		}
		if len(h.Ranges) == 0 {
			sizes = append(sizes, before)
		}
		if body, _ := json.Marshal(h.Ranges); len(body) > sealBytes {
			t.Fatalf("%d bytes of ranges stay in the head", len(body))
		}
	}
	if len(sizes) < 3 || sizes[0] >= fanOut {
		t.Errorf("sealed at %v ranges, want fewer than %d each", sizes, fanOut)
	}
}

// A head with as many lists as it can refer to seals its ranges earlier, so
// that it stays under 64 KB however large its numbers are.
func TestHeadStaysSmallWithManyLists(t *testing.T) {
	big := Totals{Ranges: 64, Files: 1 << 20, Bytes: 1 << 50, Counts: Counts{1 << 40, 1 << 40, 1 << 40, 1 << 40, 1 << 40, 1 << 40}}
	h := Head{Partition: Partition{ID: part}, Table: "quakes", Identity: quakes, Version: 1 << 40, Epoch: 1 << 40, Owner: Owner{ID: strings.Repeat("0", 32), Host: "host", Software: "test"}}
	for level := 2; level >= 0; level-- {
		for range fanOut - 1 {
			r := Range{Start: h.Next, Next: h.Next + 1<<50}
			h.Sealed = append(h.Sealed, ListRef{Level: level, Range: r, Random: random, Totals: big})
			h.Totals, h.Next = h.Totals.Add(big), r.Next
		}
	}
	largest := 0
	for range fanOut {
		r := filled(h.Next, h.Next+1)
		r.Data[0].Stats = []Stat{{Column: 1, Min: json.RawMessage(`"` + strings.Repeat("a", 300) + `"`)}}
		h.Ranges, h.Totals, h.Next = append(h.Ranges, r), h.Totals.Add(r.Totals()), r.Next
		var err error
		if h, _, err = seal(h, newRandom); err != nil {
			t.Fatal(err)
		}
		largest = max(largest, len(asJSON(t, h)))
	}
	if largest > 64<<10 {
		t.Errorf("a head of %d bytes", largest)
	}
}

// After 100,000 ranges a head is as small, a commit as cheap and every range as
// readable as at the start.
func TestHundredThousandRanges(t *testing.T) {
	const n = 100_000
	s := empty()
	claim(t, s)
	h := extend(t, s, read(t, s), n)
	if h.Totals.Ranges != n || h.Totals.Rows != n || h.Totals.Files != n || h.Totals.Bytes != 10*n {
		t.Errorf("totals %+v", h.Totals)
	}
	h.Version, h.Schema = 2*n, 1
	putHead(t, s, h)
	h = read(t, s)
	at, sum := h.First, Totals{}
	for r, err := range h.All(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Start != at {
			t.Fatalf("range %s does not begin at %d", r.Range, at)
		}
		at, sum = r.Next, sum.Add(r.Totals())
	}
	if at != h.Next || sum != h.Totals {
		t.Errorf("ranges end at %d with %+v, want %d with %+v", at, sum, h.Next, h.Totals)
	}
	writesPerCommit(t, s, h.Next)
}

func TestWritesPerCommitAtTheStart(t *testing.T) {
	s := empty()
	claim(t, s)
	writesPerCommit(t, s, begin)
}

// writesPerCommit counts the head writes of 128 quiet commits, of 128 under
// load, and the lists that they seal: 128/64 each, and one of a higher level at
// the most. The PUT of the data file itself is not made here.
func writesPerCommit(t *testing.T, s *memory.Store, at int64) {
	t.Helper()
	p := countPuts(s)
	l, err := Claim(t.Context(), p, claimant())
	if err != nil {
		t.Fatal(err)
	}
	const n = 128
	largest := 0
	seen := func() { largest = max(largest, len(asJSON(t, read(t, s)))) }
	p.n = 0
	for range n {
		commit(t, l, filled(at, at+1))
		at++
		seen()
	}
	if lists := p.n - 2*n; lists < 2 || lists > 3 {
		t.Errorf("%d quiet commits made %d writes, want two each and 2 or 3 lists", n, p.n)
	}
	if err := l.Plan(t.Context(), *planOf(filled(at, at+1))); err != nil {
		t.Fatal(err)
	}
	p.n = 0
	for range n {
		if err := l.Publish(t.Context(), filled(at, at+1), planOf(filled(at+1, at+2))); err != nil {
			t.Fatal(err)
		}
		at++
		seen()
	}
	if lists := p.n - n; lists < 2 || lists > 3 {
		t.Errorf("%d commits with riders made %d writes, want one each and 2 or 3 lists", n, p.n)
	}
	if largest > 64<<10 {
		t.Errorf("a head of %d bytes", largest)
	}
}
