package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/lakeweir/lakeweir/internal/latency"
	"github.com/lakeweir/lakeweir/internal/sink"
	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store/metered"
	"github.com/lakeweir/lakeweir/writer"
)

// families reads a page of metrics as a scraper does.
func families(t *testing.T, page string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatalf("the page cannot be read: %v\n%s", err, page)
	}
	return all
}

// metrics returns the values of /metrics by name and the values of labels, as
// "lakeweir_rows_total{0,quakes}"; of a histogram the count.
func (w *watchedSink) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	status, body := w.get(t, "/metrics")
	if status != 200 {
		t.Fatalf("/metrics: %d %s", status, body)
	}
	values := map[string]float64{}
	for name, f := range families(t, body) {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetValue())
			}
			slices.SortFunc(labels, func(a, b string) int { return strings.Compare(b, a) }) // the topic before the number
			key := fmt.Sprintf("%s{%s}", name, strings.Join(labels, ","))
			values[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

// many returns a snapshot of n partitions, each with another error.
func many(n int) sink.Snapshot {
	s := sink.Snapshot{Records: sink.Memory{Used: 1, Limit: 2}, Objects: sink.Memory{Used: 3, Limit: 4}}
	s.Steps.Plan.Observe(time.Second)
	s.Store[metered.Put].Outcomes[metered.Conflict] = 3
	for i := range n {
		err := fmt.Errorf("key-%d: %w", i, errors.New("refused"))
		s.Partitions = append(s.Partitions, sink.Partition{
			Stats: writer.Stats{
				Table: "quakes", Partition: int32(i), Running: true, Claimed: true, Position: 30, Next: 20,
				Published: time.UnixMilli(1500), Troubles: []writer.Trouble{{Step: "step", Err: err}},
				Counts: manifest.Counts{Rows: 7, Dead: 6, Absent: 5, Lost: 4},
			},
			Marks: source.Marks{At: time.UnixMilli(2500), Start: 5, End: 40, High: 44, Open: time.Now().Add(-time.Hour)},
			Lag:   20, LagAge: 1500 * time.Millisecond, Waits: time.Second,
		})
		s.Reasons = append(s.Reasons, err.Error())
	}
	return s
}

// registry holds the metrics of a snapshot.
func registry(t *testing.T, s sink.Snapshot) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(newCollector(func() sink.Snapshot { return s }))
	return r
}

// gathered returns the metrics of a snapshot by name.
func gathered(t *testing.T, s sink.Snapshot) map[string]*dto.MetricFamily {
	t.Helper()
	all, err := registry(t, s).Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, f := range all {
		byName[f.GetName()] = f
	}
	return byName
}

