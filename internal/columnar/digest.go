package columnar

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/zeebo/xxh3"
)

// digest is the hash of the records of a range and of what was decided on
// each. Two layouts of the same records have the same digest, if the schema is
// the same; files that differ in it are not of one reading of the log.
type digest struct {
	hash *xxh3.Hasher
	buf  []byte
}

func (d *digest) init() { d.hash = xxh3.New() }

// add takes offset, timestamp and its type, then the reason, key, value and
// headers, each with its length in front; null has a length of its own. Of the
// value it takes a hash: of all of it at once that is cheaper.
func (d *digest) add(r *row) {
	b := binary.LittleEndian.AppendUint64(d.buf[:0], uint64(r.Offset))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Timestamp))
	b = append(b, byte(r.TimestampType))
	b = appendLength(b, len(r.reason), false)
	b = append(b, r.reason...)
	b = appendLength(b, len(r.Key), r.Key == nil)
	b = appendLength(b, len(r.Value), r.Value == nil)
	b = appendLength(b, len(r.Headers), false)
	value := xxh3.Hash128(r.Value)
	b = binary.LittleEndian.AppendUint64(b, value.Lo)
	b = binary.LittleEndian.AppendUint64(b, value.Hi)
	b = append(b, r.Key...)
	d.buf = append(b, r.Headers...)
	_, _ = d.hash.Write(d.buf) // a hash does not fail
}

func appendLength(b []byte, n int, null bool) []byte {
	if null {
		n = -1
	}
	return binary.LittleEndian.AppendUint32(b, uint32(int32(n)))
}

// sum returns 32 hex digits.
func (d *digest) sum() string {
	s := d.hash.Sum128().Bytes()
	return hex.EncodeToString(s[:])
}
