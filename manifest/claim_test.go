package manifest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
)

func TestFirstClaim(t *testing.T) {
	s := empty()
	l := claim(t, s)
	h := read(t, s)
	if h.Version != 1 || h.Epoch != 1 || h.First != begin || h.Next != begin || h.LeaderEpoch != -1 || h.Identity != quakes || h.Table != "quakes" {
		t.Errorf("first head %+v", h)
	}
	if len(h.Owner.ID) != 32 || h.Owner.Host != "here" || h.Owner.Software != "test" {
		t.Errorf("owner %+v", h.Owner)
	}
	if asJSON(t, l.Head()) != asJSON(t, h) {
		t.Errorf("the log has %+v, the store %+v", l.Head(), h)
	}
	// The next claim changes epoch, version and owner, and nothing else; it
	// does not ask again where to begin.
	c := claimant()
	c.First = func(context.Context) (int64, error) { return 0, errors.New("asked twice") }
	again, err := Claim(t.Context(), s, c)
	if err != nil {
		t.Fatal(err)
	}
	want := h
	want.Version, want.Epoch, want.Owner.ID = 2, 2, again.Head().Owner.ID
	if got := read(t, s); asJSON(t, got) != asJSON(t, want) || got.Owner.ID == h.Owner.ID {
		t.Errorf("got %s\nwant %s", asJSON(t, got), asJSON(t, want))
	}
}

// Sixteen processes race for the first creation: each gets its claim, in one
// order, and only the last still holds it.
func TestClaimRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := empty()
		const n = 16
		logs := make([]*Log, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				var err error
				if logs[i], err = Claim(t.Context(), s, claimant()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		slices.SortFunc(logs, func(a, b *Log) int { return int(a.Head().Epoch) - int(b.Head().Epoch) })
		for i, l := range logs {
			if l.Head().Epoch != uint64(i+1) {
				t.Errorf("epoch %d at place %d", l.Head().Epoch, i+1)
			}
			err := l.Plan(t.Context(), *planOf(filled(begin, begin+1)))
			if last := i == n-1; (err == nil) != last || !last && !errors.Is(err, ErrFenced) {
				t.Errorf("epoch %d of %d: %v", i+1, n, err)
			}
		}
	})
}

// The winner of the race may have written files before the loser looks for
// what a lost head would have left.
func TestClaimLosesTheFirstCreationLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for at := int64(1); at <= 5; at++ {
			s := empty()
			r := filled(begin, begin+1)
			slow := fault.Wrap(s, fault.AtCall(at, fault.Action{Before: func(context.Context) error {
				l := claim(t, s)
				put(t, s, r.Data[0].Key, []byte("rows"))
				commit(t, l, r)
				return nil
			}}))
			l, err := Claim(t.Context(), slow, claimant())
			if err != nil {
				t.Fatalf("the other was there first at call %d: %v", at, err)
			}
			if h := l.Head(); h.Epoch != 2 || h.Next != r.Next {
				t.Errorf("at call %d: epoch %d, next %d, want to follow the other", at, h.Epoch, h.Next)
			}
		}
	})
}

// A partition without a head but with files has lost its head: it must not be
// read again over its own files.
func TestClaimFindsWhatALostHeadLeft(t *testing.T) {
	f := func(key string, lost bool) {
		t.Helper()
		s := empty()
		put(t, s, key, []byte("x"))
		_, err := Claim(t.Context(), s, claimant())
		if !lost {
			if err != nil {
				t.Errorf("%s is in the way: %v", key, err)
			}
			return
		}
		if !errors.Is(err, ErrDamage) {
			t.Fatalf("%s: got %v, want ErrDamage", key, err)
		}
		for _, word := range []string{key, "quakes/3", "manifest/00003.json", "rebuild"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q does not say %q", err, word)
			}
		}
		if _, err := s.Get(t.Context(), "manifest/00003.json", store.Span{}); !errors.Is(err, store.ErrNotExist) {
			t.Errorf("%s: a head was written: %v", key, err)
		}
	}
	r := Range{Start: 7, Next: 12}
	n := Name{Partition: Partition{ID: part}, Range: r}
	other := Name{Partition: Partition{ID: 4}, Range: r}
	hive := n
	hive.Hive = "day=2026-01-31"
	old := n
	old.Generation = 2
	f(n.Data(), true)
	f(n.Dead(), true)
	f(hive.Data(), true)
	f(old.Data(), true)
	f(ListName{Partition: part, Range: r, Random: random}.Key(), true)
	// What belongs to others does no harm.
	f(other.Data(), false)
	f(other.Dead(), false)
	f(ListName{Partition: 4, Range: r, Random: random}.Key(), false)
	f("data/README", false)
	f("manifest/00004.json", false)
	f("schema/0000000001.json", false)
}