// The names follow the conventions of Prometheus.
func TestMetricsLint(t *testing.T) {
	problems, err := testutil.GatherAndLint(registry(t, many(2)))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// The number of series is bounded by partitions, operations and outcomes:
// neither keys nor texts of errors are labels.
func TestMetricsCardinality(t *testing.T) {
	const partitions = 500
	series := func(s sink.Snapshot) (n int) {
		t.Helper()
		for _, f := range gathered(t, s) {
			for _, m := range f.Metric {
				n++
				for _, l := range m.Label {
					if !slices.Contains([]string{"topic", "partition", "operation", "outcome", "kind"}, l.GetName()) || strings.Contains(l.GetValue(), "refused") {
						t.Fatalf("%s has the label %s=%q", f.GetName(), l.GetName(), l.GetValue())
					}
				}
			}
		}
		return n
	}
	none, all := series(many(0)), series(many(partitions))
	if want := none + partitions*len(partitionMetrics); all != want {
		t.Errorf("%d series with %d partitions and %d without, want %d", all, partitions, none, want)
	}
	// The histograms are of the process, whatever it reads.
	if want := 6 + 3 + int(metered.Operations)*(1+int(metered.Outcomes)); none != want {
		t.Errorf("%d series without partitions, want %d", none, want)
	}
}

// Each value is where its name says.
func TestMetricValues(t *testing.T) {
	byName := gathered(t, many(1))
	f := func(name string, want float64) {
		t.Helper()
		family := byName[name]
		if family == nil {
			t.Errorf("there is no %s", name)
			return
		}
		m := family.Metric[0]
		if got := m.GetGauge().GetValue() + m.GetCounter().GetValue(); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	f("lakeweir_next_offset", 20)
	f("lakeweir_read_offset", 30)
	f("lakeweir_log_start_offset", 5)
	f("lakeweir_log_end_offset", 40)
	f("lakeweir_log_end_timestamp_seconds", 2.5)
	f("lakeweir_lag_records", 20)
	f("lakeweir_lag_seconds", 1.5)
	f("lakeweir_waiting_seconds", 1)
	f("lakeweir_retention_headroom_records", 15)
	f("lakeweir_open_transaction_records", 4)
	f("lakeweir_last_publish_timestamp_seconds", 1.5)
	f("lakeweir_rows_total", 7)
	f("lakeweir_dead_letters_total", 6)
	f("lakeweir_absent_offsets_total", 5)
	f("lakeweir_lost_offsets_total", 4)
	for _, m := range slices.Concat(byName["lakeweir_memory_used_bytes"].Metric, byName["lakeweir_memory_limit_bytes"].Metric) {
		kind, v := m.Label[0].GetValue(), m.GetGauge().GetValue()
		if kind == "records" != (v <= 2) {
			t.Errorf("memory for %s is %v", kind, v)
		}
	}
	f("lakeweir_ready", 0)
	if age := byName["lakeweir_open_transaction_seconds"].Metric[0].GetGauge().GetValue(); age < 3599 || age > 3700 {
		t.Errorf("open transaction for %v s, want an hour", age)
	}
	for _, m := range byName["lakeweir_store_calls_total"].Metric {
		want := 0.0
		if m.Label[0].GetValue() == "put" && m.Label[1].GetValue() == "conflict" {
			want = 3
		}
		if m.GetCounter().GetValue() != want {
			t.Errorf("%v, want %v", m, want)
		}
	}
}

// What is not known is left out, and is not 0.
func TestUnknownMetrics(t *testing.T) {
	s := sink.Snapshot{Partitions: []sink.Partition{{Stats: writer.Stats{Table: "quakes"}, Lag: -1}}}
	byName := gathered(t, s)
	for _, name := range []string{
		"lakeweir_next_offset", "lakeweir_read_offset", "lakeweir_log_start_offset", "lakeweir_log_end_offset", "lakeweir_lag_records",
		"lakeweir_lag_seconds", "lakeweir_retention_headroom_records", "lakeweir_last_publish_timestamp_seconds", "lakeweir_open_transaction_seconds",
	} {
		if byName[name] != nil {
			t.Errorf("%s of a partition that nothing is known of: %v", name, byName[name])
		}
	}
	for _, name := range []string{"lakeweir_can_publish", "lakeweir_rows_total", "lakeweir_claims_total"} {
		if byName[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
}

// Buckets add up, as Prometheus has them, and the last is the count.
func TestHistogramMetric(t *testing.T) {
	var s sink.Snapshot
	for _, d := range []time.Duration{time.Millisecond, 20 * time.Millisecond, time.Hour} {
		s.Steps.Publish.Observe(d)
	}
	h := gathered(t, s)["lakeweir_publish_duration_seconds"].Metric[0].Histogram
	if h.GetSampleCount() != 3 || h.GetSampleSum() != 3600.021 || len(h.Bucket) != len(latency.Bounds) {
		t.Errorf("%v", h)
	}
	f := func(bound float64, want uint64) {
		t.Helper()
		for _, b := range h.Bucket {
			if b.GetUpperBound() == bound && b.GetCumulativeCount() != want {
				t.Errorf("%d up to %v s, want %d", b.GetCumulativeCount(), bound, want)
			}
		}
	}
	f(0.001, 1)
	f(0.01, 1)
	f(0.025, 2)
	f(120, 2)
}

// docs/monitoring.md lists every metric with its type and its meaning, as the
// program has them, and no other.
func TestMonitoringPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) == 4 && strings.HasPrefix(cells[0], " `lakeweir_") {
			listed[code(cells[0])] = strings.TrimSpace(strings.Join(cells[1:], " | "))
		}
	}
	for name, f := range gathered(t, many(1)) {
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		want := fmt.Sprintf("%s | %s | %s", strings.ToLower(f.GetType().String()), strings.Join(labels, ", "), f.GetHelp())
		if listed[name] != want {
			t.Errorf("the page has\n%q for %s, want\n| `%s` | %s |", listed[name], name, name, want)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("the page has %s, which is no metric", name)
	}
}
