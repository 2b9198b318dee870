package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lakeweir/lakeweir/store"
)

var readChecks = []check{
	{"Absent", func(s subject) error {
		if err := s.create("a/k"); err != nil {
			return err
		}
		// A folder of a key, a part of a key and a longer key are no objects.
		return errors.Join(s.absent("none"), s.absent("a"), s.absent("a/kk"), s.absent("b/k"))
	}},
	{"Spans", spans},
	{"SpanOfEmpty", func(s subject) error {
		if _, err := s.put("k", "", store.IfAbsent()); err != nil {
			return err
		}
		return errors.Join(s.spanHolds("", 0, 5), s.spanHolds("", -8, 0), s.spanHolds("", 3, 0))
	}},
	{"SpanOfAbsent", func(s subject) error {
		_, err := s.Get(s.ctx, "k", store.Span{Offset: -8})
		if !errors.Is(err, store.ErrNotExist) {
			return fmt.Errorf("err %w, want %w", err, store.ErrNotExist)
		}
		return nil
	}},
	{"SpecialKeys", specialKeys},
	{"Sub", subStore},
}

const digits = "0123456789"

func spans(s subject) error {
	if _, err := s.put("k", digits, store.IfAbsent()); err != nil {
		return err
	}
	for _, span := range []store.Span{
		{},                        // all
		{Offset: 3},               // to the end
		{Offset: 3, Length: 4},    // the middle
		{Offset: 0, Length: 1},    // the first byte
		{Offset: 0, Length: 10},   // all, said in full
		{Offset: -3},              // the last bytes, as of a footer
		{Offset: -3, Length: 2},   // a part of them
		{Offset: 8, Length: 100},  // longer than what is left
		{Offset: 10},              // at the end
		{Offset: 11, Length: 5},   // beyond it
		{Offset: -20},             // further back than the beginning
		{Offset: -20, Length: 12}, // and longer than all
	} {
		from, to := span.Bounds(int64(len(digits)))
		if err := s.spanHolds(digits, span.Offset, span.Length); err != nil {
			return fmt.Errorf("bytes %d to %d: %w", from, to, err)
		}
	}
	return nil
}

// spanHolds checks a part of the object k, whose whole body is given.
func (s subject) spanHolds(whole string, offset, length int64) error {
	span := store.Span{Offset: offset, Length: length}
	o, err := s.Get(s.ctx, "k", span)
	if err != nil {
		return fmt.Errorf("get of span %+v: %w", span, err)
	}
	from, to := span.Bounds(int64(len(whole)))
	if string(o.Body) != whole[from:to] {
		return fmt.Errorf("get of span %+v: %q, want %q", span, o.Body, whole[from:to])
	}
	if o.Size != int64(len(whole)) || o.Key != "k" {
		return fmt.Errorf("get of span %+v: key %q of %d bytes, want k with its whole size %d", span, o.Key, o.Size, len(whole))
	}
	return nil
}

// specialKeys holds what file names of hive partitions have: a driver must not
// decode, escape twice, or clean a key.
func specialKeys(s subject) error {
	keys := []string{
		"data/place=a%2Fb/x", "data/place=a%252Fb/x", "data/place=%/x", "data/day=2026-01-01/hour=00/x",
		"sp ace/x y", "plus+plus/x+y", "amp&amp/x;y,z", "at@at/$!(x)~'", "dots.../..x/y..", ".hidden/x",
		"Zürich/東京/é", "-/x", "_/x", "{brace}/[x]^",
	}
	if err := s.create(keys...); err != nil {
		return err
	}
	for _, key := range keys {
		if err := s.holds(key, key); err != nil {
			return err
		}
		if err := s.lists(key, "", key); err != nil {
			return err
		}
	}
	slices.Sort(keys)
	if err := s.lists("", "", keys...); err != nil {
		return err
	}
	for _, key := range keys {
		if err := s.Delete(s.ctx, key); err != nil {
			return err
		}
	}
	return s.lists("", "")
}

// subStore checks that a folder of the store is one too.
func subStore(s subject) error {
	part := subject{s.ctx, store.Sub(s.Store, "table=a%20b/")}
	if err := part.create("data/k", "manifest/0.json"); err != nil {
		return err
	}
	if err := errors.Join(part.holds("data/k", "data/k"), part.lists("data/", "", "data/k")); err != nil {
		return err
	}
	keys, err := s.keys("", "")
	if err != nil {
		return err
	}
	for _, key := range keys {
		if !strings.HasPrefix(key, "table=a%20b/") {
			return fmt.Errorf("the folder wrote %s outside of it", key)
		}
	}
	return part.refuses("data/k", store.IfAbsent(), store.ErrConflict)
}
