// Package columnar lays out records as Parquet files, and reads them back. It
// is the only package that knows the Parquet library.
//
// An [Encoder] takes the records of one range as they came from the log,
// decodes them by the schema and writes them into one data file in memory.
// Records that do not fit go to a dead-letter file of the same range, raw and
// with a reason. A new writer is made for every file: it is the cheapest
// design in memory, and writers that are used again corrupt files.
//
// The same job gives the same bytes on one machine: rows go to the library in
// steps of a fixed number, row groups end at steps only, and nothing that
// changes between builds is written. CPUs of another kind may give other
// bytes with the same rows; callers compare hashes and do not assume.
//
// The footer says which range and attempt the file is of, what became of every
// position of the range, and a digest of its records, so that what a head
// knows of a file can be told from the file alone: [ReadFooter].
package columnar

import (
	"context"
	"fmt"
	"math"

	"github.com/lakeweir/lakeweir/internal/decode"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// Encoder lays out ranges by one schema. It may be used by several goroutines
// at once.
type Encoder struct {
	data, dead *layout
}

// NewEncoder returns an Encoder of a schema. The error is that of the schema.
func NewEncoder(s manifest.Schema) (*Encoder, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("make encoder: %w", err)
	}
	data, err := newLayout(s)
	if err != nil {
		return nil, fmt.Errorf("make encoder: %w", err)
	}
	dead, err := newLayout(s.DeadLetters())
	if err != nil {
		return nil, fmt.Errorf("make encoder: %w", err)
	}
	return &Encoder{data: data, dead: dead}, nil
}

// Encode lays out the records of a job on the core of the caller, who bounds how
// many run at once. The error is that of the context, or tells of a job that
// contradicts itself, or of a defect; records that do not fit are no error.
func (e *Encoder) Encode(ctx context.Context, job manifest.Job) (out manifest.Encoded, err error) {
	if err := e.check(job); err != nil {
		return manifest.Encoded{}, fmt.Errorf("encode %s: %w", title(job), err)
	}
	// The library panics on some defects. That is to fail one range, not the
	// process and all partitions with it.
	defer func() {
		if p := recover(); p != nil {
			out, err = manifest.Encoded{}, fmt.Errorf("encode %s: panic: %v", title(job), p)
		}
	}()
	r := newRun(e, job)
	if err := r.records(ctx); err != nil {
		return manifest.Encoded{}, fmt.Errorf("encode %s: %w", title(job), err)
	}
	if out, err = r.finish(); err != nil {
		return manifest.Encoded{}, fmt.Errorf("encode %s: %w", title(job), err)
	}
	return out, nil
}

// check returns an error for a job that this encoder cannot do.
func (e *Encoder) check(job manifest.Job) error {
	if err := job.Range.Validate(); err != nil {
		return err
	}
	if job.Schema != e.data.schema.Version {
		return fmt.Errorf("the job is for schema version %d, the encoder has %d", job.Schema, e.data.schema.Version)
	}
	if job.Lost < 0 || job.Lost > job.Len() {
		return fmt.Errorf("%d positions are lost of %d", job.Lost, job.Len())
	}
	return nil
}

// title names a job in errors.
func title(job manifest.Job) string {
	return fmt.Sprintf("%s partition %d %s", job.Table, job.Partition.ID, job.Range)
}

// run is one job on its way.
type run struct {
	job        manifest.Job
	data, dead *file
	digest     digest
	row        row
	epoch      int32
	next       int64 // no record before it may follow
}

func newRun(e *Encoder, job manifest.Job) *run {
	r := &run{job: job, data: newFile(e.data), dead: newFile(e.dead), epoch: -1, next: job.Start}
	r.row.topic, r.row.partition = job.Table, job.Partition.ID
	r.digest.init()
	return r
}

