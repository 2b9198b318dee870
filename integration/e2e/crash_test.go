package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/realkafka"
	"github.com/lakeweir/lakeweir/testdata"
)

const (
	topicPartitions = 3
	sentEvents      = 20_000
	killedRuns      = 6
)

// The check that the project exists for, on a real Kafka and the S3 wire, with
// either driver: the consumer is killed with SIGKILL when the store has taken a
// batch and before any other step. After the restart the rows are the events
// that were sent, and no id is there twice.
func TestKilledAfterTheBatch(t *testing.T) {
	for _, scheme := range []string{"s3", "minio"} {
		t.Run(scheme, func(t *testing.T) {
			broker := realkafka.Shared(t)
			topic := "quakes-" + scheme
			broker.CreateTopic(t, topic, topicPartitions, nil)
			events := produce(t, broker, topic)
			bucket, err := gate.Bucket(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			k := newKiller(t)
			config := configure(t, broker.Addr(), k.addr(), scheme, bucket, topic)
			for range killedRuns {
				k.killNext(t, config)
			}
			must(t, "run", "--config", config, "--once")
			must(t, "verify", "--config", config, topic, "--deep", "--id", "id")
			files := tableFiles(t, config, topic, bucket)
			duckDB(t, events, files)
			duckDB(t, events, listed(t, bucket, topic)) // a reader that only lists

			// A run that nobody disturbs leaves the same bytes.
			calm, err := gate.Bucket(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			must(t, "run", "--config", configure(t, broker.Addr(), k.addr(), scheme, calm, topic), "--once")
			if got, want := sums(t, bucket, topic), sums(t, calm, topic); !maps.Equal(got, want) || len(got) == 0 {
				t.Errorf("objects after kills:\n%v\nof an undisturbed run:\n%v", got, want)
			}
		})
	}
}

// produce sends the earthquakes, over and over under new ids, and returns the
// file that has them a line each.
func produce(t *testing.T, broker *realkafka.Broker, topic string) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(string(testdata.Earthquakes)), "\n")
	var all strings.Builder
	records := make([]*kgo.Record, 0, sentEvents)
	for i := range sentEvents {
		head, tail, ok := cutLast(lines[i%len(lines)], `"id":"`)
		if !ok {
			t.Fatal("an event has no id")
		}
		event := fmt.Sprintf(`%s"id":"%d-%s`, head, i/len(lines), tail)
		all.WriteString(event + "\n")
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(i % topicPartitions), Value: []byte(event)})
	}
	broker.Produce(t, records, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.Lz4Compression()))
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(path, []byte(all.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+len(sep):], true
}

// configure writes a configuration like the one in the README.
func configure(t *testing.T, broker, store, scheme, bucket, topic string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lakeweir.yaml")
	location := fmt.Sprintf("store: s3://%s/raw\ns3: {endpoint: %q, region: us-east-1}", bucket, "http://"+store)
	if scheme == "minio" {
		location = fmt.Sprintf("store: minio://%s/%s/raw\ns3: {region: us-east-1}", store, bucket)
	}
	body := fmt.Sprintf(`brokers: [%s]
start: earliest
%s
batch: {max_rows: 1000}
topics:
  %s:
    value: json
    columns:
      - {name: id, path: id, type: string, required: true}
      - {name: magnitude, path: properties.mag, type: double}
      - {name: at, path: properties.time, type: timestamp, unit: ms}
`, broker, location, topic)
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// killer stands between the command and the gateway. When it is armed it kills
// the process when the gateway has taken an object under data/, and before the
// answer is passed on.
type killer struct {
	server *httptest.Server
	mu     sync.Mutex
	victim *exec.Cmd
	killed string // key of the object
}

func newKiller(t *testing.T) *killer {
	t.Helper()
	target, err := url.Parse(gate.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	k := &killer{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // the signature of a request covers it
		},
		ModifyResponse: k.answered,
	}
	k.server = httptest.NewServer(proxy)
	t.Cleanup(k.server.Close)
	return k
}

func (k *killer) addr() string { return k.server.Listener.Addr().String() }

func (k *killer) answered(r *http.Response) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	path := r.Request.URL.Path
	if k.victim == nil || r.Request.Method != http.MethodPut || r.StatusCode != http.StatusOK || !strings.Contains(path, "/data/") {
		return nil
	}
	err := k.victim.Process.Kill()
	k.victim, k.killed = nil, path
	return err
}

// killNext runs the command until it has written one batch and is dead.
func (k *killer) killNext(t *testing.T, config string) {
	t.Helper()
	cmd, _, errs := lakeweir(t, "run", "--config", config, "--once")
	k.mu.Lock()
	err := cmd.Start()
	k.victim, k.killed = cmd, ""
	k.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	werr := cmd.Wait()
	if k.killed == "" {
		t.Fatalf("the command ended before it wrote a batch: %v\n%s", werr, errs)
	}
	t.Logf("killed when %s was written", k.killed)
}

// tableFiles returns the live files of the table, as files of the gateway.
func tableFiles(t *testing.T, config, topic, bucket string) []string {
	t.Helper()
	var files []string
	for line := range strings.Lines(must(t, "files", "--config", config, topic, "--format", "json")) {
		var f struct {
			File struct{ Key string } `json:"file"`
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil || f.File.Key == "" {
			t.Fatalf("%q: %v", line, err)
		}
		files = append(files, filepath.Join(gateDir, bucket, "raw", topic, f.File.Key))
	}
	return files
}

// listed returns every file under data/.
func listed(t *testing.T, bucket, topic string) []string {
	t.Helper()
	return glob(t, filepath.Join(gateDir, bucket, "raw", topic, "data", "*.parquet"))
}

// sums returns the hash of every file under data/ and dead/.
func sums(t *testing.T, bucket, topic string) map[string][sha256.Size]byte {
	t.Helper()
	all := map[string][sha256.Size]byte{}
	root := filepath.Join(gateDir, bucket, "raw", topic)
	for _, path := range append(listed(t, bucket, topic), glob(t, filepath.Join(root, "dead", "*"))...) {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(path, root)] = sha256.Sum256(body)
	}
	return all
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
