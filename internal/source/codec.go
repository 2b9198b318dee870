package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Ids of the codecs in a batch's attributes.
const (
	codecNone   int16 = 0
	codecGzip   int16 = 1
	codecSnappy int16 = 2
	codecLZ4    int16 = 3
	codecZstd   int16 = 4
)

// errTooLarge is returned for a batch that inflates beyond the limit.
var errTooLarge = errors.New("batch inflates beyond the limit")

// errCodec is returned for a codec that this program does not know.
var errCodec = errors.New("unknown compression codec")

// codecs holds the state of the decompressors of one goroutine.
type codecs struct {
	in    bytes.Reader
	out   []byte // grows to the size of batches whose size is not told
	gzip  *gzip.Reader
	lz4   *lz4.Reader
	ratio float64 // of LZ4: by how much the last frame grew
	zstd  *zstd.Decoder
	max   int // that zstd was made for
}

// codecPool lends codecs to whoever decodes, so that hundreds of partitions
// share as many decompressors as run at once.
var codecPool = sync.Pool{New: func() any { return new(codecs) }}

// inflate returns the decompressed bytes of body in memory of their own, at
// most limit of them.
func (c *codecs) inflate(codec int16, body []byte, limit int) ([]byte, error) {
	if len(body) == 0 {
		return nil, nil // kept empty by compaction, whatever the codec
	}
	switch codec {
	case codecNone:
		if len(body) > limit {
			return nil, errTooLarge
		}
		return bytes.Clone(body), nil
	case codecGzip:
		return c.inflateGzip(body, limit)
	case codecSnappy:
		return inflateSnappy(body, limit)
	case codecLZ4:
		return c.inflateLZ4(body, limit)
	case codecZstd:
		return c.inflateZstd(body, limit)
	}
	return nil, fmt.Errorf("%w %d", errCodec, codec)
}

func (c *codecs) inflateGzip(body []byte, limit int) ([]byte, error) {
	c.in.Reset(body)
	var err error
	if c.gzip == nil {
		c.gzip, err = gzip.NewReader(&c.in)
	} else {
		err = c.gzip.Reset(&c.in)
	}
	if err != nil {
		c.gzip = nil
		return nil, fmt.Errorf("gzip: %w", err)
	}
	return c.drain("gzip", c.gzip, limit)
}

func (c *codecs) inflateLZ4(body []byte, limit int) ([]byte, error) {
	if out, ok := c.guessLZ4(body, limit); ok {
		c.ratio = float64(len(out)) / float64(len(body))
		return out, nil
	}
	if out, err := inflatePlainLZ4(body, limit); !errors.Is(err, errNotPlain) {
		c.ratio = float64(len(out)) / float64(len(body))
		return out, err
	}
	c.in.Reset(body)
	if c.lz4 == nil {
		c.lz4 = lz4.NewReader(&c.in)
	} else {
		c.lz4.Reset(&c.in)
	}
	return c.drain("lz4", c.lz4, limit)
}

// drain reads r to its end and returns an exact copy: the size is not known
// before, and what a batch holds on to is charged.
func (c *codecs) drain(name string, r io.Reader, limit int) ([]byte, error) {
	if len(c.out) == 0 {
		c.out = make([]byte, 64<<10)
	}
	for n := 0; ; {
		m, err := r.Read(c.out[n:])
		n += m
		switch {
		case n > limit:
			return nil, errTooLarge
		case errors.Is(err, io.EOF):
			out := bytes.Clone(c.out[:n])
			c.keep(c.out)
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		case n == len(c.out):
			c.out = append(c.out, make([]byte, len(c.out))...)
		}
	}
}

// xerial is the framing that Java's snappy library puts around blocks: this
// magic, two versions, then blocks with a length in front of each.
var xerial = []byte("\x82SNAPPY\x00")

const xerialHeader = 16

func inflateSnappy(body []byte, limit int) ([]byte, error) {
	if !bytes.HasPrefix(body, xerial) || len(body) < xerialHeader {
		n, err := s2.DecodedLen(body)
		if err != nil {
			return nil, fmt.Errorf("snappy: %w", err)
		}
		if n > limit {
			return nil, errTooLarge
		}
		return snappyBlock(make([]byte, 0, n), body)
	}
	total := 0
	err := xerialBlocks(body, func(block []byte) error {
		n, err := s2.DecodedLen(block)
		if total += n; err == nil && total > limit {
			err = errTooLarge
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("snappy: %w", err)
	}
	out := make([]byte, 0, total)
	err = xerialBlocks(body, func(block []byte) error {
		var err error
		out, err = snappyBlock(out, block)
		return err
	})
	return out, err
}

// snappyBlock decodes a block into the free capacity of out.
func snappyBlock(out, block []byte) ([]byte, error) {
	d, err := s2.Decode(out[len(out):cap(out)], block)
	if err != nil {
		return nil, fmt.Errorf("snappy: %w", err)
	}
	return out[:len(out)+len(d)], nil
}

func xerialBlocks(body []byte, do func(block []byte) error) error {
	for body = body[xerialHeader:]; len(body) > 0; {
		if len(body) < 4 {
			return errShort
		}
		n := int64(int32(binary.BigEndian.Uint32(body)))
		if body = body[4:]; n < 0 || n > int64(len(body)) {
			return errShort
		}
		if err := do(body[:n]); err != nil {
			return err
		}
		body = body[n:]
	}
	return nil
}

// zstdMemory is the least that the decoder may use: its limit is also one on
// the window that a frame names, however little is in the frame.
const zstdMemory = 64 << 20

func (c *codecs) inflateZstd(body []byte, limit int) ([]byte, error) {
	if c.zstd == nil || c.max != limit {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(uint64(max(limit, zstdMemory))))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		c.zstd, c.max = d, limit
	}
	var h zstd.Header
	if err := h.Decode(body); err == nil && h.HasFCS {
		if h.FrameContentSize > uint64(limit) {
			return nil, errTooLarge
		}
		// A told size that is not absurd is allocated at once: no copy.
		if n := int(h.FrameContentSize); n <= max(eagerBytes, 100*len(body)) {
			out, err := c.zstd.DecodeAll(body, make([]byte, 0, n))
			return settleZstd(out, err, limit)
		}
	}
	out, err := c.zstd.DecodeAll(body, c.out[:0])
	if out, err = settleZstd(out, err, limit); err != nil {
		return nil, err
	}
	c.keep(out)
	return bytes.Clone(out), nil
}

func settleZstd(out []byte, err error, limit int) ([]byte, error) {
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || len(out) > limit {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return out, nil
}

// maxScratch is the largest buffer kept between batches: it is charged to
// nobody.
const maxScratch = 8 << 20

func (c *codecs) keep(out []byte) {
	if c.out = out[:cap(out)]; len(c.out) > maxScratch {
		c.out = nil
	}
}
