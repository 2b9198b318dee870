package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/lakeweir/lakeweir/record"
)

// Sizes of the record batch format, version 2
// (https://kafka.apache.org/documentation/#recordbatch).
const (
	headerBytes = 61 // up to the records
	lengthBytes = 12 // base offset and length: what length does not count
	minRecord   = 7  // a record of nulls without headers
)

// Bits of a batch's attributes.
const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errCRC means that the bytes of a batch are not those that the producer sent.
var errCRC = errors.New("checksum of the batch does not match its bytes")

// header is what stands before the records of a batch.
type header struct {
	base, last int64 // last is the last offset of the batch as written, whatever compaction left
	size       int   // bytes of the whole batch
	epoch      int32 // of the leader that wrote it
	crc        uint32
	attributes int16
	first, max int64 // timestamps
	producer   int64
	count      int32
	incomplete bool // the batch goes on after the end of the bytes
}

func (h header) codec() int16        { return h.attributes & attrCodec }
func (h header) control() bool       { return h.attributes&attrControl != 0 }
func (h header) transactional() bool { return h.attributes&attrTransactional != 0 }
func (h header) logAppendTime() bool { return h.attributes&attrLogAppendTime != 0 }
func (h header) next() int64         { return h.last + 1 }

// parseHeader reads the header of the batch that raw begins with. A batch that
// raw does not hold whole is incomplete, which is no error: a response may end
// in one. Its size is known then if raw holds that much.
func parseHeader(raw []byte) (header, error) {
	be := binary.BigEndian
	if len(raw) < lengthBytes+5 {
		return header{incomplete: true}, nil
	}
	h := header{base: int64(be.Uint64(raw))}
	if m := raw[16]; m < 2 {
		return h, fmt.Errorf("message format v%d, written before Kafka 0.11: copy the topic with a newer producer or let retention remove these messages", m)
	} else if m > 2 {
		return h, fmt.Errorf("message format v%d, newer than this program", m)
	}
	n := int64(int32(be.Uint32(raw[8:])))
	if n < headerBytes-lengthBytes {
		return h, fmt.Errorf("batch length %d", n)
	}
	if h.size = int(n) + lengthBytes; h.size > len(raw) {
		h.incomplete = true
		return h, nil
	}
	delta := int64(int32(be.Uint32(raw[23:])))
	if delta < 0 || h.base < 0 || h.base+delta < 0 || h.base+delta+1 < 0 {
		return h, fmt.Errorf("base offset %d with a last offset delta of %d", h.base, delta)
	}
	h.last = h.base + delta
	h.epoch = int32(be.Uint32(raw[12:]))
	h.crc = be.Uint32(raw[17:])
	h.attributes = int16(be.Uint16(raw[21:]))
	h.first, h.max = int64(be.Uint64(raw[27:])), int64(be.Uint64(raw[35:]))
	h.producer = int64(be.Uint64(raw[43:]))
	h.count = int32(be.Uint32(raw[57:]))
	return h, nil
}

// check compares the checksum, which covers all from the attributes on.
func (h header) check(raw []byte) error {
	if crc32.Checksum(raw[21:h.size], castagnoli) != h.crc {
		return errCRC
	}
	return nil
}

// decode returns the records of a checked batch from pos on, as a batch that
// accounts for [pos, h.next()). raw is not kept.
func (h header) decode(raw []byte, pos int64, c *codecs, limit int) (*record.Batch, error) {
	arena, err := c.inflate(h.codec(), raw[headerBytes:h.size], limit)
	if err != nil {
		return nil, err
	}
	if h.count < 0 || int64(h.count) > int64(len(arena)/minRecord) {
		return nil, fmt.Errorf("%d records in %d bytes", h.count, len(arena))
	}
	b := record.NewBatch(pos, arena)
	b.LeaderEpoch = h.epoch
	if h.logAppendTime() {
		b.TimestampType = record.LogAppendTime
	}
	b.Grow(int(h.count))
	at := 0
	for i := range h.count {
		if at, err = h.record(b, arena, at); err != nil {
			return nil, fmt.Errorf("record %d of the batch: %w", i, err)
		}
	}
	if at != len(arena) {
		return nil, fmt.Errorf("%d bytes after the last record", len(arena)-at)
	}
	b.Next = h.next()
	return b, nil
}

var errRecord = errors.New("a length or offset does not fit")

// record adds the record that begins in the arena at a place, and returns the
// place after it. Records below the start of b are left out.
func (h header) record(b *record.Batch, arena []byte, at int) (int, error) {
	size, n := binary.Varint(arena[at:])
	if n <= 0 || size < 0 || size > int64(len(arena)-at-n) {
		return 0, errRecord
	}
	end := at + n + int(size)
	body := arena[:end]
	if at += n + 1; at > end { // the attributes of a record are unused
		return 0, errRecord
	}
	ago, at, ok := varint(body, at)
	if !ok {
		return 0, errRecord
	}
	delta, at, ok := varint(body, at)
	if !ok || delta < 0 || delta > h.last-h.base {
		return 0, errRecord
	}
	key, at, ok := span(body, at)
	if !ok {
		return 0, errRecord
	}
	value, at, ok := span(body, at)
	if !ok {
		return 0, errRecord
	}
	headers := record.Span{At: at, Len: end - at}
	if err := record.Headers(body[at:]).Validate(); err != nil || headers.Len == 0 {
		return 0, errors.Join(errRecord, err)
	}
	if headers.Len == 1 { // a count of 0 and nothing else
		headers.Len = -1
	}
	offset, ts := h.base+delta, h.first+ago
	if h.logAppendTime() {
		ts = h.max
	}
	if offset < b.Start {
		return end, nil
	}
	return end, b.Add(offset, ts, key, value, headers)
}

// varint reads a zigzag varint.
func varint(b []byte, at int) (v int64, next int, ok bool) {
	v, n := binary.Varint(b[at:])
	return v, at + n, n > 0
}

// span reads a varint length and steps over that many bytes; -1 is null.
func span(b []byte, at int) (s record.Span, next int, ok bool) {
	n, at, ok := varint(b, at)
	if !ok || n < -1 || n > int64(len(b)-at) {
		return s, at, false
	}
	return record.Span{At: at, Len: int(n)}, at + int(max(n, 0)), true
}

// measure returns how many bytes of raw are whole batches, the position after
// them, and the size of the batch that is cut off if there is one. What does
// not parse counts as whole: reading it gives the error, in its turn.
func measure(raw []byte, pos int64) (whole int, next int64, cut int, broken bool) {
	next = pos
	for whole < len(raw) {
		h, err := parseHeader(raw[whole:])
		if err != nil {
			return len(raw), next, 0, true
		}
		if h.incomplete {
			return whole, next, h.size, false
		}
		whole += h.size
		next = max(next, h.next())
	}
	return whole, next, 0, false
}
