package demo

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
)

// view is what one kind of reader finds in a table: how often each offset was
// met, in the kind of file in which it belongs.
type view struct {
	ledger  *ledger
	found   [Partitions][]int
	rows    [Partitions]int64 // in data files, copies included
	dead    [Partitions]int64 // in dead-letter files, copies included
	unknown int64             // rows that were never sent, or are not where they belong
	files   int64
	first   string // of the unknown rows, in words
}

func newView(l *ledger) *view {
	v := &view{ledger: l}
	for p, ids := range l.sent {
		v.found[p] = make([]int, len(ids))
	}
	return v
}

// row notes a row of a data file.
func (v *view) row(partition int32, offset int64, id string) {
	v.rows[partition]++
	v.meet(partition, offset, id)
}

// deadLetter notes a row of a dead-letter file.
func (v *view) deadLetter(partition int32, offset int64) {
	v.dead[partition]++
	v.meet(partition, offset, "")
}

// meet counts what was sent with this id at this offset. Anything else is
// unknown: a row with the id of another, a dead letter that could be parsed.
func (v *view) meet(partition int32, offset int64, id string) {
	sent := v.ledger.sent[partition]
	if offset < 0 || offset >= int64(len(sent)) || sent[offset] != id {
		v.unknown++
		if v.first == "" {
			v.first = fmt.Sprintf("partition %d offset %d has id %q, which was not sent so", partition, offset, id)
		}
		return
	}
	v.found[partition][offset]++
}

// file reads a data file or a dead-letter file.
func (v *view) file(key string, body []byte) error {
	name, dead, err := manifest.Parse(key)
	if err != nil {
		return err
	}
	if name.ID >= Partitions {
		return fmt.Errorf("%s: there is no such partition", key)
	}
	f, err := columnar.Open(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	v.files++
	for r, err := range f.Read("kafka_partition") {
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if got := string(r.Value); got != strconv.Itoa(int(name.ID)) {
			return fmt.Errorf("%s: offset %d says that it is of partition %s", key, r.Offset, got)
		}
	}
	column := idColumn
	if dead {
		column = ""
	}
	for r, err := range f.Read(column) {
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", key, err)
		case dead:
			v.deadLetter(name.ID, r.Offset)
		default:
			v.row(name.ID, r.Offset, string(r.Value))
		}
	}
	return nil
}

// get reads one file of the table.
func (v *view) get(ctx context.Context, root store.Store, key string) error {
	o, err := root.Get(ctx, key, store.Span{})
	if err != nil {
		return err
	}
	return v.file(key, o.Body)
}

// byHeads reads the files that the heads name, as a reader of the manifest
// does. Files that cannot be read are in problems; their rows are not found.
func byHeads(ctx context.Context, root store.Store, l *ledger) (v *view, duplicates [Partitions]int64, problems []error) {
	v = newView(l)
	for p := range int32(Partitions) {
		if len(l.sent[p]) == 0 {
			continue
		}
		h, err := manifest.Read(ctx, root, p)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		for r, err := range h.All(ctx, root) {
			if err != nil {
				problems = append(problems, err)
				break
			}
			duplicates[p] += r.Counts.Duplicates
			for _, key := range r.Keys() {
				if err := v.get(ctx, root, key); err != nil {
					problems = append(problems, fmt.Errorf("named by the head: %w", err))
				}
			}
		}
	}
	return v, duplicates, problems
}

// byListing reads all files under data/ and dead/, as a reader does that knows
// nothing of heads and takes what a glob finds.
func byListing(ctx context.Context, root store.Store, l *ledger) (v *view, problems []error) {
	v = newView(l)
	for _, prefix := range []string{"data/", "dead/"} {
		for info, err := range root.List(ctx, prefix, "") {
			if err == nil {
				err = v.get(ctx, root, info.Key)
			}
			if err != nil {
				problems = append(problems, fmt.Errorf("found by listing: %w", err))
			}
		}
	}
	return v, problems
}

// Account is what became of the records of a partition, or of all.
type Account struct {
	Sent       int64 `json:"sent"`
	Rows       int64 `json:"rows"`       // in data files that the heads name
	Dead       int64 `json:"dead"`       // in dead-letter files that the heads name
	Duplicates int64 `json:"duplicates"` // dropped by the sinks as already seen
	Lost       int64 `json:"lost"`       // records that some reader does not find
	Doubled    int64 `json:"doubled"`    // records that some reader finds twice or more
}

// add returns the sums of a and b.
func (a Account) add(b Account) Account {
	return Account{
		Sent: a.Sent + b.Sent, Rows: a.Rows + b.Rows, Dead: a.Dead + b.Dead,
		Duplicates: a.Duplicates + b.Duplicates, Lost: a.Lost + b.Lost, Doubled: a.Doubled + b.Doubled,
	}
}

// settle compares what two readers found with what was sent.
func settle(l *ledger, heads, listing *view, duplicates [Partitions]int64) (accounts [Partitions]Account) {
	for p, ids := range l.sent {
		a := Account{Sent: int64(len(ids)), Rows: heads.rows[p], Dead: heads.dead[p], Duplicates: duplicates[p]}
		for i := range ids {
			fewest, most := minmax(heads.found[p][i], listing.found[p][i])
			if fewest == 0 {
				a.Lost++
			}
			if most > 1 {
				a.Doubled++
			}
		}
		accounts[p] = a
	}
	return accounts
}

func minmax(a, b int) (int, int) { return min(a, b), max(a, b) }

// check reads the table and enters into the report what became of what was sent.
func check(ctx context.Context, root store.Store, l *ledger, r *Report) {
	heads, duplicates, problems := byHeads(ctx, root, l)
	listing, more := byListing(ctx, root, l)
	for _, err := range append(problems, more...) {
		r.problem(err)
	}
	for p, a := range settle(l, heads, listing, duplicates) {
		r.Partitions[p] = a
		r.Account = r.Account.add(a)
	}
	r.Unknown = max(heads.unknown, listing.unknown)
	if first := heads.first + listing.first; first != "" {
		r.problem(fmt.Errorf("%s", strings.TrimSpace(first)))
	}
	r.Files = heads.files
}
