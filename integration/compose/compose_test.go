// Package compose tries what docker-compose.yml starts, without Docker: the
// same configuration file, script and commands, in the same order, with a real
// Kafka and a real S3 server in the place of the images.
package compose

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/integration/gateway"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// command runs a program to its end and returns what it printed.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// localConfig copies docker/lakeweir.yaml with other addresses, which are all
// that differs from the file that the image gets.
func localConfig(t *testing.T, root string, addresses map[string]string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docker", "lakeweir.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	local := string(text)
	for service, here := range addresses {
		if !strings.Contains(local, service) {
			t.Fatalf("docker/lakeweir.yaml does not name %s", service)
		}
		local = strings.ReplaceAll(local, service, here)
	}
	config := filepath.Join(t.TempDir(), "lakeweir.yaml")
	if err := os.WriteFile(config, []byte(local), 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

// The services, one after the other: the bucket is made, the earthquakes are
// sent once, and lakeweir makes a file of each partition.
func TestServices(t *testing.T) {
	// The gateway changes the working directory, so the path must be whole.
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	kafka := realkafka.Start(t, realkafka.Options{})
	s3, err := gateway.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s3.Stop)

	config := localConfig(t, root, map[string]string{
		"kafka:19092": kafka.Addr(), "minio:9000": strings.TrimPrefix(s3.Endpoint, "http://"),
	})

	lakeweir := filepath.Join(t.TempDir(), "lakeweir")
	command(t, root, nil, "go", "build", "-o", lakeweir, "./cmd/lakeweir")
	credentials := []string{"AWS_ACCESS_KEY_ID=" + gateway.AccessKey, "AWS_SECRET_ACCESS_KEY=" + gateway.SecretKey}
	run := func(args ...string) string {
		t.Helper()
		return command(t, root, credentials, lakeweir, append(args, "--config", config)...)
	}
	producer := func() string {
		t.Helper()
		return command(t, root, []string{
			"KAFKA_BIN=" + realkafka.Tools(t), "BROKER=" + kafka.Addr(), "TOPIC=quakes", "EVENTS=testdata/earthquakes.jsonl",
		}, "bash", "docker/produce.sh")
	}

	run("probe", "--create-bucket")
	run("probe", "--create-bucket") // `docker compose up` again finds the bucket there
	if out := producer(); !strings.Contains(out, "sent 1707 events") {
		t.Errorf("producer: got %s", out)
	}
	if out := producer(); !strings.Contains(out, "nothing to send") {
		t.Errorf("producer, again: got %s", out)
	}
	if out := run("run", "--once"); !strings.Contains(out, "rows=1707 dead=0") {
		t.Errorf("lakeweir: got %s, want 1707 rows and no dead letters", out)
	}
	if out := run("files", "quakes", "--format", "paths"); strings.Count(out, ".parquet") < 4 {
		t.Errorf("files: got %s, want one of each partition at least", out)
	}
	if out := run("run", "--once"); !strings.Contains(out, "rows=0 dead=0") {
		t.Errorf("lakeweir, again: got %s, want nothing left to do", out)
	}
}
