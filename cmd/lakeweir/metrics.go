package main

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakeweir/lakeweir/internal/latency"
	"github.com/lakeweir/lakeweir/internal/sink"
	"github.com/lakeweir/lakeweir/store/metered"
)

// partitionMetric is a metric that each assigned partition has.
type partitionMetric struct {
	name, help string
	kind       prometheus.ValueType
	value      func(p sink.Partition, now time.Time) (float64, bool) // false when it is not known
}

// known makes the value of a metric that is known at all times.
func known(f func(p sink.Partition) int64) func(sink.Partition, time.Time) (float64, bool) {
	return func(p sink.Partition, _ time.Time) (float64, bool) { return float64(f(p)), true }
}

// claimed makes the value of a metric that is known under a claim.
func claimed(f func(p sink.Partition) float64) func(sink.Partition, time.Time) (float64, bool) {
	return func(p sink.Partition, _ time.Time) (float64, bool) { return f(p), p.Claimed }
}

// told makes the value of a metric that is known once a broker has told it.
func told(f func(p sink.Partition) float64) func(sink.Partition, time.Time) (float64, bool) {
	return func(p sink.Partition, _ time.Time) (float64, bool) { return f(p), !p.Marks.At.IsZero() }
}

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

// partitionMetrics are the metrics with the labels topic and partition.
// docs/monitoring.md lists them with these words.
var partitionMetrics = []partitionMetric{
	{
		"lakeweir_next_offset", "Next offset: everything below it, from the first offset on, is published or accounted for.", gauge,
		claimed(func(p sink.Partition) float64 { return float64(p.Next) }),
	},
	{
		"lakeweir_read_offset", "Offset behind the last record read.", gauge,
		claimed(func(p sink.Partition) float64 { return float64(p.Position) }),
	},
	{
		"lakeweir_log_start_offset", "First offset of the log, as of the last answer to a fetch.", gauge,
		func(p sink.Partition, _ time.Time) (float64, bool) {
			return float64(p.Marks.Start), !p.Marks.At.IsZero() && p.Marks.Start >= 0
		},
	},
	{
		"lakeweir_log_end_offset", "Offset behind the last record that can be read, as of the last answer to a fetch: the last stable offset, or the high watermark with isolation read_uncommitted.", gauge,
		told(func(p sink.Partition) float64 { return float64(p.Marks.End) }),
	},
	{
		"lakeweir_log_end_timestamp_seconds", "When the log end was told: the time of the last answer to a fetch. It grows old while the partition is read slower than it is fetched.", gauge,
		told(func(p sink.Partition) float64 { return unix(p.Marks.At) }),
	},
	{
		"lakeweir_lag_records", "Offsets in the log that are not published: log end less next offset.", gauge,
		func(p sink.Partition, _ time.Time) (float64, bool) { return float64(p.Lag), p.Lag >= 0 },
	},
	{
		"lakeweir_lag_seconds", "Age of the oldest record that is not published, by its timestamp in the log; 0 when nothing waits.", gauge,
		claimed(func(p sink.Partition) float64 { return p.LagAge.Seconds() }),
	},
	{
		"lakeweir_waiting_seconds", "Time since the first record came that is read and not published; 0 when nothing waits.", gauge,
		claimed(func(p sink.Partition) float64 { return p.Waits.Seconds() }),
	},
	{
		"lakeweir_retention_headroom_records", "Records at risk: next offset less log start. So many offsets retention can remove before it meets what is not published; negative: so many are lost.", gauge,
		func(p sink.Partition, _ time.Time) (float64, bool) {
			return float64(p.Next - p.Marks.Start), p.Claimed && !p.Marks.At.IsZero() && p.Marks.Start >= 0
		},
	},
	{
		"lakeweir_open_transaction_seconds", "How long the same open transaction has been seen to hold the log end below the high watermark; 0 when none does.", gauge,
		func(p sink.Partition, now time.Time) (float64, bool) {
			if p.Marks.Open.IsZero() {
				return 0, !p.Marks.At.IsZero()
			}
			return max(now.Sub(p.Marks.Open).Seconds(), 0), true
		},
	},
	{
		"lakeweir_open_transaction_records", "Offsets between the log end and the high watermark, which wait for an open transaction.", gauge,
		told(func(p sink.Partition) float64 { return float64(p.Marks.High - p.Marks.End) }),
	},
	{
		"lakeweir_can_publish", "1 when what is read now could be published, else 0; /readyz says why not.", gauge,
		known(func(p sink.Partition) int64 { return bit(p.CanPublish) }),
	},
	{
		"lakeweir_last_publish_timestamp_seconds", "When this process published last; none before its first.", gauge,
		func(p sink.Partition, _ time.Time) (float64, bool) { return unix(p.Published), !p.Published.IsZero() },
	},
	{
		"lakeweir_read_records_total", "Records read; what is read again counts again.", counter,
		known(func(p sink.Partition) int64 { return p.Records }),
	},
	{"lakeweir_ranges_total", "Ranges published.", counter, known(func(p sink.Partition) int64 { return p.Ranges })},
	{"lakeweir_files_total", "Files published.", counter, known(func(p sink.Partition) int64 { return p.Files })},
	{"lakeweir_published_bytes_total", "Bytes of published files.", counter, known(func(p sink.Partition) int64 { return p.Bytes })},
	{"lakeweir_rows_total", "Rows published.", counter, known(func(p sink.Partition) int64 { return p.Counts.Rows })},
	{"lakeweir_dead_letters_total", "Records set aside in dead-letter files.", counter, known(func(p sink.Partition) int64 { return p.Counts.Dead })},
	{
		"lakeweir_absent_offsets_total", "Offsets without a record: transaction markers, aborted records, what compaction removed.", counter,
		known(func(p sink.Partition) int64 { return p.Counts.Absent }),
	},
	{
		"lakeweir_lost_offsets_total", "Offsets that the log lost before they were read. It is 0 unless on_data_loss is skip.", counter,
		known(func(p sink.Partition) int64 { return p.Counts.Lost }),
	},
	{"lakeweir_object_retries_total", "PUTs of files that were tried again.", counter, known(func(p sink.Partition) int64 { return p.Retries })},
	{"lakeweir_claims_total", "Claims made.", counter, known(func(p sink.Partition) int64 { return p.Claims })},
	{"lakeweir_fences_total", "Claims that another writer took over.", counter, known(func(p sink.Partition) int64 { return p.Fences })},
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func bit(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// collector makes metrics of the snapshots of a sink.
type collector struct {
	snapshot   func() sink.Snapshot
	partitions []*prometheus.Desc // as partitionMetrics

	ready, assigned, used, limit *prometheus.Desc
	plan, write, publish         *prometheus.Desc
	calls, latency               *prometheus.Desc
}

func newCollector(snapshot func() sink.Snapshot) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	c := &collector{
		snapshot: snapshot,
		ready:    desc("lakeweir_ready", "1 when /readyz says so, else 0."),
		assigned: desc("lakeweir_assigned_partitions", "Partitions that are assigned to this process."),
		used:     desc("lakeweir_memory_used_bytes", "Memory held for records (raw: fetched, collected and being written) and for objects (laying out, and until they are published).", "kind"),
		limit:    desc("lakeweir_memory_limit_bytes", "Memory that may be held: for records half of the setting memory, for objects a quarter.", "kind"),
		plan:     desc("lakeweir_plan_duration_seconds", "Time to make a cut durable in the head, all tries included."),
		write:    desc("lakeweir_write_duration_seconds", "Time to write all files of a range, all tries included."),
		publish:  desc("lakeweir_publish_duration_seconds", "Time of the head write that publishes a range, all tries included."),
		calls:    desc("lakeweir_store_calls_total", "Calls to the store.", "operation", "outcome"),
		latency:  desc("lakeweir_store_call_duration_seconds", "Time of calls to the store, whatever their outcome; of a list, the time to its first object.", "operation"),
	}
	for _, m := range partitionMetrics {
		c.partitions = append(c.partitions, desc(m.name, m.help, "topic", "partition"))
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.partitions {
		to <- d
	}
	for _, d := range []*prometheus.Desc{c.ready, c.assigned, c.used, c.limit, c.plan, c.write, c.publish, c.calls, c.latency} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	now, s := time.Now(), c.snapshot()
	for _, p := range s.Partitions {
		c.partition(to, p, now)
	}
	value := func(d *prometheus.Desc, v int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, gauge, float64(v), labels...)
	}
	value(c.ready, bit(len(s.Reasons) == 0))
	value(c.assigned, int64(len(s.Partitions)))
	value(c.used, s.Records.Used, "records")
	value(c.limit, s.Records.Limit, "records")
	value(c.used, s.Objects.Used, "objects")
	value(c.limit, s.Objects.Limit, "objects")
	to <- histogram(c.plan, s.Steps.Plan)
	to <- histogram(c.write, s.Steps.Write)
	to <- histogram(c.publish, s.Steps.Publish)
	for op, calls := range s.Store {
		name := metered.Operation(op).String()
		to <- histogram(c.latency, calls.Latency, name)
		for outcome, n := range calls.Outcomes {
			to <- prometheus.MustNewConstMetric(c.calls, counter, float64(n), name, metered.Outcome(outcome).String())
		}
	}
}

// partition sends the metrics of a partition.
func (c *collector) partition(to chan<- prometheus.Metric, p sink.Partition, now time.Time) {
	id := strconv.Itoa(int(p.Partition))
	for i, m := range partitionMetrics {
		if v, ok := m.value(p, now); ok {
			to <- prometheus.MustNewConstMetric(c.partitions[i], m.kind, v, p.Table, id)
		}
	}
}

// histogram makes a metric of durations; the buckets of Prometheus add up.
func histogram(d *prometheus.Desc, h latency.Histogram, labels ...string) prometheus.Metric {
	buckets, n := make(map[float64]uint64, len(latency.Bounds)), uint64(0)
	for i, bound := range latency.Bounds {
		n += h.Counts[i]
		buckets[bound.Seconds()] = n
	}
	return prometheus.MustNewConstHistogram(d, h.Count(), h.Sum.Seconds(), buckets, labels...)
}
