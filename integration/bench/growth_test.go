package main

import (
	"context"
	"testing"

	"github.com/lakeweir/lakeweir/internal/verify"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store/memory"
)

func made(t *testing.T, n int) *table {
	t.Helper()
	tb, err := newTable(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

// A made-up table is whole in the eyes of verify, whatever its size; and one
// whose files are not those that its head names is not.
func TestTable(t *testing.T) {
	f := func(n int) {
		t.Helper()
		tb := made(t, n)
		for f, err := range verify.Run(t.Context(), tb, verify.Options{Table: tableName}) {
			t.Errorf("%d files: %v %v", n, f, err)
		}
		h, err := manifest.Read(t.Context(), tb, 0)
		if err != nil || h.Totals.Files != int64(n) || h.Totals.Rows != int64(n*fileRows) {
			t.Errorf("%d files of %d, %d rows (%v)", h.Totals.Files, n, h.Totals.Rows, err)
		}
	}
	f(1)
	f(23)
	f(24)
	f(25)
	f(1600) // the lists are of two levels
	tb := made(t, 10)
	tb.file.start = nil
	found := 0
	for range verify.Run(t.Context(), tb, verify.Options{Table: tableName}) {
		found++
	}
	if found != 9 { // the first one has the offsets of the stencil
		t.Errorf("%d findings in a table whose files have other offsets, want 9", found)
	}
}

// The lists of a made-up table are those that a Log leaves that publishes its
// files one by one: same levels, same ranges, same rest in the head.
func TestTree(t *testing.T) {
	f := func(n int) {
		t.Helper()
		tb, s := made(t, n), &memory.Store{}
		l, err := manifest.Claim(t.Context(), s, manifest.Claimant{
			Table: tableName, Identity: tableLog, First: func(context.Context) (int64, error) { return tableFirst, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			r, err := tb.ranged(i)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Plan(t.Context(), manifest.Plan{Range: r.Range, Schema: r.Schema, Keys: r.Keys()}); err != nil {
				t.Fatal(err)
			}
			if err := l.Publish(t.Context(), r, nil); err != nil {
				t.Fatal(err)
			}
		}
		got, err := manifest.Read(t.Context(), tb, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := l.Head()
		if len(got.Ranges) != len(want.Ranges) || len(got.Sealed) != len(want.Sealed) || got.Totals != want.Totals || got.Next != want.Next {
			t.Fatalf("%d files: %d ranges and %d lists, a Log leaves %d and %d", n, len(got.Ranges), len(got.Sealed), len(want.Ranges), len(want.Sealed))
		}
		for i, ref := range want.Sealed {
			if g := got.Sealed[i]; g.Level != ref.Level || g.Range != ref.Range || g.Totals != ref.Totals {
				t.Errorf("%d files: list %d is %v, a Log leaves %v", n, i, g, ref)
			}
		}
	}
	f(0)
	f(30)
	f(1599)
}

// The measured steps do what they are to measure: the table they leave has the
// commits, and the counts are those of docs/performance.md.
func TestMeasures(t *testing.T) {
	tb := made(t, 100)
	f := func(riding bool, puts float64) {
		t.Helper()
		_, a, err := commitCost(t.Context(), tb, riding)
		if err != nil {
			t.Fatal(err)
		}
		h, err := manifest.Read(t.Context(), a, 0)
		if err != nil || h.Totals.Files != 100+commits || h.Pending != nil {
			t.Errorf("%d files, want %d; pending %v (%v)", h.Totals.Files, 100+commits, h.Pending, err)
		}
		if got := float64(a.puts) / commits; got < puts || got > puts+0.06 {
			t.Errorf("%.3f PUTs for a commit, want %.2f and those of lists", got, puts)
		}
	}
	f(true, 1)
	f(false, 2)
	_, kib, a, err := claimCost(t.Context(), tb)
	if err != nil || a.gets != 1 || a.puts != 1 || kib <= 0 {
		t.Errorf("a claim made %d reads, %d writes, holds %.1f KiB (%v)", a.gets, a.puts, kib, err)
	}
	_, a, err = statusCost(t.Context(), tb)
	if err != nil || a.gets != 3 {
		t.Errorf("status made %d calls, want 3: a list, the head, the newest file (%v)", a.gets, err)
	}
	v, err := verifyCost(t.Context(), tb)
	if err != nil || v.calls < 2*100 || v.clock <= 0 {
		t.Errorf("verify made %d calls in %v (%v)", v.calls, v.clock, err)
	}
	// What was measured has changed nothing.
	if h, err := manifest.Read(t.Context(), tb, 0); err != nil || h.Totals.Files != 100 {
		t.Errorf("the table has %d files (%v)", h.Totals.Files, err)
	}
}
