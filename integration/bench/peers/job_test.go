package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/integration/bench/servers"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// newTestJob returns a job whose store is a folder.
func newTestJob(t *testing.T) *job {
	p := &place{dir: t.TempDir(), gate: &servers.Server{Address: "http://127.0.0.1:1/lake"}}
	return &job{place: p, name: "x-1", topic: "events", dir: t.TempDir()}
}

// put makes a file in the store.
func (j *job) put(t *testing.T, key, text string) string {
	t.Helper()
	path := filepath.Join(j.buckets(), "lake", j.name, key)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStored(t *testing.T) {
	j := newTestJob(t)
	// Before the first file there is no folder.
	if got, err := j.stored(); err != nil || len(got) != 0 {
		t.Fatalf("an empty store has %v, %v", got, err)
	}
	// Heads, metadata and the like are no data.
	want := []string{j.put(t, "a/1.parquet", ""), j.put(t, "events-0-0.zst", "")}
	j.put(t, "a/metadata.json", "")
	j.put(t, "a/manifest.avro", "")
	if got, err := j.stored(); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestSnapshot(t *testing.T) {
	j := newTestJob(t)
	f := func(number int, text string, want int) {
		t.Helper()
		if text != "" {
			j.put(t, "shop/events/metadata/0000"+strconv.Itoa(number)+"-x.metadata.json", text)
		}
		if got, err := snapshot(t.Context(), j); err != nil || got != want {
			t.Errorf("got %d, %v, want %d", got, err, want)
		}
	}
	// No table yet, then one without a snapshot.
	f(0, "", 0)
	f(0, `{"current-snapshot-id":-1,"snapshots":[]}`, 0)
	// The current snapshot counts, not the last in the list.
	f(1, `{"current-snapshot-id":7,"snapshots":[{"snapshot-id":7,"summary":{"total-records":"50"}},{"snapshot-id":6,"summary":{"total-records":"40"}}]}`, 50)
	// The newest file counts.
	f(2, `{"current-snapshot-id":8,"snapshots":[{"snapshot-id":8,"summary":{"total-records":"60"}}]}`, 60)
}

// Every configuration is filled in whole, and what is JSON is JSON.
func TestConfigure(t *testing.T) {
	j := newTestJob(t)
	j.broker = &realkafka.Broker{}
	if err := j.configure(); err != nil {
		t.Fatal(err)
	}
	files, err := conf.ReadDir("conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(j.file(f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if len(text) == 0 || bytes.Contains(text, []byte("<<")) {
			t.Errorf("%s is not filled in:\n%s", f.Name(), text)
		}
		if strings.HasSuffix(f.Name(), ".json") && !json.Valid(text) {
			t.Errorf("%s is no JSON:\n%s", f.Name(), text)
		}
	}
	// What Bento fills in stays as it is.
	if text, _ := os.ReadFile(j.file("bento.yaml")); !bytes.Contains(text, []byte("path: x-1/${! @kafka_partition }-${! @kafka_offset }.parquet")) {
		t.Errorf("bento.yaml has lost its path:\n%s", text)
	}
}
