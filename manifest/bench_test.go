package manifest_test

import (
	"context"
	"crypto/sha256"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store/memory"
)

// BenchmarkCommit publishes a range of one file with the plan of the next, as
// under load: one head write, lists of sealed ranges included. The store
// answers at once.
func BenchmarkCommit(b *testing.B) {
	l, err := manifest.Claim(b.Context(), &memory.Store{}, manifest.Claimant{
		Table: "quakes", Identity: record.Identity{Cluster: "lab"},
		First: func(context.Context) (int64, error) { return 0, nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	planned := func(start int64) *manifest.Plan {
		r := manifest.Range{Start: start, Next: start + 1000}
		return &manifest.Plan{Range: r, Schema: 1, Keys: []string{manifest.Name{Range: r}.Data()}}
	}
	next := planned(0)
	if err := l.Plan(b.Context(), *next); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		p := next
		next = planned(p.Next)
		if err := l.Publish(b.Context(), manifest.RangeRecord{
			Range: p.Range, Schema: 1, LeaderEpoch: -1, Counts: manifest.Counts{Rows: 1000},
			Data: []manifest.File{{Key: p.Keys[0], Rows: 1000, Bytes: 1 << 20}},
		}, next); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHash is the SHA-256 of an object, once for each.
func BenchmarkHash(b *testing.B) {
	body := make([]byte, 1<<20)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		sha256.Sum256(body)
	}
}
