package source

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

const codecXerial int16 = 100 // snappy in Java's framing, in tests only

// pack compresses as a producer does.
func pack(t testing.TB, codec int16, in []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var err error
	switch codec {
	case codecNone:
		return in
	case codecGzip:
		w := gzip.NewWriter(&out)
		_, err = w.Write(in)
		err = errors.Join(err, w.Close())
	case codecSnappy:
		return s2.EncodeSnappy(nil, in)
	case codecXerial:
		out.Write(xerial)
		out.Write([]byte{0, 0, 0, 1, 0, 0, 0, 1})
		for len(in) > 0 {
			n := min(len(in), 1000)
			block := s2.EncodeSnappy(nil, in[:n])
			out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(block))))
			out.Write(block)
			in = in[n:]
		}
	case codecLZ4:
		w := lz4.NewWriter(&out)
		_, err = w.Write(in)
		err = errors.Join(err, w.Close())
	case codecZstd:
		var w *zstd.Encoder
		w, err = zstd.NewWriter(&out)
		if err == nil {
			_, err = w.Write(in)
			err = errors.Join(err, w.Close())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// wire is the id that a batch carries for a codec of the tests.
func wire(codec int16) int16 {
	if codec == codecXerial {
		return codecSnappy
	}
	return codec
}

var allCodecs = []int16{codecNone, codecGzip, codecSnappy, codecXerial, codecLZ4, codecZstd}

// One codecs value serves batches of all codecs and sizes in any order.
func TestInflate(t *testing.T) {
	var c codecs
	for _, size := range []int{1, 10, 70_000, 3, 1 << 20, 100} {
		in := []byte(strings.Repeat("0123456789", size/10+1)[:size])
		for _, codec := range allCodecs {
			out, err := c.inflate(wire(codec), pack(t, codec, in), 2<<20)
			if err != nil || !bytes.Equal(out, in) {
				t.Errorf("codec %d, %d bytes: %d bytes, %v", codec, size, len(out), err)
			}
		}
	}
}

// The result is memory of its own: the next batch does not change it.
func TestInflateOwns(t *testing.T) {
	var c codecs
	for _, codec := range allCodecs {
		body := pack(t, codec, bytes.Repeat([]byte("a"), 5000))
		out, err := c.inflate(wire(codec), body, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		clear(body)
		if _, err := c.inflate(wire(codec), pack(t, codec, bytes.Repeat([]byte("b"), 5000)), 1<<20); err != nil {
			t.Fatal(err)
		}
		if bytes.Count(out, []byte("a")) != 5000 {
			t.Errorf("codec %d: result changed", codec)
		}
	}
}

func TestInflateLimit(t *testing.T) {
	var c codecs
	in := bytes.Repeat([]byte("a"), 100_000)
	for _, codec := range allCodecs {
		if _, err := c.inflate(wire(codec), pack(t, codec, in), 99_999); !errors.Is(err, errTooLarge) {
			t.Errorf("codec %d over the limit: %v", codec, err)
		}
		if out, err := c.inflate(wire(codec), pack(t, codec, in), 100_000); err != nil || len(out) != len(in) {
			t.Errorf("codec %d at the limit: %d bytes, %v", codec, len(out), err)
		}
	}
}

// A zstd frame that does not tell its size, as streaming producers write it.
func TestInflateZstdStream(t *testing.T) {
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	in := bytes.Repeat([]byte("stream "), 10_000)
	for i := 0; i < len(in); i += 10_000 {
		w.Write(in[i : i+10_000])
		w.Flush()
	}
	w.Close()
	var c codecs
	got, err := c.inflate(codecZstd, out.Bytes(), 1<<20)
	if err != nil || !bytes.Equal(got, in) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := c.inflate(codecZstd, out.Bytes(), 60_000); !errors.Is(err, errTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
}

// A batch emptied by compaction keeps its codec and has no body.
func TestInflateNothing(t *testing.T) {
	var c codecs
	for _, codec := range allCodecs {
		if out, err := c.inflate(wire(codec), nil, 10); err != nil || len(out) != 0 {
			t.Errorf("codec %d: %d bytes, %v", codec, len(out), err)
		}
	}
}

// After an error the same codecs value still decodes.
func TestInflateAfterError(t *testing.T) {
	var c codecs
	for _, codec := range allCodecs[1:] {
		good := pack(t, codec, []byte("hello hello hello hello hello"))
		if _, err := c.inflate(wire(codec), good[:len(good)/2], 1000); err == nil {
			t.Errorf("codec %d: half a body is no error", codec)
		}
		if out, err := c.inflate(wire(codec), good, 1000); err != nil || len(out) != 29 {
			t.Errorf("codec %d after an error: %q, %v", codec, out, err)
		}
	}
}
