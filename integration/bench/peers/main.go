// Command peers measures other sinks beside this one: on the same real broker,
// the same events and the same S3 server, each in processes of its own. Then it
// does the crash check to each: kill -9 in mid run, a restart, and the rows that
// the sink's own reader sees are counted.
//
// Kafka Connect with Iceberg's sink is fetched by install.sh. Others are
// measured when they are given: BENTO and OLAKE name a binary, AIVEN a folder
// with the jars of Aiven's S3 sink. Those that are not are named and skipped.
//
//	cd integration && LAKEWEIR_PEERS=$(bench/peers/install.sh) BENTO=/path/to/bento go run ./bench/peers
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/lakeweir/lakeweir/integration/bench/servers"
)

// options say what is measured.
type options struct {
	records, rounds, partitions int
	rows                        int    // in a file, for sinks that can be told
	codec                       string // of the topic's batches
	heap                        string // of the JVM
	only                        string // names of sinks
	crash                       bool
	asJSON                      bool
}

func main() {
	if servers.Serve() {
		return
	}
	var o options
	flag.IntVar(&o.records, "records", 2_000_000, "events in the topic")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each is measured")
	flag.IntVar(&o.partitions, "partitions", 4, "partitions of the topic")
	flag.IntVar(&o.rows, "rows", 100_000, "rows in a file, for sinks that can be told")
	flag.StringVar(&o.codec, "codec", "lz4", "codec of the topic's batches: none, lz4, zstd")
	flag.StringVar(&o.heap, "heap", "1g", "most heap of a Java process")
	flag.StringVar(&o.only, "only", "lakeweir,iceberg,aiven,bento,olake", "sinks to measure")
	flag.BoolVar(&o.crash, "crash", true, "do the crash check")
	flag.BoolVar(&o.asJSON, "json", false, "print JSON, one object for each sink")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "lakeweir-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := newPlace(ctx, o, dir)
	if err != nil {
		return err
	}
	defer p.close()
	only := strings.Split(o.only, ",")
	for _, s := range p.sinks() {
		if !slices.Contains(only, s.name) {
			continue
		}
		l := line{Sink: s.name, Missing: s.missing}
		if s.missing == "" {
			if err := p.measure(ctx, s, &l); err != nil {
				l.Failed = err.Error()
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.print(l)
	}
	return nil
}

// line is what was found about one sink.
type line struct {
	Sink    string
	Missing string `json:",omitempty"` // why it was not measured
	Failed  string `json:",omitempty"`

	Rate         float64 // records a second, by the clock; see progress.rate
	Micros       float64 // processor time of the sink for each record, without the start
	Start        float64 // seconds until a hundred records were out
	StartSeconds float64 // processor time of these
	MiB          float64 // memory at most
	Objects      int     // files that a reader sees
	Doubled      int     // rows after the crash check that a reader sees once too often
	Lost         int     // ids that it does not see
	Checked      bool    // the crash check was done
}

var heading = fmt.Sprintf("%-9s | %9s %8s | %7s %7s | %8s %8s | %9s %9s",
	"sink", "records/s", "us/rec", "start s", "cpu s", "MiB peak", "objects", "doubled", "lost")

func (p *place) print(l line) {
	if p.asJSON {
		_ = json.NewEncoder(os.Stdout).Encode(l)
		return
	}
	if !p.headed {
		fmt.Println(heading)
		p.headed = true
	}
	switch {
	case l.Missing != "":
		fmt.Printf("%-9s | not measured: %s\n", l.Sink, l.Missing)
		return
	case l.Failed != "" && l.Rate == 0:
		fmt.Printf("%-9s | failed: %s\n", l.Sink, l.Failed)
		return
	}
	doubled, lost := "-", "-"
	if l.Checked {
		doubled, lost = fmt.Sprint(l.Doubled), fmt.Sprint(l.Lost)
	}
	fmt.Printf("%-9s | %9.0f %8.2f | %7.1f %7.1f | %8.0f %8d | %9s %9s\n",
		l.Sink, l.Rate, l.Micros, l.Start, l.StartSeconds, l.MiB, l.Objects, doubled, lost)
	if l.Failed != "" {
		fmt.Printf("%-9s | then it failed: %s\n", l.Sink, l.Failed)
	}
}
