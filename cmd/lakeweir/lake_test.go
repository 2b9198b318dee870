package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/internal/verify"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/dir"
)

// newLake makes a directory store with the table quakes: two partitions of two
// published ranges, each of nine rows and a dead letter, and a range that is
// planned in the second.
func newLake(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lake")
	s, err := dir.New(t.Context(), dir.Config{Root: path})
	if err != nil {
		t.Fatal(err)
	}
	root := store.Sub(s, "quakes/")
	schema, err := manifest.NewSchema(manifest.Declared{Value: manifest.JSONValue, Columns: []manifest.Column{{Name: "id", Type: manifest.Int64}}})
	if err == nil {
		schema, err = manifest.EnsureSchema(t.Context(), root, schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := columnar.NewEncoder(schema)
	if err != nil {
		t.Fatal(err)
	}
	for p := range int32(2) {
		l, err := manifest.Claim(t.Context(), root, manifest.Claimant{
			Table: "quakes", Partition: p, Host: "box", Software: "test",
			First: func(context.Context) (int64, error) { return 0, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			publish(t, root, encoder, l)
		}
		if p == 1 {
			plan := manifest.Plan{Range: manifest.Range{Start: 20, Next: 25}, Schema: 1, Keys: []string{"data/00001-00000000000000000020-00000000000000000025.parquet"}}
			if err := l.Plan(t.Context(), plan); err != nil {
				t.Fatal(err)
			}
		}
	}
	return path
}

// publish publishes the next ten positions of a partition.
func publish(t *testing.T, root store.Store, encoder *columnar.Encoder, l *manifest.Log) {
	t.Helper()
	h := l.Head()
	b := record.NewBatch(h.Next, nil)
	for i := range int64(10) {
		value := fmt.Sprintf(`{"id":%d}`, int64(h.ID)*1000+h.Next+i)
		if i == 3 {
			value = "no JSON"
		}
		if err := b.Append(record.Record{Offset: h.Next + i, Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	e, err := encoder.Encode(t.Context(), manifest.Job{
		Table: "quakes", Partition: h.Partition, Range: manifest.Range{Start: h.Next, Next: h.Next + 10},
		Schema: 1, Batches: []*record.Batch{b},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Plan(t.Context(), manifest.Plan{Range: e.Record.Range, Schema: 1, Keys: e.Record.Keys()}); err != nil {
		t.Fatal(err)
	}
	for _, key := range slices.Sorted(maps.Keys(e.Bodies)) {
		if _, err := root.Put(t.Context(), key, e.Bodies[key], store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Publish(t.Context(), e.Record, nil); err != nil {
		t.Fatal(err)
	}
}

func TestFiles(t *testing.T) {
	path := newLake(t)
	f := func(want []string, args ...string) {
		t.Helper()
		got := lakeweir(t, append([]string{"files", "quakes", "--store", "dir:" + path}, args...)...)
		if lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n"); got.code != 0 || !slices.Equal(lines, want) {
			t.Errorf("%q: code %d, got\n%s%swant\n%s", args, got.code, got.out, got.err, strings.Join(want, "\n"))
		}
	}
	var paths, uris, dead []string
	for _, name := range []string{
		"00000-00000000000000000000-00000000000000000010.parquet",
		"00000-00000000000000000010-00000000000000000020.parquet",
		"00001-00000000000000000000-00000000000000000010.parquet",
		"00001-00000000000000000010-00000000000000000020.parquet",
	} {
		paths = append(paths, filepath.Join(path, "quakes", "data", name))
		uris = append(uris, "file://"+path+"/quakes/data/"+name)
		dead = append(dead, filepath.Join(path, "quakes", "dead", name))
	}
	f(paths)
	f(uris, "--format", "uris")
	f(dead, "--dead")
	for _, p := range append(paths, dead...) {
		if _, err := os.Stat(p); err != nil {
			t.Error(err)
		}
	}
	got := lakeweir(t, "files", "quakes", "--store", "dir:"+path, "--json")
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines: %s", len(lines), got.out)
	}
	var last listedFile
	var file manifest.File
	if err := json.Unmarshal([]byte(lines[3]), &last); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(last.File, &file); err != nil {
		t.Fatal(err)
	}
	if last.Partition != 1 || last.Start != 10 || last.Next != 20 || last.URI != uris[3] || file.Rows != 9 {
		t.Errorf("last file %+v, %+v", last, file)
	}
}

// A list that the head names and that is not there is damage, not an end.
func TestFilesOfDamagedTable(t *testing.T) {
	path := newLake(t)
	s, err := dir.New(t.Context(), dir.Config{Root: path})
	if err != nil {
		t.Fatal(err)
	}
	root := store.Sub(s, "quakes/")
	first := func(context.Context) (int64, error) { return 0, nil }
	if _, err := manifest.Reset(t.Context(), root, manifest.Claimant{Table: "quakes", First: first}); err != nil { // seals a list
		t.Fatal(err)
	}
	lists, err := filepath.Glob(filepath.Join(path, "quakes", "manifest", "00000", "*.json"))
	if err != nil || len(lists) != 1 {
		t.Fatalf("lists %v, %v", lists, err)
	}
	if err := os.Remove(lists[0]); err != nil {
		t.Fatal(err)
	}
	fails(t, exitDamage, "damaged table", "files", "quakes", "--store", "dir:"+path)
}

// A wrong name or a wrong place is no empty table.
func TestNoTable(t *testing.T) {
	path := newLake(t)
	for _, command := range []string{"files", "verify"} {
		fails(t, exitError, `there is no table "quake" in dir:`+path+": `lakeweir status` lists", command, "quake", "--store", "dir:"+path)
		fails(t, exitError, "there is no such directory", command, "quakes", "--store", "dir:"+path+"x")
		fails(t, exitUsage, "cannot be the name of a topic", command, "../quakes", "--store", "dir:"+path)
	}
	if _, err := os.Stat(path + "x"); err == nil {
		t.Error("the directory was made")
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	path := newLake(t)
	got := lakeweir(t, "status", "--store", "dir:"+path)
	lines := strings.Split(got.out, "\n")
	if got.code != 0 || len(lines) != 4 {
		t.Fatalf("%+v", got)
	}
	for i, want := range [][]string{
		{"TABLE", "PART", "NEXT", "PENDING", "END", "LAG", "OPEN-TX", "AGE"},
		{"quakes", "0", "20", "-", "?", "?", "?"},
		{"quakes", "1", "20", "[20,25)", "?", "?", "?"},
	} {
		if f := strings.Fields(lines[i]); !slices.Equal(f[:len(want)], want) {
			t.Errorf("line %d is %q, want %q first", i, lines[i], want)
		}
	}
	var r report
	asJSON := lakeweir(t, "status", "quakes", "--store", "dir:"+path, "--json")
	if err := json.Unmarshal([]byte(asJSON.out), &r); err != nil || len(r.Partitions) != 2 {
		t.Fatalf("%v: %s", err, asJSON.out)
	}
	p := r.Partitions[1]
	if p.Next != 20 || p.Pending == nil || p.Pending.Next != 25 || p.LogEnd != nil || p.Epoch != 1 || p.Host != "box" || p.Published == nil || p.Totals.Rows != 18 {
		t.Errorf("%+v", p)
	}
	// A table without a head, and a store without a table.
	fails(t, exitError, `there is no table "other" in dir:`, "status", "other", "--store", "dir:"+path)
	if got := lakeweir(t, "status", "quakes", "other", "--store", "dir:"+path); got.code != exitError ||
		!strings.Contains(got.err, `no table "other"`) || !strings.Contains(got.out, "quakes") {
		t.Errorf("a table that is there beside one that is not: %+v", got)
	}
	if got := lakeweir(t, "status", "--store", "dir:"+t.TempDir()); got.code != 0 || !strings.Contains(got.out, "nothing is published") {
		t.Errorf("%+v", got)
	}
	// Brokers that do not answer: what the heads say is shown all the same.
	got = lakeweir(t, "status", "--store", "dir:"+path, "--brokers", "127.0.0.1:1")
	if got.code != 0 || !strings.Contains(got.out, "[20,25)") || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, "no broker answers") {
		t.Errorf("%+v", got)
	}
	if got := lakeweir(t, "status", "--store", "dir:"+path, "--brokers", "127.0.0.1:1", "--no-broker"); got.err != "" {
		t.Errorf("%+v", got)
	}
}

// A head that cannot be understood is told, also by the exit code, and hides no other.
func TestStatusOfADamagedHead(t *testing.T) {
	path := newLake(t)
	if err := os.WriteFile(filepath.Join(path, "quakes", "manifest", "00000.json"), []byte(`{"format":"2.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got := lakeweir(t, "status", "--store", "dir:"+path)
	if got.code != exitError || !strings.Contains(got.out, "format not known to this version") || !strings.Contains(got.out, "[20,25)") {
		t.Errorf("%+v", got)
	}
	fails(t, exitError, "format not known to this version", "files", "quakes", "--store", "dir:"+path)
	fails(t, exitError, "format not known to this version", "verify", "quakes", "--store", "dir:"+path)
}

func TestVerify(t *testing.T) {
	path := newLake(t)
	got := lakeweir(t, "verify", "quakes", "--store", "dir:"+path, "--id", "id")
	if got.code != 0 || got.out != "table \"quakes\" is whole (8 files, 0 warnings)\n" || got.err != "" {
		t.Errorf("%+v", got)
	}
	if err := os.Remove(filepath.Join(path, "quakes", "data", "00001-00000000000000000010-00000000000000000020.parquet")); err != nil {
		t.Fatal(err)
	}
	got = lakeweir(t, "verify", "quakes", "--store", "dir:"+path)
	if got.code != exitDamage || !strings.HasPrefix(got.out, "damage: data/00001-") || strings.Count(got.out, "\n") != 1 {
		t.Errorf("%+v", got)
	}
	if !strings.HasPrefix(got.err, "lakeweir: damaged table \"quakes\": 1 findings") || strings.Count(got.err, "\n") != 1 {
		t.Errorf("stderr %q", got.err)
	}
	var v verdict
	asJSON := lakeweir(t, "verify", "quakes", "--store", "dir:"+path, "--json")
	if err := json.Unmarshal([]byte(asJSON.out), &v); err != nil || asJSON.code != exitDamage {
		t.Fatalf("%v: %+v", err, asJSON)
	}
	if v.Damage != 1 || len(v.Findings) != 1 || v.Findings[0].Kind != verify.MissingFile {
		t.Errorf("%+v", v)
	}
	// A column that is in no file would find nothing wrong.
	fails(t, exitError, `column "uuid"`, "verify", "quakes", "--store", "dir:"+newLake(t), "--id", "uuid")
}

func TestProbe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lake")
	got := lakeweir(t, "probe", "--store", "dir:"+path, "--create-bucket")
	if got.code != 0 || strings.Count(got.out, "ok  ") < 5 || strings.Contains(got.out, "FAIL") {
		t.Errorf("%+v", got)
	}
	var r struct {
		Safe   bool
		Checks []checked
	}
	asJSON := lakeweir(t, "probe", "--store", "dir:"+path, "--json", "--single-writer")
	if err := json.Unmarshal([]byte(asJSON.out), &r); err != nil || !r.Safe || len(r.Checks) < 5 {
		t.Errorf("%v: %+v", err, asJSON)
	}
}
