package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/bench/resident"
	"github.com/lakeweir/lakeweir/integration/bench/servers"
	"github.com/lakeweir/lakeweir/integration/bench/shop"
	"github.com/lakeweir/lakeweir/integration/gateway"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// bench is one run of the benchmark: servers, the command, the events.
type bench struct {
	options
	dir             string
	command, events string
	brokers         string // address
	gate            *servers.Server
	stops           []func() // of servers
	age             string   // the setting batch.max_age; empty is the default
	headed          bool
	runs            int
}

func newBench(ctx context.Context, o options, dir string) (*bench, error) {
	b := &bench{options: o, dir: dir}
	b.command, b.events = b.path("lakeweir"), b.path("events.ndjson")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", b.command, "./cmd/lakeweir")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the command: %w\n%s", err, out)
	}
	if err := shop.Write(b.events, o.records); err != nil {
		return nil, fmt.Errorf("write events: %w", err)
	}
	if err := os.Mkdir(b.path("buckets"), 0o755); err != nil {
		return nil, err
	}
	if err := b.serve(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// serve starts the broker and the gateway.
func (b *bench) serve() error {
	if b.kafka {
		broker, err := realkafka.Run(b.path("kafka"), realkafka.Options{})
		if err != nil {
			return fmt.Errorf("start Kafka: %w", err)
		}
		b.brokers, b.stops = broker.Addr(), append(b.stops, broker.Stop)
	} else {
		broker, err := servers.Start(servers.Broker)
		if err != nil {
			return err
		}
		b.brokers, b.stops = broker.Address, append(b.stops, broker.Stop)
	}
	var err error
	if b.gate, err = servers.Start(servers.Gateway, b.path("buckets")); err != nil {
		return err
	}
	b.stops = append(b.stops, b.gate.Stop)
	return nil
}

func (b *bench) close() {
	for _, stop := range b.stops {
		stop()
	}
}

// codecs of batches by name.
var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// load fills a topic with the events.
func (b *bench) load(ctx context.Context, topic, codec string) error {
	c, ok := codecs[codec]
	if !ok {
		return fmt.Errorf("codec %q is not none, lz4 or zstd", codec)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.brokers), kgo.ProducerBatchCompression(c),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(50*time.Millisecond), kgo.MaxBufferedRecords(200_000))
	if err != nil {
		return err
	}
	defer cl.Close()
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, int32(b.partitions), 1, nil, topic); err != nil {
		return err
	}
	var failed error
	e := shop.New()
	for i := range b.records {
		r := &kgo.Record{Topic: topic, Partition: int32(i % b.partitions), Value: bytes.Clone(e.Next())}
		cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				failed = err // callbacks come one at a time
			}
		})
	}
	return errors.Join(cl.Flush(ctx), failed)
}

// config writes a configuration for a fresh table and returns its path, and
// where the table lies.
func (b *bench) config(topic, store, values string) (path, location string, err error) {
	b.runs++
	name := fmt.Sprintf("run-%d", b.runs)
	location = "dir:" + b.path(name)
	s3 := ""
	if store == "gateway" {
		endpoint, bucket, _ := strings.Cut(strings.TrimPrefix(b.gate.Address, "http://"), "/")
		location = "s3://" + bucket + "/" + name
		s3 = fmt.Sprintf("s3: {region: %s, endpoint: %q}\n", gateway.Region, "http://"+endpoint)
	}
	text := fmt.Sprintf("brokers: [%s]\nstore: %q\n%smemory: %s\nbatch: {max_rows: %s, max_age: %s}\nfiles: {level: 1}\n",
		b.brokers, location, s3, b.memory, b.batch, cmp.Or(b.age, "60s"))
	if values != "raw" {
		text += "topics:\n  " + topic + ":\n    value: json\n    extra: " + fmt.Sprint(values == "extra") + "\n    columns:" + shop.Columns
	} else {
		text += "topics: [" + topic + "]\n"
	}
	path = b.path(name + ".yaml")
	return path, location, os.WriteFile(path, []byte(text), 0o600)
}

