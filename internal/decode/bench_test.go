package decode

import (
	"bytes"
	"os"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
)

// BenchmarkDecode finds seven columns in earthquakes: the text is checked to
// its last byte either way, the rest is built in the second.
func BenchmarkDecode(b *testing.B) {
	body, err := os.ReadFile("../../testdata/earthquakes.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
	cols := []manifest.Column{
		col("id", manifest.String), col("properties.mag", manifest.Double), col("properties.place", manifest.String),
		col("properties.time", manifest.Int64), col("properties.sig", manifest.Int32), col("properties.net", manifest.String),
		listOf("geometry.coordinates", col("", manifest.Double)),
	}
	f := func(name string, rest bool) {
		b.Run(name, func(b *testing.B) {
			o, _ := Compile(cols, rest)
			var a Arena
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				for _, line := range lines {
					if _, rej := o.Decode(line); rej != nil {
						b.Fatal(rej)
					}
					a.Reset()
					if _, r := o.AppendRest(&a); r != "" {
						b.Fatal(r)
					}
				}
			}
		})
	}
	f("columns", false)
	f("columns and rest", true)
}
