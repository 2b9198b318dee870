package source

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/lakeweir/lakeweir/record"
)

// testRecord is a record of a testBatch; nil is null.
type testRecord struct {
	delta, ago int64 // offset and timestamp, from those of the batch
	key, value []byte
	headers    record.Headers
}

// testBatch is a record batch as a broker may send it, hostile ones included.
type testBatch struct {
	base, last int64
	attributes int16
	first, max int64
	producer   int64
	epoch      int32
	magic      byte // 0 means 2
	records    []testRecord
	body       []byte // instead of the records, if not nil
	count      int32  // instead of the number of records, if not 0
	damage     bool   // flips a bit after the checksum was made
	raw        []byte // instead of all of it, if not nil
}

// plainBatch is a batch of n records from base on, with the values name and
// their offset.
func plainBatch(base int64, n int, name string) testBatch {
	b := testBatch{base: base, last: base + int64(n) - 1, first: 1000, max: 1000, producer: -1}
	for i := range n {
		b.records = append(b.records, testRecord{delta: int64(i), key: []byte("k"), value: fmt.Appendf(nil, "%s%d", name, base+int64(i))})
	}
	return b
}

// marker is the control batch that ends a transaction.
func marker(offset, producer int64, commit bool) testBatch {
	key := []byte{0, 0, 0, 0}
	if commit {
		key[3] = 1
	}
	return testBatch{
		base: offset, last: offset, attributes: attrControl | attrTransactional, producer: producer,
		records: []testRecord{{key: key, value: make([]byte, 6)}},
	}
}

// inTransaction makes a batch part of a producer's transaction.
func (b testBatch) inTransaction(producer int64) testBatch {
	b.attributes |= attrTransactional
	b.producer = producer
	return b
}

func appendField(b, field []byte) []byte {
	if field == nil {
		return binary.AppendVarint(b, -1)
	}
	return append(binary.AppendVarint(b, int64(len(field))), field...)
}

func encodeRecords(rs []testRecord) []byte {
	var body []byte
	for _, r := range rs {
		x := binary.AppendVarint([]byte{0}, r.ago)
		x = binary.AppendVarint(x, r.delta)
		x = appendField(appendField(x, r.key), r.value)
		if r.headers == nil {
			x = append(x, 0)
		}
		x = append(x, r.headers...)
		body = append(binary.AppendVarint(body, int64(len(x))), x...)
	}
	return body
}

func (b testBatch) encode() []byte {
	if b.raw != nil {
		return b.raw
	}
	body, count := b.body, int32(len(b.records))
	if body == nil {
		body = encodeRecords(b.records)
	}
	if b.count != 0 {
		count = b.count
	}
	magic := b.magic
	if magic == 0 {
		magic = 2
	}
	o := appendInt64(nil, b.base)
	o = appendInt32(o, int32(headerBytes-lengthBytes+len(body)))
	o = append(appendInt32(o, b.epoch), magic)
	o = appendInt32(o, 0)
	o = appendInt16(o, b.attributes)
	o = appendInt32(o, int32(b.last-b.base))
	o = appendInt64(appendInt64(o, b.first), b.max)
	o = appendInt16(appendInt64(o, b.producer), 0)
	o = appendInt32(appendInt32(o, -1), count)
	o = append(o, body...)
	binary.BigEndian.PutUint32(o[17:], crc32.Checksum(o[21:], castagnoli))
	if b.damage {
		o[len(o)-3] ^= 0x20
	}
	return o
}
