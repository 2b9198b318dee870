package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/bench/servers"
	"github.com/lakeweir/lakeweir/integration/bench/shop"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// place is what all sinks share: a broker with the topics, a store.
type place struct {
	options
	dir     string
	home    string // of install.sh
	command string // lakeweir
	broker  *realkafka.Broker
	gate    *servers.Server
	admin   *kadm.Client
	runs    int
	headed  bool
}

// Topics: the events, and the first hundred of them, which show what a start costs.
const (
	all      = "events"
	few      = "few"
	fewCount = 100
)

func newPlace(ctx context.Context, o options, dir string) (*place, error) {
	p := &place{options: o, dir: dir, home: os.Getenv("LAKEWEIR_PEERS"), command: filepath.Join(dir, "lakeweir")}
	if p.home == "" {
		return nil, errors.New("LAKEWEIR_PEERS is not set: bench/peers/install.sh prints what it must be")
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", p.command, "./cmd/lakeweir")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the command: %w\n%s", err, out)
	}
	for _, sub := range []string{"broker", "buckets"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	err := p.open(ctx)
	if err != nil {
		p.close()
	}
	return p, err
}

func (p *place) open(ctx context.Context) error {
	var err error
	if p.broker, err = realkafka.Run(filepath.Join(p.dir, "broker"), realkafka.Options{}); err != nil {
		return fmt.Errorf("start Kafka: %w", err)
	}
	if p.gate, err = servers.Start(servers.Gateway, p.buckets()); err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(p.broker.Addr()))
	if err != nil {
		return err
	}
	p.admin = kadm.NewClient(client)
	for topic, records := range map[string]int{all: p.records, few: fewCount} {
		if err := p.load(ctx, topic, records); err != nil {
			return fmt.Errorf("fill topic %s: %w", topic, err)
		}
	}
	return nil
}

func (p *place) close() {
	if p.admin != nil {
		p.admin.Close()
	}
	if p.gate != nil {
		p.gate.Stop()
	}
	if p.broker != nil {
		p.broker.Stop()
	}
}

// buckets is the folder whose folders are the buckets of the store.
func (p *place) buckets() string { return filepath.Join(p.dir, "buckets") }

// endpoint and bucket of the store.
func (p *place) endpoint() (string, string) {
	host, bucket, _ := strings.Cut(strings.TrimPrefix(p.gate.Address, "http://"), "/")
	return "http://" + host, bucket
}

// load fills a topic with the first events.
func (p *place) load(ctx context.Context, topic string, records int) error {
	codecs := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}
	codec, ok := codecs[p.codec]
	if !ok {
		return fmt.Errorf("codec %q is not none, lz4 or zstd", p.codec)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(p.broker.Addr()), kgo.ProducerBatchCompression(codec), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := p.admin.CreateTopic(ctx, int32(p.partitions), 1, nil, topic); err != nil {
		return err
	}
	var failed error
	e := shop.New()
	for i := range records {
		r := &kgo.Record{Topic: topic, Partition: int32(i % p.partitions), Value: bytes.Clone(e.Next())}
		client.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				failed = err // callbacks come one at a time
			}
		})
	}
	return errors.Join(client.Flush(ctx), failed)
}
