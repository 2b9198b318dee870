package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// install shows the worker one plugin: a folder of jars in a folder of the job.
func (j *job) install(jars string) error {
	if err := os.Mkdir(j.file("plugins"), 0o755); err != nil {
		return err
	}
	return os.Symlink(jars, filepath.Join(j.file("plugins"), j.sink.name))
}

// connect starts a worker with one sink.
func connect(properties string) func(context.Context, *job) *exec.Cmd {
	return func(ctx context.Context, j *job) *exec.Cmd {
		return exec.CommandContext(ctx, "java", "-Xms256m", "-Xmx"+j.heap, "-XX:+UseG1GC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
			"-cp", filepath.Join(j.home, "connect", "*"), "org.apache.kafka.connect.cli.ConnectStandalone",
			j.file("worker.properties"), j.file(properties))
	}
}

// aiven is Aiven's S3 sink. Its offsets are told after its files are there.
func aiven() sink {
	jars, missing := given("AIVEN", "a folder with the jars of Aiven's S3 sink for Kafka Connect")
	return sink{
		name: "aiven", id: "event_id", missing: missing,
		prepare:   func(_ context.Context, j *job) error { return j.install(jars) },
		command:   connect("aiven.properties"),
		published: committed(func(j *job) string { return "connect-" + j.name }),
	}
}

// iceberg is the sink of Apache Iceberg. Its reader asks the current snapshot.
func iceberg() sink {
	return sink{
		name: "iceberg", id: "event_id",
		prepare: func(ctx context.Context, j *job) error {
			if err := j.install(filepath.Join(j.home, "iceberg")); err != nil {
				return err
			}
			if _, err := j.admin.CreateTopic(ctx, 1, 1, nil, "control-"+j.name); err != nil {
				return err
			}
			table := filepath.Join("bench", "peers", "iceberg", "Table.java")
			cmd := exec.CommandContext(ctx, "java", "-cp", filepath.Join(j.home, "iceberg", "*"), table, j.file("iceberg.properties"))
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("make the Iceberg table: %w\n%s", err, out)
			}
			return nil
		},
		command:   connect("iceberg.properties"),
		published: snapshot,
		live: func(ctx context.Context, j *job) ([]string, error) {
			out, err := j.read(ctx, "", "iceberg", j.file("catalog.db"), j.buckets())
			return strings.Fields(string(out)), err
		},
	}
}

// snapshot returns the rows of the newest snapshot of the job's table. The
// files of metadata are numbered.
func snapshot(_ context.Context, j *job) (int, error) {
	_, bucket := j.endpoint()
	paths, err := filepath.Glob(filepath.Join(j.buckets(), bucket, j.name, "shop", "events", "metadata", "*.metadata.json"))
	if err != nil || len(paths) == 0 {
		return 0, err
	}
	text, err := os.ReadFile(slices.Max(paths))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var table struct {
		Current   int64 `json:"current-snapshot-id"`
		Snapshots []struct {
			ID      int64             `json:"snapshot-id"`
			Summary map[string]string `json:"summary"`
		} `json:"snapshots"`
	}
	if err := json.Unmarshal(text, &table); err != nil {
		return 0, fmt.Errorf("read %s: %w", slices.Max(paths), err)
	}
	for _, s := range table.Snapshots {
		if s.ID == table.Current {
			return strconv.Atoi(s.Summary["total-records"])
		}
	}
	return 0, nil
}
