package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// errShort is the error of a message that ends before its last field.
var errShort = errors.New("message ends before its last field")

// eagerBytes is how much memory a length on the wire may claim before the
// bytes themselves have come.
const eagerBytes = 4 << 20

// decoder reads the fields of one message of known size from a stream. After
// the first error it returns zeros, so callers check err once at the end.
type decoder struct {
	r    io.Reader
	left int // bytes of the message not read yet
	err  error
	buf  [32]byte
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.left = 0
}

// fixed reads n <= 32 bytes.
func (d *decoder) fixed(n int) []byte {
	b := d.buf[:n]
	if d.left < n {
		d.fail(errShort)
	}
	if d.err == nil {
		if _, err := io.ReadFull(d.r, b); err != nil {
			d.fail(err)
		}
	}
	if d.err != nil {
		clear(b)
		return b
	}
	d.left -= n
	return b
}

func (d *decoder) int8() int8   { return int8(d.fixed(1)[0]) }
func (d *decoder) int16() int16 { return int16(binary.BigEndian.Uint16(d.fixed(2))) }

// code reads an error code. One that tells of an expired login makes the whole
// message an error, and so ends the connection that it came by.
func (d *decoder) code() int16 {
	code := d.int16()
	if expired(code) {
		d.fail(codeError(code))
	}
	return code
}

func (d *decoder) int32() int32 { return int32(binary.BigEndian.Uint32(d.fixed(4))) }
func (d *decoder) int64() int64 { return int64(binary.BigEndian.Uint64(d.fixed(8))) }

// uvarint reads an unsigned varint that fits 31 bits: Kafka's lengths do.
func (d *decoder) uvarint() int {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := d.fixed(1)[0]
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v > math.MaxInt32 {
				break
			}
			return int(v)
		}
	}
	d.fail(errors.New("varint out of range"))
	return 0
}

// bytes reads n bytes into memory of its own; n < 0 is null.
func (d *decoder) bytes(n int) []byte {
	if n < 0 || d.err != nil {
		return nil
	}
	if n > d.left {
		d.fail(errShort)
		return nil
	}
	b := make([]byte, min(n, eagerBytes))
	for at := 0; ; {
		if _, err := io.ReadFull(d.r, b[at:]); err != nil {
			d.fail(err)
			return nil
		}
		if at = len(b); at == n {
			d.left -= n
			return b
		}
		// What came so far is the bound for what is believed next.
		b = append(b, make([]byte, min(n-at, at))...)
	}
}

// skip drops n bytes.
func (d *decoder) skip(n int) {
	if n <= 0 || d.err != nil {
		return
	}
	if n > d.left {
		d.fail(errShort)
		return
	}
	if n <= len(d.buf) { // a list of replicas: a copier would cost more than it
		d.fixed(n)
		return
	}
	if _, err := io.CopyN(io.Discard, d.r, int64(n)); err != nil {
		d.fail(err)
		return
	}
	d.left -= n
}

// string reads a string with an int16 length, or a compact one; null is "".
func (d *decoder) string(compact bool) string {
	if compact {
		return string(d.bytes(d.uvarint() - 1))
	}
	return string(d.bytes(int(d.int16())))
}

// count reads the length of an array whose elements take at least size bytes
// each. Null is 0.
func (d *decoder) count(compact bool, size int) int {
	n := 0
	if compact {
		n = d.uvarint() - 1
	} else {
		n = int(d.int32())
	}
	if n > 0 && n > d.left/size {
		d.fail(fmt.Errorf("array of %d elements in %d bytes", n, d.left))
		return 0
	}
	return max(n, 0)
}

// int32s skips an array of int32.
func (d *decoder) int32s(compact bool) { d.skip(4 * d.count(compact, 4)) }

// tags skips the tagged fields that end every flexible structure.
func (d *decoder) tags(flexible bool) {
	if !flexible {
		return
	}
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		d.uvarint()
		d.skip(d.uvarint())
	}
}

func appendString(b []byte, s string, compact bool) []byte {
	if compact {
		return append(binary.AppendUvarint(b, uint64(len(s)+1)), s...)
	}
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

func appendInt16(b []byte, v int16) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }
func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func appendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}
