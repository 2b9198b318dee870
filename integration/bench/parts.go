package main

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/lakeweir/lakeweir/integration/gateway"
	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/sink"
	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
)

// costs is the processor time of the parts of a run for all records, each
// measured alone in this process.
type costs struct {
	fetch  time.Duration // from the socket to batches of records
	encode time.Duration // to bodies of files
	put    time.Duration // hashed, and created in the store
}

// parts measures what a run of the sink is made of, with its settings: every
// partition is fetched and thrown away; the first one is kept, laid out in the
// batches that the sink would make, and put, once for each partition.
func (b *bench) parts(ctx context.Context, config, topic string) (costs, error) {
	set, err := load(config)
	if err != nil {
		return costs{}, err
	}
	var c costs
	if c.fetch, err = spent(func() error { return b.fetch(ctx, set, nil) }); err != nil {
		return c, fmt.Errorf("fetch: %w", err)
	}
	var batches []*record.Batch
	if err := b.fetch(ctx, set, func(x *record.Batch) { batches = append(batches, x) }); err != nil {
		return c, err
	}
	bodies, err := b.layOut(ctx, set, topic, batches, &c)
	if err != nil {
		return c, err
	}
	return c, b.upload(ctx, set, topic, bodies, &c)
}

// load reads a configuration.
func load(config string) (*settings.Settings, error) {
	return settings.Load(&settings.Flags{}, []string{
		"LAKEWEIR_CONFIG=" + config,
		"LAKEWEIR_S3_ACCESS_KEY=" + gateway.AccessKey, "LAKEWEIR_S3_SECRET_KEY=" + gateway.SecretKey,
	})
}

// spent runs f without garbage of earlier work, and returns the processor time
// that it took, the collection of its own garbage included.
func spent(f func() error) (time.Duration, error) {
	runtime.GC()
	before := usage()
	err := f()
	runtime.GC()
	return usage() - before, err
}

func usage() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // there is no such error for this process
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fetch reads all partitions to their ends, or only the first when its batches
// are kept.
func (b *bench) fetch(ctx context.Context, set *settings.Settings, keep func(*record.Batch)) error {
	c, err := sink.Source(set)
	if err != nil {
		return err
	}
	if keep != nil {
		c.Partitions = map[string][]int32{c.Topics[0]: {0}}
	}
	return source.Run(ctx, c, func(ctx context.Context, p *source.Partition) error {
		start, end, err := p.Bounds(ctx)
		if err != nil {
			return err
		}
		if err := p.Seek(ctx, start); err != nil {
			return err
		}
		for at := start; at < end; {
			x, err := p.Read(ctx)
			if err != nil {
				return err
			}
			if keep != nil {
				keep(x)
			}
			at = x.Next
		}
		return nil
	})
}

// layOut encodes the batches of one partition once for each partition.
func (b *bench) layOut(ctx context.Context, set *settings.Settings, topic string, batches []*record.Batch, c *costs) ([][]byte, error) {
	schema, err := set.Schema(set.Topics[0])
	if err != nil {
		return nil, err
	}
	e, err := columnar.NewEncoder(schema)
	if err != nil {
		return nil, err
	}
	jobs := cut(topic, schema.Version, batches, set.Batch.MaxRows)
	var bodies [][]byte
	c.encode, err = spent(func() error {
		for range b.partitions {
			bodies = bodies[:0]
			for _, job := range jobs {
				out, err := e.Encode(ctx, job)
				if err != nil {
					return err
				}
				bodies = slices.AppendSeq(bodies, maps.Values(out.Bodies))
			}
		}
		return nil
	})
	return bodies, err
}

// cut makes jobs of so many rows.
func cut(topic string, version int, batches []*record.Batch, rows int64) (jobs []manifest.Job) {
	n := int64(0)
	for _, x := range batches {
		for rest := x; rest != nil; {
			if len(jobs) == 0 || n == rows {
				jobs, n = append(jobs, manifest.Job{Table: topic, Schema: version, Range: manifest.Range{Start: rest.Start, Next: rest.Start}}), 0
			}
			job, part := &jobs[len(jobs)-1], rest
			if over := n + int64(rest.Len()) - rows; over > 0 {
				part, rest = rest.Split(rest.At(rest.Len() - int(over)).Offset)
			} else {
				rest = nil
			}
			job.Batches, job.Next = append(job.Batches, part), part.Next
			n += int64(part.Len())
		}
	}
	return jobs
}

// upload puts the bodies of one partition once for each partition.
func (b *bench) upload(ctx context.Context, set *settings.Settings, topic string, bodies [][]byte, c *costs) error {
	s, err := sink.OpenStore(ctx, set)
	if err != nil {
		return err
	}
	c.put, err = spent(func() error {
		for p := range b.partitions {
			for i, body := range bodies {
				if _, err := s.Put(ctx, fmt.Sprintf("parts/%s/%d-%d", topic, p, i), body, store.IfAbsent()); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return err
}
