package tabletest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/internal/verify"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/writer"
)

// Config returns how a writer of raw values writes a log to partition 0 of the
// table t, 7 rows to a batch, until it has the whole. Its files are not zstd,
// whose decoders are kept from test to test, and cannot be by tests with clocks
// of their own.
func Config(s store.Store, log *Log) (writer.Config, error) {
	schema, err := manifest.NewSchema(manifest.Declared{
		Value: manifest.RawValue, Layout: manifest.Layout{Compression: manifest.Snappy},
	})
	return writer.Config{
		Store: s, Table: "t", Source: log, Schema: schema, Once: true, Limits: writer.Limits{MaxRows: 7},
	}, err
}

// Write runs a writer of Config to its end.
func Write(ctx context.Context, s store.Store, log *Log) error {
	c, err := Config(s, log)
	if err != nil {
		return err
	}
	return writer.New(log.Room).Run(ctx, c)
}

// Whole checks a finished table by what the store holds: every offset once and
// with its value, each published file as it was recorded, and nothing else
// under data/ that has rows.
func Whole(t testing.TB, s store.Store, n int64) {
	t.Helper()
	ctx := t.Context()
	h, err := manifest.Read(ctx, s, 0)
	if err != nil {
		t.Fatal(err)
	}
	if h.Next != n || h.Totals.Rows != n || h.Pending != nil {
		t.Errorf("next %d, %d rows, pending %v, want %d", h.Next, h.Totals.Rows, h.Pending, n)
	}
	var at int64
	for f, err := range h.Files(ctx, s) {
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.Get(ctx, f.Key, store.Span{})
		if err != nil || sha256.Sum256(o.Body) != f.SHA256 {
			t.Fatalf("%s: err %v, or not as it was recorded", f.Key, err)
		}
		at = rows(t, f.Key, o.Body, at)
	}
	if at != n {
		t.Errorf("%d rows, want %d", at, n)
	}
	for f, err := range verify.Run(ctx, s, verify.Options{Table: "t", Deep: true}) {
		if err != nil {
			t.Fatal(err)
		}
		t.Error(f)
	}
}

// rows checks that the rows of a file go on at an offset, and returns where
// they end.
func rows(t testing.TB, key string, body []byte, at int64) int64 {
	t.Helper()
	file, err := columnar.Open(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range file.Read("value") {
		value := strings.TrimLeft(string(row.Value), "0")
		if err != nil || row.Offset != at || value != strings.TrimLeft(fmt.Sprint(at), "0") {
			t.Fatalf("%s: offset %d, value %.20q, err %v, want %d", key, row.Offset, row.Value, err, at)
		}
		at++
	}
	return at
}
