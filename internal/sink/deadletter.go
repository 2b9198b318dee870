package sink

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strconv"

	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// Headers of a record in the dead-letter topic. They come behind those of the
// source, which may have such names too: the last one of a name is ours.
const (
	headerTopic         = "lakeweir.topic"
	headerPartition     = "lakeweir.partition"
	headerOffset        = "lakeweir.offset"
	headerTimestamp     = "lakeweir.timestamp" // milliseconds since 1970; empty when there is none
	headerTimestampType = "lakeweir.timestamp_type"
	headerReason        = "lakeweir.reason"
	headerDetail        = "lakeweir.detail"
	headerFile          = "lakeweir.file"     // where it also is, from the root of the store
	headerLeftOut       = "lakeweir.left_out" // parts that the topic is too small for
)

// A batch of dead letters ends at one of these. The size is half of what a
// topic takes by default (max.message.bytes, 1 MiB).
const (
	maxLetters     = 1000
	maxLetterBytes = 512 << 10
)

// lettersAtOnce is how many dead-letter files of a process are read back at
// once. Each takes a page and a few batches in memory, however many partitions
// have dead letters.
const lettersAtOnce = 8

// letters publishes dead letters to their topic.
type letters struct {
	producer *source.Producer
	slots    chan struct{} // of lettersAtOnce
	log      *slog.Logger
}

// check returns an error that ends a start, in one line.
func (d *letters) check(ctx context.Context) error {
	if err := d.producer.Check(ctx); err != nil {
		return fmt.Errorf("dead_letter.topic: %w", err)
	}
	return nil
}

// of returns the Rejected of the writers of a table.
func (d *letters) of(table string) func(context.Context, string, iter.Seq2[manifest.DeadLetter, error]) (int64, error) {
	return func(ctx context.Context, key string, all iter.Seq2[manifest.DeadLetter, error]) (done int64, err error) {
		select {
		case d.slots <- struct{}{}:
			defer func() { <-d.slots }()
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		file := table + "/" + key
		var batch []manifest.DeadLetter
		var size int64
		for l, err := range all {
			if err != nil {
				return done, err
			}
			batch, size = append(batch, l), size+l.Raw()
			if len(batch) < maxLetters && size < maxLetterBytes {
				continue
			}
			n, err := d.send(ctx, file, batch)
			if done += n; err != nil {
				return done, err
			}
			clear(batch) // else large letters stay until as many have come again
			batch, size = batch[:0], 0
		}
		n, err := d.send(ctx, file, batch)
		return done + n, err
	}
}

// send publishes letters of one partition as one batch, or as smaller ones if
// the topic takes none as large. It returns how many are out.
func (d *letters) send(ctx context.Context, file string, batch []manifest.DeadLetter) (int64, error) {
	if len(batch) == 0 {
		return 0, nil
	}
	records := make([]record.Record, len(batch))
	for i, l := range batch {
		records[i] = posted(l, file, "")
	}
	err := d.producer.Publish(ctx, batch[0].Partition, records)
	switch {
	case err == nil:
		return int64(len(batch)), nil
	case !errors.Is(err, source.ErrTooLarge):
		return 0, err
	case len(batch) == 1:
		return d.sendPart(ctx, file, batch[0])
	}
	half := len(batch) / 2
	first, err := d.send(ctx, file, batch[:half])
	if err != nil {
		return first, err
	}
	second, err := d.send(ctx, file, batch[half:])
	return first + second, err
}

// sendPart publishes what the topic has room for of a letter that it does not
// take whole. The rest is in the dead-letter file, which it names: to wait for
// a larger topic would hold the partition back for ever.
func (d *letters) sendPart(ctx context.Context, file string, l manifest.DeadLetter) (int64, error) {
	value, rest := l, l
	value.Value = []byte{} // null would delete the key in a compacted topic
	rest.Value, rest.Headers = []byte{}, nil
	rest.Key = fmt.Appendf(nil, "%s/%d/%d", l.Topic, l.Partition, l.Offset) // a compacted topic takes none without a key
	err := d.producer.Publish(ctx, l.Partition, []record.Record{posted(value, file, "value")})
	if errors.Is(err, source.ErrTooLarge) {
		err = d.producer.Publish(ctx, l.Partition, []record.Record{posted(rest, file, "key,value,headers")})
	}
	if err != nil {
		return 0, err
	}
	d.log.Warn("a dead letter is larger than its topic takes: parts of it are in the file only",
		"topic", l.Topic, "partition", l.Partition, "offset", l.Offset, "bytes", l.Raw(), "file", file)
	return 1, nil
}

// posted returns a dead letter as a record of the topic.
func posted(l manifest.DeadLetter, file, leftOut string) record.Record {
	timestamp := ""
	if l.Timestamp != record.NoTimestamp {
		timestamp = strconv.FormatInt(l.Timestamp, 10)
	}
	var hs []record.Header
	for h := range l.Headers.All() {
		hs = append(hs, h)
	}
	add := func(key, value string) { hs = append(hs, record.Header{Key: []byte(key), Value: []byte(value)}) }
	add(headerTopic, l.Topic)
	add(headerPartition, strconv.Itoa(int(l.Partition)))
	add(headerOffset, strconv.FormatInt(l.Offset, 10))
	add(headerTimestamp, timestamp)
	add(headerTimestampType, l.TimestampType.String())
	add(headerReason, l.Reason)
	add(headerDetail, l.Detail)
	add(headerFile, file)
	if leftOut != "" {
		add(headerLeftOut, leftOut)
	}
	return record.Record{Key: l.Key, Value: l.Value, Headers: record.NewHeaders(hs...)}
}