// The log behind the offsets must be the one of the head.
func TestClaimIdentity(t *testing.T) {
	f := func(head, now record.Identity, words string) {
		t.Helper()
		s := empty()
		c := claimant()
		c.Identity = head
		if _, err := Claim(t.Context(), s, c); err != nil {
			t.Fatal(err)
		}
		before := asJSON(t, read(t, s))
		c.Identity = now
		_, err := Claim(t.Context(), s, c)
		if words == "" {
			if err != nil {
				t.Errorf("%+v, now %+v: %v", head, now, err)
			}
			want := head.Topic // and one that is told for the first time is kept
			if want == (record.TopicID{}) {
				want = now.Topic
			}
			if got := read(t, s).Identity.Topic; got != want {
				t.Errorf("%+v, now %+v: the head has topic id %x", head, now, got)
			}
			return
		}
		if !errors.Is(err, ErrIdentity) || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), "reset") {
			t.Errorf("%+v, now %+v: got %v, want ErrIdentity with %q and reset", head, now, err, words)
		}
		if got := asJSON(t, read(t, s)); got != before {
			t.Errorf("the head was changed to %s", got)
		}
	}
	a := record.Identity{Cluster: "lab", Topic: record.TopicID{1}}
	f(a, a, "")
	// Another cluster, even when the topic id is not known.
	f(a, record.Identity{Cluster: "field", Topic: a.Topic}, `"field"`)
	f(a, record.Identity{Cluster: "field"}, `"field"`)
	// The topic was made anew under its name.
	f(a, record.Identity{Cluster: "lab", Topic: record.TopicID{2}}, "created again")
	// A broker without topic ids cannot tell, before or now.
	f(a, record.Identity{Cluster: "lab"}, "")
	f(record.Identity{Cluster: "lab"}, a, "")
}

// Whatever ends a claim has written nothing.
func TestClaimEndsWithNothingWritten(t *testing.T) {
	mine := errors.New("mine")
	f := func(what string, s store.Store, want error, set func(c *Claimant)) {
		t.Helper()
		c := claimant()
		set(&c)
		counted := countPuts(s)
		if _, err := Claim(t.Context(), counted, c); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
		if counted.n != 0 {
			t.Errorf("%s: %d objects written", what, counted.n)
		}
	}
	held := empty()
	claim(t, held)
	f("check", held, mine, func(c *Claimant) {
		c.Check = func(_ context.Context, h Head) error {
			if h.Epoch != 1 {
				t.Errorf("check was given epoch %d, want the head as it is", h.Epoch)
			}
			return mine
		}
	})
	f("table", held, ErrDamage, func(c *Claimant) { c.Table = "other" })
	f("first", empty(), mine, func(c *Claimant) { c.First = func(context.Context) (int64, error) { return 0, mine } })
	f("negative first", empty(), ErrChange, func(c *Claimant) { c.First = firstAt(-1) })
	newer, broken := empty(), empty()
	put(t, newer, "manifest/00003.json", []byte(`{"format":"2.0"}`))
	put(t, broken, "manifest/00003.json", []byte(`{`))
	f("newer format", newer, ErrFormat, func(*Claimant) {})
	f("broken head", broken, ErrDamage, func(*Claimant) {})
	// A partition that names cannot carry.
	c := claimant()
	c.Partition = 100000
	if _, err := Claim(t.Context(), empty(), c); err == nil || !strings.Contains(err.Error(), "five digits") {
		t.Errorf("got %v", err)
	}
}

