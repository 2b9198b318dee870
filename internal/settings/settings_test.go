package settings

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/lakeweir/lakeweir/manifest"
)

// load runs Load over a file's text, variables and arguments.
func load(t *testing.T, yaml string, env []string, args ...string) (*Settings, error) {
	t.Helper()
	var f Flags
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.Bind(fs, Kafka, Store, Sink, Process)
	if yaml != "" {
		path := filepath.Join(t.TempDir(), "lakeweir.yaml")
		if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return Load(&f, env)
}

// example is the file of the documentation.
const example = `
brokers: [localhost:9092]
group: lakeweir
start: earliest
store: s3://lake/raw
batch: {max_rows: 1000000, max_bytes: 128MiB, max_age: 60s}
memory: 512MiB
topics:
  quakes:
    value: json
    columns:
      - {name: id, path: id, type: string, required: true}
      - {name: magnitude, path: properties.mag, type: double}
      - {name: at, path: properties.time, type: timestamp, unit: ms}
`

func TestExample(t *testing.T) {
	s, err := load(t, example, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if len(s.Topics) != 1 || s.Topics[0].Name != "quakes" || len(s.Topics[0].Declared.Columns) != 3 {
		t.Fatalf("topics %+v", s.Topics)
	}
	if got := s.Topics[0].Declared.Columns[1].Path; !slices.Equal(got, []string{"properties", "mag"}) {
		t.Errorf("path %q", got)
	}
	schema, err := s.Schema(s.Topics[0])
	if err != nil || schema.Layout.Compression != manifest.Zstd || schema.Columns[0].Name != "id" {
		t.Errorf("schema %+v, %v", schema, err)
	}
}

// The file comes first, then the environment, then the flags, and Origin says which.
func TestPrecedence(t *testing.T) {
	f := func(env []string, args []string, want int64, origin string) {
		t.Helper()
		s, err := load(t, "batch:\n  max_rows: 1\n", env, args...)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.find("batch.max_rows"); s.Batch.MaxRows != want || got.Origin != origin {
			t.Errorf("got %d from %s, want %d from %s", s.Batch.MaxRows, got.Origin, want, origin)
		}
	}
	env := []string{"LAKEWEIR_BATCH_MAX_ROWS=2"}
	// The file alone.
	f(nil, nil, 1, "lakeweir.yaml:2")
	// The environment over the file.
	f(env, nil, 2, "LAKEWEIR_BATCH_MAX_ROWS")
	// A flag over both.
	f(env, []string{"--batch-max-rows=3"}, 3, "--batch-max-rows")
	// The flag as the setting is called in the file.
	f(env, []string{"--batch.max_rows", "3"}, 3, "--batch-max-rows")
}

// Every setting has a name of its own in each form, a doc, and a default that
// it takes.
func TestDeclarations(t *testing.T) {
	s := New()
	seen := map[string]bool{}
	for _, st := range s.All() {
		for _, name := range []string{"flag " + st.Flag(), "env " + st.Env(), "file " + st.Name} {
			if seen[name] {
				t.Errorf("%s belongs to two settings", name)
			}
			seen[name] = true
		}
		if !strings.HasSuffix(st.Doc, ".") {
			t.Errorf("%s: doc %q is no sentence", st.Name, st.Doc)
		}
		if st.Default == "" {
			continue
		}
		if err := st.value.set(st.Default); err != nil || st.value.String() != st.Default {
			t.Errorf("%s does not take its default %q back: %v", st.Name, st.Default, err)
		}
	}
	if len(s.All()) < 40 {
		t.Errorf("%d settings are listed", len(s.All()))
	}
}

func TestEverySettingByEnvAndFlag(t *testing.T) {
	value := map[string]string{
		"text": "x", "choice": "", "bool": "true", "number": "7", "size": "96MiB", "duration": "7s",
		"list": "a,b", "partitions": "a=0,2;b=1", "start": "latest", "share": "0.25", "topic": "dead",
	}
	choices := map[string]string{
		"on_data_loss": "skip", "isolation": "read_uncommitted", "sasl.mechanism": "plain",
		"files.compression": "lz4", "log.level": "warn", "log.format": "json",
	}
	for _, st := range New().All() {
		v := value[st.Kind()]
		if st.Kind() == "choice" {
			v = choices[st.Name]
		}
		byEnv, err := load(t, "", []string{st.Env() + "=" + v})
		if err != nil {
			t.Errorf("%s: %v", st.Env(), err)
			continue
		}
		byFlag, err := load(t, "", nil, "--"+st.Flag()+"="+v)
		if err != nil {
			t.Errorf("--%s: %v", st.Flag(), err)
			continue
		}
		for _, s := range []*Settings{byEnv, byFlag} {
			if got := s.find(st.Name).value.String(); got != v || got == st.Default {
				t.Errorf("%s is %q, want %q", st.Name, got, v)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	f := func(yaml, want string) {
		t.Helper()
		_, err := load(t, yaml, []string{"SET=1"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to contain %q", err, want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q has two lines", err)
		}
	}
	// A typo at the top, in a group, in a topic and in a column.
	f("brokers: [a:1]\nbacth: {max_rows: 1}\n", `lakeweir.yaml:2: unknown key "bacth": did you mean "batch"?`)
	f("batch:\n  max_row: 1\n", `lakeweir.yaml:2: unknown key "batch.max_row": did you mean "batch.max_rows"?`)
	f("topics:\n  a:\n    vlaue: json\n", `lakeweir.yaml:3: topic: unknown key "vlaue": did you mean "value"?`)
	f("topics:\n  a:\n    value: json\n    columns:\n      - {nam: x}\n", `lakeweir.yaml:5: column: unknown key "nam": did you mean "name"?`)
	// A key in the wrong place.
	f("max_rows: 1\n", `did you mean "batch.max_rows"?`)
	// A key that is like nothing.
	f("zzzzzzzzzz: 1\n", "lakeweir config")
	// A key twice, in two spellings.
	f("batch.max_rows: 1\nbatch: {max_rows: 2}\n", "lakeweir.yaml:2: batch.max_rows is set twice")
	// Values that do not fit.
	f("batch: {max_bytes: 12XB}\n", `batch.max_bytes: "12XB" is not a size such as 128MiB`)
	f("batch: {max_age: 5}\n", "is not a duration")
	f("isolation: none\n", "is not one of read_committed, read_uncommitted")
	f("batch: 5\n", "batch takes settings of its own: max_rows, max_bytes, max_age")
	f("store: [a]\n", "store takes a text")
	f("start: yesterday\n", "is not earliest, latest")
	f("partitions: {a: [x]}\n", "is not a partition")
	// No YAML, and not a mapping.
	f("a: [\n", "lakeweir.yaml: ")
	f("- a\n", "lakeweir.yaml:1: want settings")
	// A reference to a variable that is not there.
	f("sasl: {password: \"${NOT_SET}\"}\n", "the environment variable NOT_SET is not set")
	// Declarations that do not hold together.
	f("topics:\n  a:\n    columns: [{name: x, type: string}]\n", "add value: json")
	f("topics:\n  a:\n    value: json\n    columns: [{name: kafka_x, type: string}]\n", `lakeweir.yaml:2: topic "a": column "kafka_x"`)
	f("topics:\n  a:\n    value: json\n    columns: [{name: x, type: strin}]\n", `unknown type "strin": did you mean "string"?`)
	f("topics: {\"a/b\": {}}\n", "cannot be the name of a topic")
}

func TestEnvErrors(t *testing.T) {
	f := func(env, want string) {
		t.Helper()
		_, err := load(t, "", []string{env})
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", env, err)
			}
			return
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it to contain %q", env, err, want)
		}
	}
	// A typo.
	f("LAKEWEIR_BATCH_MAX_ROW=1", "did you mean LAKEWEIR_BATCH_MAX_ROWS?")
	// What Kubernetes sets for a service called lakeweir is not ours.
	f("LAKEWEIR_PORT=tcp://10.0.0.1:80", "")
	f("LAKEWEIR_SERVICE_HOST=10.0.0.1", "")
	// A value that does not fit.
	f("LAKEWEIR_MEMORY=lots", "LAKEWEIR_MEMORY: ")
	// A file that is not there.
	f("LAKEWEIR_CONFIG=/nowhere/x.yaml", "read configuration file /nowhere/x.yaml")
}

// A list of topics selects among the declared ones and adds others.
func TestTopicsBySelection(t *testing.T) {
	s, err := load(t, example+"  other: {}\n", nil, "--topic", "quakes", "--topic=more")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.find("topics").Value(); got != "quakes,more" {
		t.Errorf("topics %s", got)
	}
	if len(s.Topics[0].Declared.Columns) != 3 || s.Topics[1].Declared.Value != "" {
		t.Errorf("declarations %+v", s.Topics)
	}
}

func TestReferencesAndSecrets(t *testing.T) {
	s, err := load(t, "sasl: {mechanism: plain, user: u, password: \"${PW}\"}\ns3: {secret_key: abc}\n", []string{"PW=hunter2"})
	if err != nil {
		t.Fatal(err)
	}
	if s.SASL.Password != "hunter2" || s.find("sasl.password").Value() != Hidden {
		t.Errorf("password %q, shown as %q", s.SASL.Password, s.find("sasl.password").Value())
	}
	var out bytes.Buffer
	if _, err := s.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), "abc\n") {
		t.Error("the listing shows a secret")
	}
}

// The listing is a configuration file that gives the same settings.
func TestListingLoads(t *testing.T) {
	text := example + `
  deep.topic:
    value: json
    extra: off
    key: on
    headers: yes
    columns:
      - {name: a, path: ["x.y", z], type: struct, fields: [{name: b, type: "list", element: {type: decimal, precision: 5, scale: 2}}]}
      - {name: c, path: 'x\.y.z', type: list, element: string}
tls: {ca: "/some where/ca.pem", server_name: "true"}
partitions: {quakes: [0, 1], deep.topic: [3]}
`
	first, err := load(t, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out, again bytes.Buffer
	if n, err := first.WriteTo(&out); err != nil || n != int64(out.Len()) {
		t.Fatal(n, err)
	}
	second, err := load(t, out.String(), nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	for i, st := range second.All() {
		if want := first.All()[i].Value(); st.Value() != want {
			t.Errorf("%s is %q after reading the listing, want %q", st.Name, st.Value(), want)
		}
		st.Origin = first.All()[i].Origin
	}
	if _, err := second.WriteTo(&again); err != nil || again.String() != out.String() {
		t.Errorf("listing of the listing differs: %v\n%s\nwant\n%s", err, again.String(), out.String())
	}
}

func TestCheck(t *testing.T) {
	base := "brokers: [a:1]\nstore: dir:lake\ntopics: [a]\n"
	f := func(yaml, want string) {
		t.Helper()
		s, err := load(t, yaml, nil)
		if err == nil {
			err = s.Check()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", yaml, err, want)
		}
	}
	f(base, "")
	f("store: dir:x\ntopics: [a]\n", "no brokers")
	f("brokers: [a:1]\ntopics: [a]\n", "store is not set")
	f("brokers: [a:1]\nstore: dir:x\n", "no topics")
	f(base+"partitions: {b: [0]}\n", "not among topics")
	f("brokers: [a:1]\nstore: dir:lake\ntopics: [a, b]\npartitions: {b: [0]}\n", `none of topic "a"`)
	f(base+"memory: 1MiB\n", "memory 1MiB is less than 64MiB")
	f(base+"batch: {max_rows: 0}\n", "must be positive")
	f(base+"batch: {max_bytes: 2GiB}\n", "a batch is one object")
	f(base+"files: {level: 23}\n", "files.level")
	f(base+"files: {compression: snappy, level: 3}\n", "has no level")
	f(base+"tls: {cert: a}\n", "belong together")
	f(base+"sasl: {user: a}\n", "not sasl.mechanism")
	f(base+"sasl: {user: a, mechanism: plain}\n", "are needed too")
	f(base+"session_timeout: 2s\n", "more than a third")
	f(base+"group: g\nshutdown_timeout: 30s\n", "not below rebalance_timeout")
	f(base+"shutdown_timeout: 30s\n", "")
}

func TestDurationsKeepTheirForm(t *testing.T) {
	f := func(d time.Duration, want string) {
		t.Helper()
		if got := formatDuration(d); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(time.Minute, "1m")
	f(time.Hour, "1h")
	f(90*time.Second, "1m30s")
	f(10*time.Second, "10s")
	f(10*time.Minute, "10m")
	f(100*time.Millisecond, "100ms")
}
