package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lakeweir/lakeweir/integration/gateway"
)

// sinks are all that are known, in the order of the table.
func (p *place) sinks() []sink {
	return []sink{lakeweir(), iceberg(), aiven(), bento(), olake()}
}

// given returns the path in an environment variable, or why there is none.
func given(variable, what string) (path, missing string) {
	if path = os.Getenv(variable); path == "" {
		return "", fmt.Sprintf("%s is not set: it names %s", variable, what)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Sprintf("%s: %v", variable, err)
	}
	return path, ""
}

// lakeweir is this sink. Its reader asks the heads.
func lakeweir() sink {
	keys := append(os.Environ(), "AWS_ACCESS_KEY_ID="+gateway.AccessKey, "AWS_SECRET_ACCESS_KEY="+gateway.SecretKey)
	return sink{
		name: "lakeweir", id: "event_id",
		command: func(ctx context.Context, j *job) *exec.Cmd {
			cmd := exec.CommandContext(ctx, j.place.command, "run", "--config", j.file("lakeweir.yaml"), "--once", "--log-level", "error")
			cmd.Env = keys
			return cmd
		},
		live: func(ctx context.Context, j *job) ([]string, error) {
			cmd := exec.CommandContext(ctx, j.place.command, "files", j.topic, "--config", j.file("lakeweir.yaml"), "--format", "uris")
			cmd.Env = keys
			out, err := cmd.Output()
			if err != nil {
				return nil, fmt.Errorf("list the files: %w", err)
			}
			var paths []string
			for _, uri := range strings.Fields(string(out)) {
				paths = append(paths, filepath.Join(j.buckets(), strings.TrimPrefix(uri, "s3://")))
			}
			return paths, nil
		},
	}
}

// bento reads with a group and writes files named by offset.
func bento() sink {
	path, missing := given("BENTO", "a Bento binary")
	return sink{
		name: "bento", id: "event_id", missing: missing,
		command: func(ctx context.Context, j *job) *exec.Cmd {
			return exec.CommandContext(ctx, path, "-c", j.file("bento.yaml"))
		},
		published: committed(func(j *job) string { return j.name }),
	}
}
