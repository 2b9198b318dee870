// Command bench measures the sink end to end: events in a topic of a broker in
// another process, the command `lakeweir run --once` in a process of its own,
// files in a store in a third. Beside it, in the same run and round by round,
// it measures the parts of the same work alone, and DuckDB's conversion of the
// same events from a local file to Parquet on one thread. Every figure is the
// median of the rounds; processor time is that of the one process named.
//
//	cd integration && LAKEWEIR_DUCKDB=$(duckdb/install.sh) go run ./bench -records 2000000 -rounds 5
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/lakeweir/lakeweir/integration/bench/servers"
)

// options say what is measured.
type options struct {
	records, rounds, partitions int
	codec                       string // of the topic's batches: none, lz4 or zstd
	store                       string // dir or gateway
	values                      string // json, extra or raw
	memory                      string // of the sink
	batch                       string // rows in a batch of the sink
	asJSON                      bool
	kafka                       bool   // on a real Kafka
	growth, svg                 string // sizes of tables to measure instead; where to draw it
	latency                     int    // records a second to send instead, and measure how long they take
	seconds                     int    // for so long
	sweep                       bool   // measure by partitions and by sizes of batches instead
	processes                   string // sizes of groups to measure instead
	rebalance                   int    // partitions of a topic to measure instead
}

func main() {
	if servers.Serve() {
		return
	}
	var o options
	flag.IntVar(&o.records, "records", 2_000_000, "events in the topic")
	flag.IntVar(&o.rounds, "rounds", 5, "how often each is measured")
	flag.IntVar(&o.partitions, "partitions", 4, "partitions of the topic")
	flag.StringVar(&o.codec, "codec", "lz4,zstd", "codecs of the topic's batches: none, lz4, zstd")
	flag.StringVar(&o.store, "store", "dir,gateway", "stores: dir, gateway (an S3 server)")
	flag.StringVar(&o.values, "values", "json,extra,raw", "tables: twelve typed columns; these and the rest as JSON; raw bytes")
	flag.StringVar(&o.memory, "memory", "512MiB", "the setting memory of the sink")
	flag.StringVar(&o.batch, "rows", "250000", "the setting batch.max_rows of the sink")
	flag.StringVar(&o.growth, "growth", "", "measure tables with so many published files instead, such as 1000,100000,1000000")
	flag.BoolVar(&o.kafka, "kafka", false, "on a real Kafka, in place of an embedded broker; LAKEWEIR_KAFKA says where it is installed")
	flag.StringVar(&o.svg, "svg", "", "with -growth, -sweep: draw the figures into this file")
	flag.IntVar(&o.latency, "latency", 0, "send so many records a second instead, and measure how long it takes until they are published")
	flag.IntVar(&o.seconds, "seconds", 30, "with -latency: for so long")
	flag.BoolVar(&o.sweep, "sweep", false, "measure numbers of partitions and sizes of batches instead")
	flag.StringVar(&o.processes, "processes", "", "measure groups of so many processes on one core each instead, such as 1,2")
	flag.IntVar(&o.rebalance, "rebalance", 0, "measure a group that shares so many partitions instead")
	flag.BoolVar(&o.asJSON, "json", false, "print JSON, one object for each line of the table")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := run
	switch {
	case o.growth != "":
		run = growth
	case o.processes != "":
		run = processes
	case o.rebalance > 0:
		run = rebalance
	case o.latency > 0:
		run = latency
	case o.sweep:
		run = sweep
	}
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// line is one row of the table.
type line struct {
	Codec, Store, Values string
	Micros               float64 // processor time of the sink for each record
	Parts                float64 // of its parts alone: Fetch, Encode, Put
	Fetch, Encode, Put   float64
	Duck                 float64 // of DuckDB's conversion
	Rate                 float64 // records a second, by the clock
	MiB                  float64 // memory at most
	Objects, Bytes       int64
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "lakeweir-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := newBench(ctx, o, dir)
	if err != nil {
		return err
	}
	defer b.close()
	for _, codec := range strings.Split(o.codec, ",") {
		topic := "events-" + codec
		if err := b.load(ctx, topic, codec); err != nil {
			return fmt.Errorf("fill topic %s: %w", topic, err)
		}
		for _, values := range strings.Split(o.values, ",") {
			for _, store := range strings.Split(o.store, ",") {
				l, err := b.measure(ctx, topic, codec, store, values)
				if err != nil {
					return fmt.Errorf("%s, %s, %s: %w", codec, values, store, err)
				}
				b.print(l)
			}
		}
	}
	return nil
}

var heading = fmt.Sprintf("%-6s %-8s %-6s | %8s %8s %6s | %6s %6s %6s | %6s %6s | %9s %8s %8s",
	"codec", "store", "values", "us/rec", "parts", "ratio", "fetch", "encode", "put", "duckdb", "ratio", "records/s", "MiB peak", "objects")

func (b *bench) print(l line) {
	if b.asJSON {
		_ = json.NewEncoder(os.Stdout).Encode(l)
		return
	}
	if !b.headed {
		fmt.Println(heading)
		b.headed = true
	}
	fmt.Printf("%-6s %-8s %-6s | %8.2f %8.2f %6.2f | %6.2f %6.2f %6.2f | %6.2f %6.2f | %9.0f %8.0f %8d\n",
		l.Codec, l.Store, l.Values, l.Micros, l.Parts, l.Micros/l.Parts, l.Fetch, l.Encode, l.Put, l.Duck, l.Duck/l.Micros, l.Rate, l.MiB, l.Objects)
}

// path returns a path in the folder of the run.
func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }
