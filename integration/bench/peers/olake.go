package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// olake reads what a topic holds, writes files and ends.
func olake() sink {
	path, missing := given("OLAKE", "a binary of OLake's driver for Kafka")
	command := func(ctx context.Context, j *job, verb string, args ...string) *exec.Cmd {
		args = append([]string{verb, "--config", j.file("olake-source.json"), "--destination", j.file("olake-destination.json")}, args...)
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Env = append(os.Environ(), "TELEMETRY_DISABLED=true")
		return cmd
	}
	return sink{
		name: "olake", id: "event_id", missing: missing,
		prepare: func(ctx context.Context, j *job) error {
			if out, err := command(ctx, j, "discover").CombinedOutput(); err != nil {
				return fmt.Errorf("olake discover: %w\n%s", err, out)
			}
			return typed(j.file("streams.json"))
		},
		command: func(ctx context.Context, j *job) *exec.Cmd {
			args := []string{"--catalog", j.file("streams.json")}
			if _, err := os.Stat(j.file("state.json")); err == nil {
				args = append(args, "--state", j.file("state.json"))
			}
			return command(ctx, j, "sync", args...)
		},
	}
}

// typed asks for a column for each member of the events, in the file that
// discover wrote. By default there is one column with the JSON.
func typed(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read what OLake discovered: %w", err)
	}
	changed := bytes.ReplaceAll(text, []byte(`"normalization": false`), []byte(`"normalization": true`))
	changed = bytes.ReplaceAll(changed, []byte(`"normalization":false`), []byte(`"normalization":true`))
	if bytes.Equal(text, changed) {
		return errors.New("OLake discovered no stream that could be typed")
	}
	return os.WriteFile(path, changed, 0o600)
}
