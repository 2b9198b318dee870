package columnar_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// headersOf reads kafka_headers of each row as [name=value ...].
func headersOf(t testing.TB, body []byte) string {
	t.Helper()
	file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	name, ok1 := file.Schema().Lookup("kafka_headers", "list", "element", "name")
	value, ok2 := file.Schema().Lookup("kafka_headers", "list", "element", "value")
	if !ok1 || !ok2 {
		t.Fatal("the file has no headers")
	}
	var out []string
	for _, row := range rowsOf(t, file) {
		var names, values []parquet.Value
		for _, v := range row {
			switch v.Column() {
			case name.ColumnIndex:
				names = append(names, v)
			case value.ColumnIndex:
				values = append(values, v)
			}
		}
		out = append(out, pairs(names, values))
	}
	return strings.Join(out, " ")
}

func pairs(names, values []parquet.Value) string {
	var out []string
	for i, n := range names {
		if n.IsNull() {
			continue // the list is empty
		}
		v := "null"
		if !values[i].IsNull() {
			v = printable(values[i].ByteArray())
		}
		out = append(out, printable(n.ByteArray())+"="+v)
	}
	return fmt.Sprint(out)
}

func printable(b []byte) string { return strings.Trim(strconv.QuoteToASCII(string(b)), `"`) }

// rowsOf reads all rows of a file.
func rowsOf(t testing.TB, file *parquet.File) []parquet.Row {
	t.Helper()
	var out []parquet.Row
	for _, g := range file.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 64)
		for {
			n, err := rows.ReadRows(buf)
			for _, r := range buf[:n] {
				out = append(out, r.Clone())
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