// records takes all records of the job.
func (r *run) records(ctx context.Context) error {
	n := 0
	for _, b := range r.job.Batches {
		if b.LeaderEpoch >= 0 {
			r.epoch = b.LeaderEpoch
		}
		for i := range b.Len() {
			if n%step == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			n++
			if err := r.add(b.At(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// inMicros reports whether an int64 holds the microseconds of a timestamp in
// milliseconds. Producers set what they like.
func inMicros(ms int64) bool { return ms <= math.MaxInt64/1000 && ms >= math.MinInt64/1000 }

// add takes one record into the data file, or sets it aside.
func (r *run) add(rec record.Record) error {
	if rec.Offset < r.next || rec.Offset >= r.job.Next {
		return fmt.Errorf("offset %d is not in what is left of the range, [%d,%d)", rec.Offset, r.next, r.job.Next)
	}
	r.next = rec.Offset + 1
	r.row.Record, r.row.reason, r.row.detail = rec, "", ""
	var rej *decode.Reject
	var err error
	if !inMicros(rec.Timestamp) {
		rej = &decode.Reject{Reason: decode.NoFit, Detail: fmt.Sprintf("column %q: %d ms is out of range", "kafka_timestamp", rec.Timestamp)}
	} else {
		rej, err = r.data.add(&r.row)
	}
	if err == nil && rej != nil {
		r.row.reason, r.row.detail = string(rej.Reason), rej.Detail
		_, err = r.dead.add(&r.row)
	}
	if err != nil {
		return fmt.Errorf("offset %d: %w", rec.Offset, err)
	}
	r.digest.add(&r.row)
	return nil
}

// finish closes the files and makes the record of the range.
func (r *run) finish() (manifest.Encoded, error) {
	d := manifest.Description{
		Table: r.job.Table, Partition: r.job.Partition, Range: r.job.Range, Attempt: r.job.Attempt,
		Schema: r.job.Schema, LeaderEpoch: r.epoch, Digest: r.digest.sum(),
	}
	d.Counts.Rows, d.Counts.Dead, d.Counts.Lost = r.data.total(), r.dead.total(), r.job.Lost
	if d.Counts.Absent = d.Len() - d.Counts.Sum(); d.Counts.Absent < 0 {
		return manifest.Encoded{}, fmt.Errorf("%d records and %d lost positions are more than the range has", d.Counts.Rows+d.Counts.Dead, r.job.Lost)
	}
	out := manifest.Encoded{Bodies: map[string][]byte{}, Record: manifest.RangeRecord{
		Range: d.Range, Generation: d.Partition.Generation, Attempt: d.Attempt,
		Schema: d.Schema, LeaderEpoch: d.LeaderEpoch, Counts: d.Counts,
	}}
	name := manifest.Name{Partition: d.Partition, Range: d.Range, Attempt: d.Attempt}
	var err error
	if out.Record.Data, err = r.seal(r.data, name.Data(), d, out.Bodies); err != nil {
		return manifest.Encoded{}, err
	}
	if out.Record.Dead, err = r.seal(r.dead, name.Dead(), d, out.Bodies); err != nil {
		return manifest.Encoded{}, err
	}
	return out, nil
}

// total returns the rows of a file, those of the open step included.
func (f *file) total() int64 { return f.rows + int64(f.shred.rows) }

// seal closes a file that has rows, and compares what it says of itself with
// what it should.
func (r *run) seal(f *file, key string, d manifest.Description, bodies map[string][]byte) ([]manifest.File, error) {
	rows := f.total()
	if rows == 0 {
		return nil, nil
	}
	body, err := f.close(metadata(d))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	got, err := describe(key, body)
	if err != nil {
		return nil, err
	}
	if got.File.Rows != rows {
		return nil, fmt.Errorf("%s has %d rows in its footer, %d were written: a defect of the library", key, got.File.Rows, rows)
	}
	bodies[key] = body
	return []manifest.File{got.File}, nil
}

// Vacant returns a file without rows, with the footer of the job, for a key of
// an earlier attempt. Its counts are zero: it takes no part in any.
func (e *Encoder) Vacant(job manifest.Job, key string) ([]byte, error) {
	if err := e.check(job); err != nil {
		return nil, fmt.Errorf("make empty file %s: %w", key, err)
	}
	_, dead, err := manifest.Parse(key)
	if err != nil {
		return nil, fmt.Errorf("make empty file: %w", err)
	}
	f := newFile(e.data)
	if dead {
		f = newFile(e.dead)
	}
	body, err := f.close(metadata(manifest.Description{
		Table: job.Table, Partition: job.Partition, Range: job.Range, Attempt: job.Attempt, Schema: job.Schema, LeaderEpoch: -1,
	}))
	if err != nil {
		return nil, fmt.Errorf("make empty file %s: %w", key, err)
	}
	return body, nil
}

// Describe reads back what the footer of a file says, from its bytes alone.
func (e *Encoder) Describe(key string, body []byte) (manifest.Description, error) {
	return describe(key, body)
}
