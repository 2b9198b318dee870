package soak

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/gateway"
)

// value returns the event of an id: ids.py knows what it must hold.
func value(id int) []byte {
	text := strconv.Itoa(id)
	sum := md5.Sum([]byte(text))
	return []byte(`{"id":` + text + `,"payload":"` + hex.EncodeToString(sum[:]) + `"}`)
}

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

// head is what this package looks at in a head.
type head struct {
	Next   int64 `json:"next_offset"`
	Epoch  int64
	Totals struct{ Ranges, Files, Rows, Dead int64 }
}

// table is the folder of a topic in a bucket. The gateway keeps objects as
// plain files, so they are read as such, past every layer that a test disturbs.
type table struct{ bucket, topic string }

func (tb table) dir() string { return filepath.Join(gateDir, tb.bucket, "raw", tb.topic) }

// head returns the head of a partition; the zero head if there is none.
func (tb table) head(t *testing.T, partition int32) head {
	t.Helper()
	var h head
	body, err := os.ReadFile(filepath.Join(tb.dir(), "manifest", fmt.Sprintf("%05d.json", partition)))
	if errors.Is(err, fs.ErrNotExist) {
		return h
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &h); err != nil {
		t.Fatalf("head of %s/%d: %v", tb.topic, partition, err)
	}
	return h
}

// next sums what is published of some partitions.
func (tb table) next(t *testing.T, partitions int32) (sum int64) {
	t.Helper()
	for p := range partitions {
		sum += tb.head(t, p).Next
	}
	return sum
}

// listed returns the files under data/, as a reader finds them that only lists.
func (tb table) listed(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(tb.dir(), "data", "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// live returns the files that the heads name, as `lakeweir files` tells.
func (tb table) live(t *testing.T, config string) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(tb.hashes(t, config)))
}

// hashes returns the hash that the heads have of each file that they name, in
// hexadecimal.
func (tb table) hashes(t *testing.T, config string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(command(t, "files", "--config", config, tb.topic, "--format", "json")) {
		var f struct {
			File struct{ Key, SHA256 string } `json:"file"`
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil || f.File.Key == "" || f.File.SHA256 == "" {
			t.Fatalf("%q: %v", line, err)
		}
		path := filepath.Join(tb.dir(), f.File.Key)
		if _, twice := all[path]; twice {
			t.Errorf("%s is named twice", path)
		}
		all[path] = f.File.SHA256
	}
	return all
}

// objects returns when each object of the table was last changed.
func (tb table) objects(t *testing.T) map[string]time.Time {
	t.Helper()
	all := map[string]time.Time{}
	err := filepath.WalkDir(tb.dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all[path] = info.ModTime()
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

// command runs the command to its end, which must be a success.
func command(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+gateway.AccessKey, "AWS_SECRET_ACCESS_KEY="+gateway.SecretKey)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("lakeweir %v: %v\n%s", args, err, &errs)
	}
	return string(out)
}

// rows is what ids.py found.
type rows struct{ Files, Rows, Lost, Doubled, Strange, Wrong, Disorder int64 }

// read has DuckDB read files that hold the ids from 0 to sent-1.
func read(t *testing.T, sent int, files []string) (r rows) {
	t.Helper()
	if len(files) == 0 {
		t.Fatal("there are no files")
	}
	python := os.Getenv("LAKEWEIR_DUCKDB")
	if python == "" {
		t.Fatal("LAKEWEIR_DUCKDB must name the interpreter that ../duckdb/install.sh prints: use `make integration`")
	}
	cmd := exec.CommandContext(t.Context(), python, idsPy, strconv.Itoa(sent))
	cmd.Stdin = strings.NewReader(strings.Join(files, "\n"))
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		t.Fatalf("DuckDB: %v\n%s%s", err, out, &errs)
	}
	return r
}

// exact fails the test unless files hold the ids from 0 to sent-1 once each.
func exact(t *testing.T, what string, sent int, files []string) rows {
	t.Helper()
	r := read(t, sent, files)
	if r.Rows != int64(sent) || r.Lost+r.Doubled+r.Strange+r.Wrong+r.Disorder != 0 {
		t.Errorf("%s: %d sent, found %+v", what, sent, r)
	}
	return r
}

// records returns the events of ids from..to-1, dealt to partitions in turn.
func records(topic string, partitions, from, to int) []*kgo.Record {
	var all []*kgo.Record
	for id := from; id < to; id++ {
		all = append(all, &kgo.Record{Topic: topic, Partition: int32(id % partitions), Value: value(id)})
	}
	return all
}

// committed returns the offsets of a group.
func committed(ctx context.Context, admin *kadm.Client, group string) (map[place]int64, error) {
	got, err := admin.FetchOffsets(ctx, group)
	if err != nil {
		return nil, err
	}
	all := map[place]int64{}
	for topic, partitions := range got {
		for id, o := range partitions {
			if o.Err != nil {
				return nil, o.Err
			}
			if o.At >= 0 {
				all[place{topic, id}] = o.At
			}
		}
	}
	return all, nil
}

// await asks again and again, every 20 ms, until ok or the limit has passed,
// and returns how long it took.
func await(t *testing.T, limit time.Duration, what string, ok func() bool) time.Duration {
	t.Helper()
	begin := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Since(begin) > limit {
			t.Fatalf("after %v: %s", limit, what)
		}
		<-tick.C
	}
	return time.Since(begin)
}
