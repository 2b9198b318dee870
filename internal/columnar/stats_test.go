package columnar_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/parquet-go/parquet-go"
)

// statColumns have one column of each type that has bounds, and some without.
func statColumns() []manifest.Column {
	return []manifest.Column{
		{Name: "b", Type: manifest.Bool},
		{Name: "i", Type: manifest.Int32},
		{Name: "l", Type: manifest.Int64, Encoding: manifest.Delta},
		{Name: "d", Type: manifest.Double},
		{Name: "s", Type: manifest.String},
		{Name: "c", Type: manifest.String, Encoding: manifest.Dictionary},
		{Name: "u", Type: manifest.UUID},
		{Name: "t", Type: manifest.Timestamp, Unit: manifest.Microseconds},
		{Name: "day", Type: manifest.Date},
		{Name: "n", Type: manifest.Decimal, Precision: 9, Scale: 2},
		{Name: "w", Type: manifest.Decimal, Precision: 38, Scale: 2},
		{Name: "x", Type: manifest.Binary},
	}
}

// statValue returns a random value with fields of all those columns, some null.
func statValue(r *rand.Rand) []byte {
	text := func(alphabet string, n int) string {
		runes := []rune(alphabet)
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteRune(runes[r.IntN(len(runes))])
		}
		return b.String()
	}
	all := map[string]any{
		"b": r.IntN(2) == 0, "i": r.IntN(1000) - 500, "l": r.Int64N(1<<40) - 1<<39,
		"d": []any{r.NormFloat64() * 1e6, 0.0, json.Number("-0.0")}[r.IntN(3)],
		"s": text("aé\U0010FFFF\u4e2dz\x7f", 60), "c": text("ab", 3),
		"u": fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()),
		"t": r.Int64N(1<<52) - 1<<51, "day": r.IntN(40000) - 20000,
		"n": fmt.Sprintf("%d.%02d", r.IntN(2000)-1000, r.IntN(100)), "w": fmt.Sprintf("%d", r.Int64()-1<<62), "x": "AAEC",
	}
	for name := range all {
		if r.IntN(10) == 0 {
			all[name] = nil
		}
	}
	body, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return body
}

// statFile is a file of many row groups with random values.
func statFile(t *testing.T, r *rand.Rand) ([]byte, manifest.File) {
	t.Helper()
	vs := make([][]byte, 3000)
	for i := range vs {
		vs[i] = statValue(r)
	}
	d := manifest.Declared{Value: manifest.JSONValue, Columns: statColumns(), Layout: manifest.Layout{GroupRows: 256}}
	out := encode(t, d, jobOf(batchOf(t, 0, vs...)))
	if out.Record.Counts.Rows != 3000 {
		t.Fatalf("%+v", out.Record.Counts)
	}
	file := out.Record.Data[0]
	return out.Bodies[file.Key], file
}

func seeded(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// A reader that skips row groups and pages by their bounds finds as many rows
// as one that reads them all.
func TestStatisticsOfPredicates(t *testing.T) {
	r := seeded(t)
	body, _ := statFile(t, r)
	file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	columns := len(statColumns())
	chunks := make([][][]parquet.Value, columns) // by column and row group
	for c := range chunks {
		for _, g := range file.RowGroups() {
			chunks[c] = append(chunks[c], valuesOf(t, g.ColumnChunks()[c]))
		}
	}
	skipped := 0
	for range 2000 {
		c := r.IntN(columns)
		group := chunks[c][r.IntN(len(chunks[c]))]
		limit := group[r.IntN(len(group))]
		if limit.IsNull() {
			continue
		}
		ty := file.RowGroups()[0].ColumnChunks()[c].Type()
		below := func(v parquet.Value) bool { return !v.IsNull() && compareValues(ty, v, limit) <= 0 }
		above := func(v parquet.Value) bool { return !v.IsNull() && compareValues(ty, v, limit) >= 0 }
		for g := range chunks[c] {
			low, high, ok := file.RowGroups()[g].ColumnChunks()[c].(*parquet.FileColumnChunk).Bounds()
			if !ok {
				continue
			}
			if compareValues(ty, low, limit) > 0 {
				skipped += miss(t, file, c, chunks[c][g], below)
			}
			if compareValues(ty, high, limit) < 0 {
				skipped += miss(t, file, c, chunks[c][g], above)
			}
		}
	}
	if skipped == 0 {
		t.Error("no row group was ever skipped")
	}
}

// miss reports rows of a row group that was skipped, which nothing may match.
func miss(t *testing.T, file *parquet.File, column int, values []parquet.Value, match func(parquet.Value) bool) int {
	for _, v := range values {
		if match(v) {
			t.Errorf("column %v: %v is outside of the bounds", file.Schema().Columns()[column], v)
		}
	}
	return 1
}

// compareValues is the order that readers assume: that of the type, and both
// zeros are equal.
func compareValues(ty parquet.Type, a, b parquet.Value) int {
	if ty.Kind() == parquet.Double && a.Double() == b.Double() {
		return 0
	}
	return ty.Compare(a, b)
}

func valuesOf(t *testing.T, c parquet.ColumnChunk) []parquet.Value {
	t.Helper()
	pages := c.Pages()
	defer pages.Close()
	var out []parquet.Value
	for int64(len(out)) < c.NumValues() {
		p, err := pages.ReadPage()
		if err != nil {
			t.Fatal(err)
		}
		vs := make([]parquet.Value, p.NumValues())
		n, _ := p.Values().ReadValues(vs)
		for _, v := range vs[:n] {
			out = append(out, v.Clone())
		}
	}
	return out
}

// What a range record says of the first leaf columns holds for every value.
func TestFileStats(t *testing.T) {
	body, file := statFile(t, seeded(t))
	if len(file.Stats) != 16 {
		t.Fatalf("%d columns have statistics, want 16", len(file.Stats))
	}
	for i, c := range statColumns() {
		s := file.Stats[i]
		if s.Column != i+1 {
			t.Errorf("%s: field id %d, want %d", c.Name, s.Column, i+1)
		}
		if got := int64(strings.Count(values(t, body, c.Name), ":null")); got != s.Nulls {
			t.Errorf("%s: %d nulls, the footer says %d", c.Name, got, s.Nulls)
		}
		if c.Name == "w" || c.Name == "x" {
			if s.Min != nil || s.Max != nil {
				t.Errorf("%s: bounds %s %s, want none", c.Name, s.Min, s.Max)
			}
			continue
		}
		if !json.Valid(s.Min) || s.Max != nil && !json.Valid(s.Max) {
			t.Errorf("%s: bounds %s and %s are no JSON", c.Name, s.Min, s.Max)
		}
		checkBounds(t, c, s, readValues(t, body, c.Name))
	}
}
