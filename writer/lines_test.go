package writer_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/writer"
)

// lines is an Encoder: an object is a header in JSON and then an offset a line.
//
// The letter of the software says how it lays records out: A and a in one
// object, but other bytes; B by parity in the objects x and y, C in y and x;
// D puts the first record in x and the others in y; R is A with one of two byte
// strings at random.
type lines struct {
	software string
	laidOut  func(manifest.Range) // told of each Encode
}

// header is what an object says of itself.
type header struct {
	Software string
	Coin     int
	Range    manifest.Range
	Attempt  int
	Schema   int
	Counts   manifest.Counts
}

func (l lines) Encode(_ context.Context, job manifest.Job) (manifest.Encoded, error) {
	if l.laidOut != nil {
		l.laidOut(job.Range)
	}
	rows, counts := l.place(job)
	head := header{Software: l.software, Range: job.Range, Attempt: job.Attempt, Schema: job.Schema, Counts: counts}
	if l.software == "R" {
		head.Coin = rand.IntN(2)
	}
	out := manifest.Encoded{Bodies: map[string][]byte{}, Record: manifest.RangeRecord{
		Range: job.Range, Attempt: job.Attempt, Schema: job.Schema, Counts: counts,
	}}
	for key, offsets := range rows {
		body := encodeLines(head, offsets)
		out.Bodies[key] = body
		f := manifest.File{Key: key, Rows: int64(len(offsets)), Bytes: int64(len(body)), SHA256: sha256.Sum256(body)}
		if strings.HasPrefix(key, "dead/") {
			out.Record.Dead = append(out.Record.Dead, f)
		} else {
			out.Record.Data = append(out.Record.Data, f)
		}
	}
	return out, nil
}

// place returns the offsets of each object of a job.
func (l lines) place(job manifest.Job) (map[string][]int64, manifest.Counts) {
	rows := map[string][]int64{}
	counts := manifest.Counts{Lost: job.Lost}
	name := manifest.Name{Partition: job.Partition, Range: job.Range, Attempt: job.Attempt}
	for _, b := range job.Batches {
		for r := range b.All() {
			n := name
			if string(r.Value) == "bad" && l.software != "D" {
				rows[n.Dead()] = append(rows[n.Dead()], r.Offset)
				counts.Dead++
				continue
			}
			switch l.software {
			case "B":
				n.Hive = "half=" + "xy"[r.Offset%2:r.Offset%2+1]
			case "C":
				n.Hive = "half=" + "yx"[r.Offset%2:r.Offset%2+1]
			}
			if l.software == "D" {
				n.Hive = "half=" + [...]string{"x", "y"}[min(counts.Rows, 1)]
			}
			rows[n.Data()] = append(rows[n.Data()], r.Offset)
			counts.Rows++
		}
	}
	counts.Absent = job.Len() - counts.Sum()
	return rows, counts
}

func (l lines) Vacant(job manifest.Job, key string) ([]byte, error) {
	return encodeLines(header{Software: l.software, Range: job.Range, Attempt: job.Attempt}, nil), nil
}

func (l lines) Describe(key string, body []byte) (manifest.Description, error) {
	h, offsets, err := decodeLines(body)
	return manifest.Description{
		Range: h.Range, Attempt: h.Attempt, Schema: h.Schema, Counts: h.Counts, Digest: h.Software, LeaderEpoch: -1,
		File: manifest.File{Key: key, Rows: int64(len(offsets)), Bytes: int64(len(body)), SHA256: sha256.Sum256(body)},
	}, err
}

func encodeLines(h header, offsets []int64) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	_ = e.Encode(h) // into a buffer, of types that encode
	for _, o := range offsets {
		fmt.Fprintln(&b, o)
	}
	return b.Bytes()
}

func decodeLines(body []byte) (h header, offsets []int64, err error) {
	first, rest, _ := bytes.Cut(body, []byte("\n"))
	if err := json.Unmarshal(first, &h); err != nil {
		return h, nil, err
	}
	for line := range strings.Lines(string(rest)) {
		var o int64
		if _, err := fmt.Sscan(line, &o); err != nil {
			return h, nil, err
		}
		offsets = append(offsets, o)
	}
	return h, offsets, nil
}

// encoder returns what Config.NewEncoder wants.
func (l lines) encoder(manifest.Schema) (writer.Encoder, error) { return l, nil }
