package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/lakeweir/lakeweir/integration/plot"
)

// point is what the sink costs with so many partitions and rows in a batch.
type point struct {
	Partitions, Rows  int
	Rate, Micros, MiB float64
}

// What is measured: one number of partitions after the other, with batches of a
// middle size, and one size of batches after the other, with a few partitions.
var (
	sweptPartitions = []int{1, 4, 16, 64, 256}
	sweptRows       = []int{10_000, 50_000, 250_000, 1_000_000}
)

const (
	middleRows = 50_000
	few        = 4
)

// sweep measures JSON values in LZ4, on the first of the stores, and draws the
// figures.
func sweep(ctx context.Context, o options) error {
	o.store, _, _ = strings.Cut(o.store, ",")
	b, err := newFleet(ctx, &o)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	defer b.close()
	var byPartitions, byRows []point
	for _, n := range sweptPartitions {
		b.partitions = n
		topic := fmt.Sprintf("events-%d", n)
		if err := b.load(ctx, topic, "lz4"); err != nil {
			return fmt.Errorf("fill topic %s: %w", topic, err)
		}
		p, err := b.point(ctx, topic, middleRows)
		if err != nil {
			return fmt.Errorf("%d partitions: %w", n, err)
		}
		byPartitions = append(byPartitions, p)
	}
	b.partitions = few
	for _, rows := range sweptRows {
		p, err := b.point(ctx, fmt.Sprintf("events-%d", few), rows)
		if err != nil {
			return fmt.Errorf("batches of %d rows: %w", rows, err)
		}
		byRows = append(byRows, p)
	}
	if o.svg == "" {
		return nil
	}
	return plot.Write(o.svg, sweepCharts(byPartitions, byRows)...)
}

// point measures one combination, and prints it.
func (b *bench) point(ctx context.Context, topic string, rows int) (point, error) {
	p := point{Partitions: b.partitions, Rows: rows}
	b.batch = strconv.Itoa(rows)
	var rates, micros []float64
	for range b.rounds {
		config, _, err := b.config(topic, b.store, "json")
		if err != nil {
			return p, err
		}
		c, err := b.sink(ctx, config)
		if err != nil {
			return p, err
		}
		rates = append(rates, float64(b.records)/c.clock.Seconds())
		micros = append(micros, float64(c.cpu.Microseconds())/float64(b.records))
		p.MiB = max(p.MiB, c.mib)
	}
	p.Rate, p.Micros = median(rates), median(micros)
	if b.asJSON {
		return p, json.NewEncoder(os.Stdout).Encode(p)
	}
	if !b.headed {
		fmt.Printf("| partitions | rows in a batch | records/s | CPU us/record | MiB at most |\n|---|---|---|---|---|\n")
		b.headed = true
	}
	fmt.Printf("| %d | %d | %.0f | %.2f | %.0f |\n", p.Partitions, p.Rows, p.Rate, p.Micros, p.MiB)
	return p, nil
}

func sweepCharts(byPartitions, byRows []point) []plot.Chart {
	series := func(points []point, x func(point) int, y func(point) float64) plot.Series {
		var s plot.Series
		for _, p := range points {
			s.X, s.Y = append(s.X, float64(x(p))), append(s.Y, y(p))
		}
		return s
	}
	partitions := func(p point) int { return p.Partitions }
	rows := func(p point) int { return p.Rows }
	rate := func(p point) float64 { return p.Rate / 1000 }
	mib := func(p point) float64 { return p.MiB }
	chart := func(title, x, y string, s plot.Series) plot.Chart {
		return plot.Chart{Title: title, X: x, Y: y, LogX: true, Series: []plot.Series{s}}
	}
	return []plot.Chart{
		chart("Throughput by partitions", "partitions", "1000 records/s", series(byPartitions, partitions, rate)),
		chart("Memory by partitions", "partitions", "MiB at most", series(byPartitions, partitions, mib)),
		chart("Throughput by size of batches", "rows in a batch", "1000 records/s", series(byRows, rows, rate)),
		chart("Memory by size of batches", "rows in a batch", "MiB at most", series(byRows, rows, mib)),
	}
}
