package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// seen is what a reader of a table sees.
type seen struct {
	Rows  int `json:"rows"`
	IDs   int `json:"ids"`
	files int
}

// count reads the table with DuckDB.
func (j *job) count(ctx context.Context) (seen, error) {
	live := func(context.Context, *job) ([]string, error) { return j.stored() }
	if j.sink.live != nil {
		live = j.sink.live
	}
	files, err := live(ctx, j)
	if err != nil {
		return seen{}, err
	}
	out, err := j.read(ctx, strings.Join(files, "\n"), "count", j.sink.id)
	if err != nil {
		return seen{}, err
	}
	s := seen{files: len(files)}
	return s, json.Unmarshal(out, &s)
}

// read runs read.py.
func (p *place) read(ctx context.Context, in string, args ...string) ([]byte, error) {
	args = append([]string{filepath.Join("bench", "peers", "read.py")}, args...)
	cmd := exec.CommandContext(ctx, filepath.Join(p.home, "python", "bin", "python"), args...)
	cmd.Stdin = strings.NewReader(in)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("read.py: %w\n%s", err, &errs)
	}
	return out, nil
}
