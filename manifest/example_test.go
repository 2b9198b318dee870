package manifest_test

import (
	"context"
	"fmt"
	"log"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// Another program reads a table: for each partition the files that hold its
// rows, each row once. In a program the store is one of s3, minio or dir, and
// the table a folder of it.
func Example() {
	ctx := context.Background()
	table := store.Sub(bucket(ctx), "raw/quakes/")

	for head, err := range manifest.Heads(ctx, table) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("partition %d: %d rows, up to offset %d\n", head.ID, head.Totals.Rows, head.Next)
		for file, err := range head.Files(ctx, table) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(file.Key, file.Rows)
		}
	}
	// Output:
	// partition 0: 8 rows, up to offset 10
	// data/00000-00000000000000000000-00000000000000000006.parquet 5
	// data/00000-00000000000000000006-00000000000000000010.parquet 3
}

// bucket makes a small table, as a writer does: each range is planned, its file
// written, and then published.
func bucket(ctx context.Context) store.Store {
	s := &memory.Store{}
	table := store.Sub(s, "raw/quakes/")
	w, err := manifest.Claim(ctx, table, manifest.Claimant{
		Table: "quakes", Identity: record.Identity{Cluster: "lab"},
		First: func(context.Context) (int64, error) { return 0, nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range []manifest.Range{{Start: 0, Next: 6}, {Start: 6, Next: 10}} {
		key := manifest.Name{Range: r}.Data()
		rows := r.Len() - 1 // one position is a transaction marker
		if err := w.Plan(ctx, manifest.Plan{Range: r, Schema: 1, Keys: []string{key}}); err != nil {
			log.Fatal(err)
		}
		body := []byte("rows in Parquet")
		if _, err := table.Put(ctx, key, body, store.IfAbsent()); err != nil {
			log.Fatal(err)
		}
		err := w.Publish(ctx, manifest.RangeRecord{
			Range: r, Schema: 1, LeaderEpoch: -1, Counts: manifest.Counts{Rows: rows, Absent: 1},
			Data: []manifest.File{{Key: key, Rows: rows, Bytes: int64(len(body))}},
		}, nil)
		if err != nil {
			log.Fatal(err)
		}
	}
	return s
}
