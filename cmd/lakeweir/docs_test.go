package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/internal/decode"
	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

var update = flag.Bool("update", false, "write the generated part of the documentation anew")

const configurationPage = "../../docs/configuration.md"

// The lines between these are made of the declarations of the settings.
const (
	listBegins = "<!-- settings: go test ./cmd/lakeweir -run TestConfigurationPage -update -->\n"
	listEnds   = "<!-- end of settings -->\n"
)

// page returns the text of the page about settings.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(configurationPage)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// settingsTable returns all settings as tables, one for each group.
func settingsTable() string {
	titles := map[settings.Group]string{
		settings.Kafka: "Brokers and topics", settings.Store: "Store",
		settings.Sink: "Batches and files", settings.Process: "Process",
	}
	var b strings.Builder
	last := settings.Group(-1)
	for _, s := range settings.New().All() {
		if s.Group != last {
			last = s.Group
			fmt.Fprintf(&b, "\n### %s\n\n| setting | takes | default | environment, flag | meaning |\n|---|---|---|---|---|\n", titles[s.Group])
		}
		standard := "none"
		if s.Default != "" {
			standard = "`" + s.Default + "`"
		}
		doc := s.Doc
		if s.Secret {
			doc += " Never printed."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` `--%s` | %s |\n", s.Name, s.Kind(), standard, s.Env(), s.Flag(), doc)
	}
	return b.String() + "\n"
}

// The page lists every setting with its default, its names and its meaning,
// as the program has them.
func TestConfigurationPage(t *testing.T) {
	text := page(t)
	before, rest, begins := strings.Cut(text, listBegins)
	got, after, ends := strings.Cut(rest, listEnds)
	if !begins || !ends {
		t.Fatalf("%s has no lines %q and %q", configurationPage, listBegins, listEnds)
	}
	want := settingsTable()
	if *update {
		text = before + listBegins + want + listEnds + after
		if err := os.WriteFile(configurationPage, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("the settings of %s are not those of the program: run this test with -update", configurationPage)
	}
}

// Each example of a file on the page is one that `lakeweir run` takes.
func TestConfigurationExamples(t *testing.T) {
	t.Setenv("KAFKA_PASSWORD", "secret")
	examples := strings.Split(page(t), "```yaml\n")[1:]
	if len(examples) < 4 {
		t.Fatalf("%d examples, want one for each kind of store and one with TLS", len(examples))
	}
	for _, rest := range examples {
		body, _, _ := strings.Cut(rest, "```")
		first, _, _ := strings.Cut(body, "\n")
		s, err := settingsOf(t, body)
		if err == nil {
			err = s.Check()
		}
		if err != nil {
			t.Errorf("example %q: %v", first, err)
		}
	}
}

// settingsOf reads the text of a file as `lakeweir run -c` does.
func settingsOf(t *testing.T, body string) (*settings.Settings, error) {
	t.Helper()
	t.Setenv("LAKEWEIR_CONFIG", write(t, body))
	return settings.Load(&settings.Flags{}, os.Environ())
}

// What the page says of values, row by row: what is stored, or the reason of
// the dead letter.
func TestConfigurationValues(t *testing.T) {
	seen, types := map[decode.Reason]bool{}, map[string]bool{}
	for line := range strings.Lines(page(t)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 3 || !strings.HasPrefix(cells[0], " `type: ") {
			continue
		}
		declared, value := code(cells[0]), code(cells[1])
		got := stored(t, declared, value)
		if want := strings.TrimSpace(cells[2]); got != want {
			t.Errorf("%s, value %s: %s, the page says %s", declared, value, got, want)
		}
		if reason, dead := strings.CutPrefix(got, "dead letter: "); dead {
			seen[decode.Reason(code(reason))] = true
		}
		kind, _, _ := strings.Cut(strings.TrimPrefix(declared, "type: "), ",")
		types[kind] = true
	}
	for _, r := range []decode.Reason{decode.BadJSON, decode.NotObject, decode.TooDeep, decode.Missing, decode.NoFit, decode.BadText} {
		if !seen[r] && !strings.Contains(page(t), "| `"+string(r)+"` |") {
			t.Errorf("the page does not tell of reason %s", r)
		}
	}
	for _, kind := range []manifest.Type{
		manifest.Bool, manifest.Int32, manifest.Int64, manifest.Double, manifest.String, manifest.Binary, manifest.Timestamp,
		manifest.Date, manifest.Decimal, manifest.UUID, manifest.JSON, manifest.List, manifest.Struct,
	} {
		if !types[string(kind)] {
			t.Errorf("the page has no value of type %s", kind)
		}
	}
}

// code returns what stands in backticks.
func code(cell string) string { return strings.Trim(strings.TrimSpace(cell), "`") }

// stored encodes a record whose member c has the value and says what becomes
// of it. "(none)" leaves the member out; lists and structs only fit or do not.
func stored(t *testing.T, declared, value string) string {
	t.Helper()
	s, err := settingsOf(t, fmt.Sprintf("topics: {t: {value: json, columns: [{name: c, %s}]}}\n", declared))
	if err != nil {
		t.Fatalf("%s: %v", declared, err)
	}
	schema, err := s.Schema(s.Topics[0])
	if err != nil {
		t.Fatalf("%s: %v", declared, err)
	}
	e, err := columnar.NewEncoder(schema)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"c": ` + value + `}`
	if value == "(none)" {
		body = "{}"
	}
	b := record.NewBatch(0, nil)
	if err := b.Append(record.Record{Value: []byte(body)}); err != nil {
		t.Fatal(err)
	}
	out, err := e.Encode(t.Context(), manifest.Job{
		Table: "t", Range: manifest.Range{Next: 1}, Schema: schema.Version, Batches: []*record.Batch{b},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.Record.Counts.Dead == 1 {
		return "dead letter: " + cell(t, out, out.Record.Dead[0], "reason")
	}
	if k := schema.Columns[0].Type; k == manifest.List || k == manifest.Struct {
		return "fits"
	}
	return cell(t, out, out.Record.Data[0], "c")
}

// cell returns the only value of a column, as the page writes it.
func cell(t *testing.T, out manifest.Encoded, f manifest.File, column string) string {
	t.Helper()
	body := out.Bodies[f.Key]
	file, err := columnar.Open(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for row, err := range file.Read(column) {
		if err != nil {
			t.Fatal(err)
		}
		if text = "null"; row.Value != nil {
			text = "`" + string(row.Value) + "`"
		}
	}
	return text
}

// ARCHITECTURE.md names every package with what it imports of ours, and every
// source file; and none that is not there.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	listed, files := map[string]string{}, map[string]bool{}
	folder := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if cells := strings.Split(strings.Trim(line, "|"), " | "); strings.HasPrefix(line, "| `") && len(cells) == 2 {
			listed[code(cells[0])] = strings.TrimSpace(cells[1])
		}
		if name, ok := strings.CutPrefix(line, "### "); ok {
			folder = name
		}
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "- `"), ".go`: "); ok {
			files[folder+"/"+name+".go"] = true
		}
	}
	for dir, paths := range imports(t) {
		if got, want := listed[dir], ours(paths); got != want {
			t.Errorf("package %s imports %s, ARCHITECTURE.md says %q", dir, want, got)
		}
		found, err := filepath.Glob("../../" + dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			name := dir + "/" + filepath.Base(path)
			if !files[name] && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("ARCHITECTURE.md does not name %s", name)
			}
		}
	}
	for name := range files {
		if _, err := os.Stat("../../" + name); err != nil {
			t.Errorf("ARCHITECTURE.md names %s: %v", name, err)
		}
	}
}

// ours returns the packages of this module among imports, as the page has them.
func ours(paths []string) string {
	var names []string
	for _, p := range paths {
		if name, ok := strings.CutPrefix(p, module); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return "-"
	}
	return strings.Join(names, ", ")
}
