package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/lakeweir/lakeweir/"

// layers says which packages of ours each package may import, tests aside. The
// core knows what counts and nothing of the world; drivers and the command
// know the world.
var layers = map[string][]string{
	"record":                  {},
	"store":                   {},
	"store/internal/wire":     {"store"},
	"store/internal/fakes3":   {"store", "store/memory"},                             // for tests of drivers only
	"store/internal/wiretest": {"store", "store/internal/fakes3", "store/storetest"}, // as fakes3
	"internal/wirefault":      {},                                                    // for tests only
	"store/s3":                {"store", "store/internal/wire"},
	"store/minio":             {"store", "store/internal/wire"},
	"store/dir":               {"store"},
	"store/memory":            {"store"},
	"store/fault":             {"store"},
	"store/gated":             {"store", "store/metered"},
	"store/metered":           {"internal/latency", "store"},
	"store/storetest":         {"store", "store/memory", "store/fault"},
	"internal/backoff":        {},
	"internal/turns":          {},
	"internal/lz4size":        {},
	"internal/latency":        {},
	"internal/overlay":        {}, // for tests only
	"manifest":                {"internal/backoff", "internal/turns", "record", "store"},
	"dedup":                   {},
	"internal/decode":         {"manifest", "record"},
	"internal/columnar":       {"internal/decode", "internal/lz4size", "manifest", "record"},
	"writer":                  {"dedup", "internal/backoff", "internal/columnar", "internal/decode", "internal/latency", "manifest", "record", "store"},
	"internal/source":         {"internal/lz4size", "internal/turns", "record"},
	"internal/verify":         {"internal/columnar", "manifest", "store"},
	"internal/tabletest":      {"internal/columnar", "internal/verify", "manifest", "record", "store", "writer"}, // for tests only
	"internal/settings":       {"manifest", "store"},
	"internal/sink":           {"internal/settings", "internal/source", "manifest", "record", "store", "store/dir", "store/gated", "store/metered", "store/minio", "store/s3", "writer"},
}

// owners says which packages may import a library, tests aside. Prefixes count.
var owners = map[string][]string{
	"github.com/segmentio/kafka-go":    {"internal/source"},
	"github.com/parquet-go/":           {"internal/columnar"},
	"github.com/aws/":                  {"store/s3"},
	"github.com/minio/":                {"store/minio"},
	"github.com/klauspost/":            {"internal/source", "internal/columnar"},
	"github.com/pierrec/":              {"internal/source"},
	"github.com/twmb/":                 {"internal/demo"},
	"github.com/spf13/cobra":           {"cmd/lakeweir"},
	"github.com/spf13/pflag":           {"cmd/lakeweir", "internal/settings"},
	"go.yaml.in/yaml":                  {"internal/settings"},
	"github.com/schollz/progressbar":   {"cmd/lakeweir", "internal/demo"},
	"golang.org/x/term":                {"cmd/lakeweir", "internal/demo"},
	"github.com/prometheus/":           {"cmd/lakeweir"},
	"testing":                          {"store/storetest", "store/internal/fakes3", "store/internal/wiretest", "internal/overlay", "internal/tabletest"},
	module + "cmd/":                    {},
	module + "internal/demo":           {"cmd/lakeweir"},
	module + "internal/overlay":        {},
	module + "internal/tabletest":      {},
	module + "store/memory":            {"store/storetest", "store/internal/fakes3", "internal/demo"},
	module + "store/internal/fakes3":   {"store/internal/wiretest"},
	module + "store/internal/wiretest": {},
	module + "store/storetest":         {"store/internal/wiretest"},
	module + "internal/wirefault":      {},
	module + "store/internal/wire":     {"store/s3", "store/minio"},
	module + "internal/source":         {"internal/sink", "internal/demo", "cmd/lakeweir"},
	module + "internal/columnar":       {"writer", "internal/verify", "internal/demo", "internal/tabletest"},
}

// imports returns the imports of every package, tests aside, by its directory.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	const root = "../.."
	all := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "testdata" || name == "integration" || strings.HasPrefix(name, ".") && path != root) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(rel)
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			all[dir] = append(all[dir], p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestLayers(t *testing.T) {
	all := imports(t)
	for dir, allowed := range layers {
		for _, p := range all[dir] {
			if ours, ok := strings.CutPrefix(p, module); ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s: its layer may not (see layers)", dir, ours)
			}
		}
	}
	// The walk found the tree, and no package is without a rule.
	for dir := range all {
		if _, ok := layers[dir]; !ok && dir != "cmd/lakeweir" && dir != "internal/demo" {
			t.Errorf("package %s has no layer: add it to layers", dir)
		}
	}
	for _, dir := range []string{"manifest", "internal/source", "store/s3", "cmd/lakeweir"} {
		if len(all[dir]) == 0 {
			t.Errorf("package %s was not found", dir)
		}
	}
}

func TestOwners(t *testing.T) {
	for dir, paths := range imports(t) {
		for _, p := range paths {
			for prefix, who := range owners {
				if strings.HasPrefix(p, prefix) && !slices.Contains(who, dir) && !strings.HasPrefix(module+dir, strings.TrimSuffix(prefix, "/")) {
					t.Errorf("%s imports %s, which is for %v only", dir, p, who)
				}
			}
		}
	}
}