// Errors of the store that may pass are tried again, whatever the call; lost
// answers are met as what they did.
func TestClaimTriesAgain(t *testing.T) {
	busy := errors.New("503 slow down")
	f := func(s store.Store, epoch uint64, actions ...fault.Action) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			i := 0
			flaky := fault.Wrap(s, func(context.Context, fault.Call) fault.Action {
				if i++; i <= len(actions) {
					return actions[i-1]
				}
				return fault.Action{}
			})
			l, err := Claim(t.Context(), flaky, claimant())
			if err != nil {
				t.Fatal(err)
			}
			if h := read(t, s); h.Epoch != epoch || h.Version != epoch || h.Owner != l.Head().Owner {
				t.Errorf("epoch %d version %d, want %d of both", h.Epoch, h.Version, epoch)
			}
		})
	}
	pass, fail := fault.Action{}, fault.Fail(busy)
	// An empty store is asked for: head, lists, data, dead; then the head is written.
	f(empty(), 1, fail, fail, fail)
	f(empty(), 1, pass, fail)
	f(empty(), 1, pass, pass, fail)
	f(empty(), 1, pass, pass, pass, fail)
	f(empty(), 1, pass, pass, pass, pass, fail)
	f(empty(), 1, pass, pass, pass, pass, fault.Lost())
	// A conflict without a cause is read again.
	f(empty(), 1, pass, pass, pass, pass, fault.Fail(store.ErrConflict))
	// A head that is there.
	held := func() store.Store { s := empty(); claim(t, s); return s }
	f(held(), 2, fail, pass, fail, fail)
	f(held(), 2, pass, fault.Lost())
	f(held(), 2, pass, fault.Lost(), fail, fail)
}

// A claim goes on until its context ends.
func TestClaimEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := fault.Wrap(empty(), func(context.Context, fault.Call) fault.Action { return fault.Fail(errors.New("down")) })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := Claim(ctx, down, claimant())
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the error of the context", err)
		}
	})
}

// Two claims of one epoch cannot be, but for a head that was put back from a
// backup and claimed once more: the owner tells them apart.
func TestOwnerTellsClaimsApart(t *testing.T) {
	s := empty()
	l := claim(t, s)
	h := read(t, s)
	h.Version, h.Owner.ID = 2, "another"
	putHead(t, s, h)
	if err := l.Plan(t.Context(), *planOf(filled(100, 110))); !errors.Is(err, ErrFenced) {
		t.Errorf("got %v, want ErrFenced", err)
	}
}

// The request of a claim that was given up arrives late: before the next try it
// is the claim, after it it is refused. Either way there is one claim more.
func TestLateClaim(t *testing.T) {
	for _, before := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := empty()
			claim(t, s)
			var arrive func() error
			puts := 0
			slow := fault.Wrap(s, func(_ context.Context, c fault.Call) fault.Action {
				if c.Op != fault.Put {
					return fault.Action{}
				}
				switch puts++; {
				case puts == 1:
					return fault.Action{Late: func(a func() error) { arrive = a }}
				case puts == 2 && before:
					return fault.Action{Before: func(context.Context) error { return arrive() }}
				}
				return fault.Action{}
			})
			l, err := Claim(t.Context(), slow, claimant())
			if err != nil {
				t.Fatal(err)
			}
			if !before {
				if err := arrive(); !errors.Is(err, store.ErrConflict) {
					t.Errorf("the late request got %v, want ErrConflict", err)
				}
			}
			if h := read(t, s); h.Epoch != 2 || h.Owner != l.Head().Owner {
				t.Errorf("late before the next try %v: epoch %d of %s, want 2 of %s", before, h.Epoch, h.Owner.ID, l.Head().Owner.ID)
			}
			commit(t, l, filled(100, 110))
		})
	}
}
