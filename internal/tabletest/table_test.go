package tabletest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

// failures notes that a check failed, and ends it as a test would end.
type failures struct {
	testing.TB
	failed bool
}

func (f *failures) Helper()               {}
func (f *failures) Error(...any)          { f.failed = true }
func (f *failures) Errorf(string, ...any) { f.failed = true }
func (f *failures) Fatal(...any)          { f.failed = true; panic(f) }
func (f *failures) Fatalf(string, ...any) { f.failed = true; panic(f) }

// fails reports whether Whole finds something.
func fails(t *testing.T, s store.Store, n int64) bool {
	t.Helper()
	f := &failures{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(f) {
				panic(r)
			}
		}()
		Whole(f, s, n)
	}()
	return f.failed
}

// A table that is whole passes; one that lacks a row, a file or a byte, or has
// a file too many, does not.
func TestWhole(t *testing.T) {
	f := func(want bool, spoil func(s *memory.Store, h manifest.Head)) {
		t.Helper()
		s := &memory.Store{}
		if err := Write(t.Context(), s, &Log{N: 20, Wide: 3}); err != nil {
			t.Fatal(err)
		}
		h, err := manifest.Read(t.Context(), s, 0)
		if err != nil {
			t.Fatal(err)
		}
		spoil(s, h)
		if got := fails(t, s, 20); got != want {
			t.Errorf("fails: %v, want %v", got, want)
		}
	}
	f(false, func(*memory.Store, manifest.Head) {})
	// A file is gone.
	f(true, func(s *memory.Store, h manifest.Head) { _ = s.Delete(t.Context(), h.Ranges[1].Data[0].Key) })
	// A file has another byte.
	f(true, func(s *memory.Store, h manifest.Head) {
		o, _ := s.Get(t.Context(), h.Ranges[1].Data[0].Key, store.Span{})
		body := slices.Clone(o.Body)
		body[10] ^= 1
		_, _ = s.Put(t.Context(), o.Key, body, store.Blind())
	})
	// A file that no head names.
	f(true, func(s *memory.Store, h manifest.Head) {
		o, _ := s.Get(t.Context(), h.Ranges[0].Data[0].Key, store.Span{})
		key := manifest.Name{Range: manifest.Range{Start: 0, Next: 9}}.Data()
		_, _ = s.Put(t.Context(), key, o.Body, store.Blind())
	})
	// Less was read than there is.
	s := &memory.Store{}
	if err := Write(t.Context(), s, &Log{N: 19}); err != nil || !fails(t, s, 20) {
		t.Errorf("19 rows of 20 pass, err %v", err)
	}
}

// A log waits at its end, takes its time before that, and reads no more than
// there is room for.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Log{N: 9, Room: writer.NewBudget(1<<20, 0), Pause: time.Second}
		begin := time.Now()
		for _, want := range []int{7, 2} {
			if b, err := l.Read(t.Context()); err != nil || b.Len() != want {
				t.Fatalf("%v, err %v, want %d records", b, err, want)
			}
		}
		if took := time.Since(begin); took != 2*time.Second || l.Handed() != 9 || l.Room.Used() == 0 {
			t.Errorf("took %v for %d records, %d bytes", took, l.Handed(), l.Room.Used())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := l.Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("at its end: %v", err)
		}
		if err := l.Seek(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		l.Room = writer.NewBudget(1, 0)
		l.Room.Take(1)
		if _, err := l.Read(ctx); !errors.Is(err, context.DeadlineExceeded) || l.Handed() != 9 {
			t.Errorf("without room: %v, %d records", err, l.Handed())
		}
	})
}
