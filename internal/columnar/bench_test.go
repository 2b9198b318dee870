package columnar_test

import (
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
)

// benchRecords is large enough that the cost of a file does not show.
const benchRecords = 20_000

// BenchmarkEncode encodes a file of earthquakes. Metrics are per record; the
// allocations are those of one file divided by its records.
func BenchmarkEncode(b *testing.B) {
	f := func(name string, d manifest.Declared) {
		b.Run(name, func(b *testing.B) {
			lines := quakes(b)
			values := make([][]byte, benchRecords)
			bytes := int64(0)
			for i := range values {
				values[i] = lines[i%len(lines)]
				bytes += int64(len(values[i]))
			}
			job := jobOf(batchOf(b, 0, values...))
			e := mustEncoder(b, mustSchema(b, d))
			b.SetBytes(bytes)
			b.ReportAllocs()
			for b.Loop() {
				out, err := e.Encode(b.Context(), job)
				if err != nil {
					b.Fatal(err)
				}
				if out.Record.Counts.Rows != benchRecords {
					b.Fatalf("%+v", out.Record.Counts)
				}
			}
			b.ReportMetric(float64(benchRecords*b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
	f("raw", manifest.Declared{})
	f("json", manifest.Declared{Value: manifest.JSONValue, Columns: quakeColumns(), NoExtra: true})
	// What columns do not take is kept, most of the value here.
	f("json with extra", manifest.Declared{Value: manifest.JSONValue, Columns: quakeColumns()})
}
