package source

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/lakeweir/lakeweir/internal/lz4size"
	"github.com/pierrec/lz4/v4"
)

// Parts of an LZ4 frame (https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md).
const (
	lz4Magic       = 0x184D2204
	lz4Version     = 0x40 // of two bits of the flags
	lz4Independent = 0x20 // a block does not refer to the one before it
	lz4BlockSum    = 0x10 // a checksum follows each block
	lz4Size        = 0x08 // the header has the size
	lz4Sum         = 0x04 // a checksum follows the last block
	lz4Odd         = 0x03 // reserved, and a dictionary
	lz4Stored      = 1 << 31
)

var errNotPlain = errors.New("not one frame of independent blocks")

// lz4Blocks calls do with each block of a frame as producers write it, and
// returns errNotPlain for any other, which the library can read. Checksums are
// passed over: that of the batch was over all of it.
func lz4Blocks(frame []byte, do func(block []byte, stored bool) error) error {
	if len(frame) < 7 || binary.LittleEndian.Uint32(frame) != lz4Magic {
		return errNotPlain
	}
	flags := frame[4]
	if flags&(0xC0|lz4Independent|lz4Odd) != lz4Version|lz4Independent {
		return errNotPlain
	}
	head := 7
	if flags&lz4Size != 0 {
		head += 8
	}
	for at := head; len(frame)-at >= 4; {
		size := binary.LittleEndian.Uint32(frame[at:])
		at += 4
		if size == 0 {
			if flags&lz4Sum != 0 {
				at += 4
			}
			if at != len(frame) {
				return errNotPlain
			}
			return nil
		}
		stored := size&lz4Stored != 0
		size &^= lz4Stored
		if int64(size) > int64(len(frame)-at) {
			return errNotPlain
		}
		if err := do(frame[at:at+int(size)], stored); err != nil {
			return err
		}
		at += int(size)
		if flags&lz4BlockSum != 0 {
			at += 4
		}
	}
	return errNotPlain
}

// inflatePlainLZ4 inflates a frame into memory of exactly its size: the blocks
// are measured first.
func inflatePlainLZ4(frame []byte, limit int) ([]byte, error) {
	total := uint64(0)
	err := lz4Blocks(frame, func(block []byte, stored bool) error {
		n, ok := uint64(len(block)), true
		if !stored {
			n, ok = lz4size.Of(block)
		}
		if total += n; !ok {
			return errNotPlain
		}
		if total > uint64(limit) {
			return errTooLarge
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]byte, total)
	n, err := inflateLZ4Blocks(frame, out)
	if err == nil && n < len(out) {
		err = fmt.Errorf("lz4: %d bytes are missing", len(out)-n)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// guessLZ4 inflates a frame into memory of about its size, as the frame before
// it lets expect; ok is false if that was no good guess. Measuring costs half as
// much as inflating.
func (c *codecs) guessLZ4(frame []byte, limit int) (out []byte, ok bool) {
	size := int(float64(len(frame)) * c.ratio * 33 / 32)
	if size == 0 || size > limit {
		return nil, false
	}
	out = make([]byte, size)
	n, err := inflateLZ4Blocks(frame, out)
	return out[:n], err == nil && n > size-size/8
}

// inflateLZ4Blocks inflates a frame into out and returns how much there is.
func inflateLZ4Blocks(frame, out []byte) (n int, err error) {
	err = lz4Blocks(frame, func(block []byte, stored bool) error {
		if stored {
			if len(block) > len(out)-n {
				return lz4.ErrInvalidSourceShortBuffer
			}
			n += copy(out[n:], block)
			return nil
		}
		m, err := lz4.UncompressBlock(block, out[n:])
		if err != nil {
			return fmt.Errorf("lz4: %w", err)
		}
		n += m
		return nil
	})
	return n, err
}
