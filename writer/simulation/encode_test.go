package simulation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// encoder lays out records by the letter of a software: A and a make one
// object with other bytes; B and C divide the rows among two objects of the same
// names, each in its own way; R is A with other bytes each time.
type encoder struct {
	p        *process
	software string
}

// header is what an object says of itself.
type header struct {
	Software string
	Range    manifest.Range
	Attempt  int
	Schema   int
	Counts   manifest.Counts
	Epoch    int32 // of the last batch
}

// row is a line of an object: an offset, and the era of the log it is from.
type row struct {
	offset int64
	tag    byte
}

func (e encoder) Encode(ctx context.Context, job manifest.Job) (manifest.Encoded, error) {
	if _, err := e.p.call(ctx, "encode", job.Range.String(), nil); err != nil {
		return manifest.Encoded{}, err
	}
	rows, counts := e.place(job)
	head := header{Software: e.software, Range: job.Range, Attempt: job.Attempt, Schema: job.Schema, Counts: counts, Epoch: -1}
	if n := len(job.Batches); n > 0 {
		head.Epoch = job.Batches[n-1].LeaderEpoch
	}
	if e.software == "R" {
		e.p.coins++
		head.Software += fmt.Sprint(e.p.id, e.p.coins)
	}
	out := manifest.Encoded{Bodies: map[string][]byte{}, Record: manifest.RangeRecord{
		Range: job.Range, Generation: job.Partition.Generation, Attempt: job.Attempt, Schema: job.Schema, Counts: counts,
	}}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		body := write(head, rows[key])
		out.Bodies[key] = body
		f := manifest.File{Key: key, Rows: int64(len(rows[key])), Bytes: int64(len(body)), SHA256: sha256.Sum256(body)}
		if strings.HasPrefix(key, "dead/") {
			out.Record.Dead = append(out.Record.Dead, f)
		} else {
			out.Record.Data = append(out.Record.Data, f)
		}
	}
	return out, nil
}

// place returns the rows of each object of a job.
func (e encoder) place(job manifest.Job) (map[string][]row, manifest.Counts) {
	rows, counts := map[string][]row{}, manifest.Counts{Lost: job.Lost}
	for _, b := range job.Batches {
		for r := range b.All() {
			n := manifest.Name{Partition: job.Partition, Range: job.Range, Attempt: job.Attempt}
			kind, tag, _ := strings.Cut(string(r.Value), " ")
			line := row{r.Offset, tagFrom(tag)}
			if kind == "bad" {
				rows[n.Dead()] = append(rows[n.Dead()], line)
				counts.Dead++
				continue
			}
			switch e.software {
			case "B":
				n.Hive = "half=" + "xy"[r.Offset%2:r.Offset%2+1]
			case "C":
				n.Hive = "half=" + "yx"[r.Offset%2:r.Offset%2+1]
			}
			rows[n.Data()] = append(rows[n.Data()], line)
			counts.Rows++
		}
	}
	counts.Absent = job.Len() - counts.Sum()
	return rows, counts
}

// tagFrom reads the tag that a value ends with.
func tagFrom(s string) byte {
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil {
		panic(err) // read wrote it
	}
	return byte(n)
}

func (e encoder) Vacant(job manifest.Job, _ string) ([]byte, error) {
	return write(header{Software: e.software, Range: job.Range, Attempt: job.Attempt}, nil), nil
}

func (e encoder) Describe(key string, body []byte) (manifest.Description, error) {
	h, rows, err := read(body)
	return manifest.Description{
		Range: h.Range, Attempt: h.Attempt, Schema: h.Schema, Counts: h.Counts, Digest: h.Software[:1], LeaderEpoch: h.Epoch,
		File: manifest.File{Key: key, Rows: int64(len(rows)), Bytes: int64(len(body)), SHA256: sha256.Sum256(body)},
	}, err
}

// ReadDead implements writer.DeadReader. The partition of a letter is its log.
func (e encoder) ReadDead(body []byte) iter.Seq2[manifest.DeadLetter, error] {
	return func(yield func(manifest.DeadLetter, error) bool) {
		_, rows, err := read(body)
		for _, r := range rows {
			if !yield(manifest.DeadLetter{Record: record.Record{Offset: r.offset}, Partition: int32(r.tag)}, nil) {
				return
			}
		}
		if err != nil {
			yield(manifest.DeadLetter{}, err)
		}
	}
}

func write(h header, rows []row) []byte {
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // it is of types that encode
	}
	for _, r := range rows {
		b = fmt.Appendf(b, "\n%d %d", r.offset, r.tag)
	}
	return b
}

func read(body []byte) (h header, rows []row, err error) {
	first, rest, _ := bytes.Cut(body, []byte("\n"))
	if err := json.Unmarshal(first, &h); err != nil {
		return h, nil, err
	}
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		var r row
		if _, err := fmt.Sscan(string(line), &r.offset, &r.tag); err != nil {
			return h, nil, err
		}
		rows = append(rows, r)
	}
	return h, rows, nil
}
