package manifest

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/store"
)

// slowList is a store whose listings of data take a second.
type slowList struct {
	store.Store
	lists atomic.Int32
	fails atomic.Bool
}

func (s *slowList) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	if prefix == "data/" {
		s.lists.Add(1)
		time.Sleep(time.Second)
		if s.fails.Load() {
			return func(yield func(store.Info, error) bool) { yield(store.Info{}, errors.New("out of order")) }
		}
	}
	return s.Store.List(ctx, prefix, after)
}

// A thousand claims of new partitions at once list the table twice: the first
// one alone, the others together, since their listing must begin after they
// found no head.
func TestCensusIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowList{Store: empty()}
		census := NewCensus(s)
		var wg sync.WaitGroup
		for p := range int32(1000) {
			wg.Go(func() {
				c := claimant()
				c.Partition, c.Census = p, census
				if _, err := Claim(t.Context(), s, c); err != nil {
					t.Error(err)
				}
			})
			if p == 0 {
				synctest.Wait()
			}
		}
		wg.Wait()
		if n := s.lists.Load(); n != 2 {
			t.Errorf("%d listings", n)
		}
	})
}

// A file that is there before a claim begins is found, however many listings
// were made before it came, and each partition has its own answer.
func TestCensusSeesWhatCame(t *testing.T) {
	s := empty()
	census := NewCensus(s)
	for range 2 {
		c := claimant()
		c.Partition, c.Census = 1, census
		if _, err := Claim(t.Context(), s, c); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), Partition{ID: 1}.HeadKey()); err != nil {
			t.Fatal(err)
		}
	}
	file := filled(begin, begin+1).Data[0].Key
	if _, err := s.Put(t.Context(), file, nil, store.IfAbsent()); err != nil {
		t.Fatal(err)
	}
	c := claimant()
	c.Census = census
	if _, err := Claim(t.Context(), s, c); !errors.Is(err, ErrDamage) || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
	c.Partition = 1
	if _, err := Claim(t.Context(), s, c); err != nil {
		t.Errorf("partition 1 has no files: %v", err)
	}
}

// The claim that lists is given up, or its listing fails: those who waited for
// it list anew and get their claims.
func TestCensusGoesOn(t *testing.T) {
	f := func(spoil func(s *slowList, stop func()), mend func(s *slowList)) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := &slowList{Store: empty()}
			census := NewCensus(s)
			first, stop := context.WithCancel(t.Context())
			defer stop()
			var wg sync.WaitGroup
			for p := range int32(20) {
				ctx := t.Context()
				if p < 2 { // one lists, the next one waits to
					ctx = first
				}
				wg.Go(func() {
					c := claimant()
					c.Partition, c.Census = p, census
					if _, err := Claim(ctx, s, c); err != nil && ctx == t.Context() {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
			spoil(s, stop)
			time.Sleep(1500 * time.Millisecond)
			mend(s)
			wg.Wait()
		})
	}
	f(func(_ *slowList, stop func()) { stop() }, func(*slowList) {})
	f(func(s *slowList, _ func()) { s.fails.Store(true) }, func(s *slowList) { s.fails.Store(false) })
}