// cost is what a process used.
type cost struct {
	cpu, clock time.Duration
	mib        float64
}

// sink runs the command until all is published.
func (b *bench) sink(ctx context.Context, config string) (cost, error) {
	cmd := exec.CommandContext(ctx, b.command, "run", "--config", config, "--once", "--log-level", "error")
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+gateway.AccessKey, "AWS_SECRET_ACCESS_KEY="+gateway.SecretKey)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return cost{}, err
	}
	gone, peak := make(chan struct{}), make(chan float64)
	go func() { peak <- resident.Watch(cmd.Process.Pid, gone) }()
	err := cmd.Wait()
	close(gone)
	c := cost{clock: time.Since(begin), mib: <-peak}
	if err != nil {
		return c, fmt.Errorf("%w\n%s", err, &errs)
	}
	c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return c, nil
}

// measure measures one combination, round by round.
func (b *bench) measure(ctx context.Context, topic, codec, store, values string) (line, error) {
	l := line{Codec: codec, Store: store, Values: values}
	var sinks, fetches, encodes, puts, ducks, rates []float64
	micros := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.records) }
	for range b.rounds {
		config, location, err := b.config(topic, store, values)
		if err != nil {
			return l, err
		}
		c, err := b.sink(ctx, config)
		if err != nil {
			return l, err
		}
		sinks, rates = append(sinks, micros(c.cpu)), append(rates, float64(b.records)/c.clock.Seconds())
		l.MiB = max(l.MiB, c.mib)
		if l.Objects, l.Bytes, err = b.published(ctx, config, topic); err != nil {
			return l, err
		}
		p, err := b.parts(ctx, config, topic)
		if err != nil {
			return l, err
		}
		fetches, encodes, puts = append(fetches, micros(p.fetch)), append(encodes, micros(p.encode)), append(puts, micros(p.put))
		if dir, ok := strings.CutPrefix(location, "dir:"); ok {
			_ = os.RemoveAll(dir)
		}
		duck, err := b.duckDB(ctx)
		if err != nil {
			return l, err
		}
		ducks = append(ducks, duck)
	}
	l.Micros, l.Fetch, l.Encode, l.Put = median(sinks), median(fetches), median(encodes), median(puts)
	l.Duck, l.Rate, l.Parts = median(ducks), median(rates), l.Fetch+l.Encode+l.Put
	return l, nil
}

// published counts the files of a table and checks that all rows are there.
func (b *bench) published(ctx context.Context, config, topic string) (objects, size int64, err error) {
	cmd := exec.CommandContext(ctx, b.command, "files", topic, "--config", config, "--format", "json")
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+gateway.AccessKey, "AWS_SECRET_ACCESS_KEY="+gateway.SecretKey)
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, err
	}
	rows := int64(0)
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var f struct{ File struct{ Rows, Bytes int64 } }
		if err := d.Decode(&f); err != nil {
			return 0, 0, err
		}
		rows += f.File.Rows
		size += f.File.Bytes
		objects++
	}
	if rows != int64(b.records) {
		return 0, 0, fmt.Errorf("%d rows are published of %d", rows, b.records)
	}
	return objects, size, nil
}

// duckDB converts the events, and returns the processor time in microseconds
// for each.
func (b *bench) duckDB(ctx context.Context) (float64, error) {
	python := os.Getenv("LAKEWEIR_DUCKDB")
	if python == "" {
		return 0, errors.New("LAKEWEIR_DUCKDB is not set: duckdb/install.sh prints what it must be")
	}
	out, err := exec.CommandContext(ctx, python, filepath.Join("bench", "duck.py"), b.events, b.path("duck.parquet"), "1").Output()
	if err != nil {
		return 0, fmt.Errorf("duckdb: %w", err)
	}
	var got struct{ Micros []float64 }
	if err := json.Unmarshal(out, &got); err != nil {
		return 0, err
	}
	return median(got.Micros), nil
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
