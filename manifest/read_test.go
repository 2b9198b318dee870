package manifest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
)

// threeHeads is a table with heads of partitions 0, 3 and 70000, each with a
// sealed list, and things beside them that are no heads.
func threeHeads(t *testing.T) (store.Store, []int32) {
	t.Helper()
	s := empty()
	ids := []int32{0, part, 70000}
	for _, id := range ids {
		c := claimant()
		c.Partition = id
		if _, err := Claim(t.Context(), s, c); err != nil {
			t.Fatal(err)
		}
		put(t, s, ListName{Partition: id, Range: Range{Next: 5}, Random: random}.Key(), []byte("{}"))
	}
	put(t, s, "manifest/README", []byte("hands off"))
	put(t, s, "manifest/9.json", []byte("{}"))
	put(t, s, "schema/0000000001.json", []byte("{}"))
	return s, ids
}

func TestPartitions(t *testing.T) {
	s, want := threeHeads(t)
	got, err := Partitions(t.Context(), s)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	// A table with nothing in it has no partitions.
	if got, err := Partitions(t.Context(), empty()); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v, want none", got, err)
	}
	// A listing that fails is an error, not the end.
	denied := errors.New("denied")
	bad := fault.Wrap(s, fault.AtCall(1, fault.Fail(denied)))
	if _, err := Partitions(t.Context(), bad); !errors.Is(err, denied) {
		t.Errorf("got %v, want %v", err, denied)
	}
}

// One listing finds the heads, however many partitions there are: a start
// would else wait for a listing of each. Only the many lists of a large
// partition are jumped over, with another listing behind them.
func TestPartitionsListings(t *testing.T) {
	f := func(partitions, lists int, want int64) {
		t.Helper()
		s := empty()
		for id := range int32(partitions) {
			put(t, s, Partition{ID: id}.HeadKey(), []byte("{}"))
			for i := range int64(lists) {
				put(t, s, ListName{Partition: id, Range: Range{Start: i, Next: i + 1}, Random: random}.Key(), []byte("{}"))
			}
		}
		counted := fault.Wrap(s, nil)
		ids, err := Partitions(t.Context(), counted)
		if err != nil || len(ids) != partitions {
			t.Errorf("found %d partitions of %d (%v)", len(ids), partitions, err)
		}
		if n := counted.Calls(); n != want {
			t.Errorf("%d listings for %d partitions with %d lists, want %d", n, partitions, lists, want)
		}
	}
	f(500, 0, 1)
	f(200, 3, 1)
	f(2, page-1, 1)
	f(2, 3*page, 3)
	// The listing behind the jump may fail too.
	s, denied := empty(), errors.New("denied")
	for i := range int64(page + 1) {
		put(t, s, ListName{Partition: part, Range: Range{Start: i, Next: i + 1}, Random: random}.Key(), []byte("{}"))
	}
	bad := fault.Wrap(s, fault.AtCall(2, fault.Fail(denied)))
	if _, err := Partitions(t.Context(), bad); !errors.Is(err, denied) {
		t.Errorf("got %v, want %v", err, denied)
	}
}

func TestHeads(t *testing.T) {
	s, ids := threeHeads(t)
	put(t, s, Partition{ID: part}.HeadKey(), []byte("{"))
	var got []int32
	bad := 0
	for h, err := range Heads(t.Context(), s) {
		if err != nil {
			// One bad head does not hide the others.
			if bad++; !errors.Is(err, ErrDamage) {
				t.Errorf("got %v, want ErrDamage", err)
			}
			continue
		}
		got = append(got, h.ID)
	}
	if bad != 1 || !slices.Equal(got, []int32{ids[0], ids[2]}) {
		t.Errorf("heads %v and %d errors, want the first and third and one", got, bad)
	}
	// A caller may stop.
	for range Heads(t.Context(), s) {
		break
	}
	// A listing that fails is one error.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := 0
	for _, err := range Heads(ctx, s) {
		if n++; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d results of a cancelled listing, want its error", n)
	}
}

func TestRead(t *testing.T) {
	s := empty()
	// No head.
	if _, err := Read(t.Context(), s, part); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("got %v, want ErrNotExist", err)
	}
	// The head of another partition at this key: somebody copied a file.
	claim(t, s)
	h := read(t, s)
	h.ID = 4
	body := asJSON(t, h)
	put(t, s, Partition{ID: part}.HeadKey(), []byte(body))
	if _, err := Read(t.Context(), s, part); !errors.Is(err, ErrDamage) {
		t.Errorf("got %v, want ErrDamage", err)
	}
}

func TestFilesAndDeadLetters(t *testing.T) {
	s := empty()
	claim(t, s)
	h := extend(t, s, read(t, s), 70) // one list, six ranges
	dead := filled(h.Next, h.Next+2)
	dead.Counts = Counts{Rows: 1, Dead: 1}
	dead.Data[0].Rows = 1
	dead.Dead = []File{{Key: Name{Partition: h.Partition, Range: dead.Range}.Dead(), Rows: 1}}
	h.Ranges, h.Totals, h.Next = append(h.Ranges, dead, hollow(dead.Next, dead.Next+5)), h.Totals.Add(dead.Totals()), dead.Next+5
	var got []string
	for f, err := range h.Files(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, f.Key)
	}
	if len(got) != 71 || !slices.IsSorted(got) || got[70] != dead.Data[0].Key {
		t.Errorf("%d files, the last %s", len(got), got[len(got)-1])
	}
	got = nil
	for f, err := range h.DeadLetters(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, f.Key)
	}
	if !slices.Equal(got, []string{dead.Dead[0].Key}) {
		t.Errorf("dead letters %v", got)
	}
	// A caller may stop in a list and behind it.
	for _, n := range []int{1, 66} { // a sequence that goes on after a break panics
		for range h.Files(t.Context(), s) {
			if n--; n < 0 {
				break
			}
		}
	}
	// The error of a list is the caller's.
	if err := s.Delete(t.Context(), h.Sealed[0].Key(part)); err != nil {
		t.Fatal(err)
	}
	for _, err := range h.Files(t.Context(), s) {
		if !errors.Is(err, store.ErrNotExist) {
			t.Errorf("got %v, want ErrNotExist", err)
		}
	}
}
