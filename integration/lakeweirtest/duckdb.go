package lakeweirtest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// duck is the one DuckDB of a test binary.
var duck struct {
	sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func startDuckDB() error {
	python := os.Getenv("LAKEWEIR_DUCKDB")
	if python == "" {
		return errors.New("LAKEWEIR_DUCKDB must name the interpreter that duckdb/install.sh prints: use `make integration`")
	}
	cmd := exec.Command(python, filepath.Join(source, "duckdb", "query.py"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	duck.cmd, duck.in, duck.out = cmd, in, json.NewDecoder(out)
	return nil
}

func stopDuckDB() {
	duck.Lock()
	defer duck.Unlock()
	if duck.cmd != nil {
		_ = duck.in.Close() // it ends at the end of its input
		_ = duck.cmd.Wait()
	}
}

// Query asks DuckDB and decodes the rows, arrays of values, into the slice that
// to points at.
func Query(t testing.TB, to any, sql string, args ...any) {
	t.Helper()
	duck.Lock()
	defer duck.Unlock()
	if duck.cmd == nil {
		if err := startDuckDB(); err != nil {
			t.Fatalf("start DuckDB: %v", err)
		}
	}
	if args == nil {
		args = []any{}
	}
	if err := json.NewEncoder(duck.in).Encode(map[string]any{"sql": sql, "args": args}); err != nil {
		t.Fatalf("ask DuckDB: %v", err)
	}
	var answer struct {
		Rows  json.RawMessage
		Error string
	}
	err := duck.out.Decode(&answer)
	if err == nil && answer.Error == "" {
		err = json.Unmarshal(answer.Rows, to)
	}
	if err != nil || answer.Error != "" {
		t.Fatalf("DuckDB: %v %s\nin %s", err, answer.Error, sql)
	}
}

// Rows returns the rows of the table, as "partition/offset value" in that
// order. A null value is the word NULL.
func (s *Sink) Rows(t testing.TB) []string {
	t.Helper()
	files := s.Files(t)
	if len(files) == 0 {
		return nil
	}
	var rows [][1]string
	Query(t, &rows, `select kafka_partition || '/' || kafka_offset || ' ' || coalesce(decode(value), 'NULL')
		from read_parquet(?) order by kafka_partition, kafka_offset`, files)
	all := make([]string, len(rows))
	for i, r := range rows {
		all[i] = r[0]
	}
	return all
}
