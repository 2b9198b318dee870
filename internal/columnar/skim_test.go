package columnar

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/parquet-go/parquet-go/format"
)

// Lengths that the bytes behind them cannot back, and what no message is.
func TestSkim(t *testing.T) {
	huge := binary.AppendUvarint(nil, math.MaxInt32)
	f := func(name string, ok bool, parts ...[]byte) {
		t.Helper()
		s := newSkim(bytes.Join(parts, nil))
		if s.message(); s.ok != ok {
			t.Errorf("%s: %t", name, s.ok)
		}
	}
	// Field 1 of each type, then the end of the struct.
	f("nothing set", true, []byte{0})
	f("true", true, []byte{0x11, 0})
	f("byte", true, []byte{0x13, 7, 0})
	f("integer", true, []byte{0x15, 0x80, 0x01, 0})
	f("double", true, []byte{0x17}, make([]byte, 8), []byte{0})
	f("bytes", true, []byte{0x18, 2, 'a', 'b', 0})
	f("list of true and false", true, []byte{0x19, 0x22, 1, 2, 0})
	f("map", true, []byte{0x1b, 1, 0x85, 1, 'k', 2, 0})
	f("empty map", true, []byte{0x1b, 0, 0})
	f("struct in a list", true, []byte{0x19, 0x1c, 0x15, 2, 0, 0})
	f("field id of its own", true, []byte{0x05, 0x20, 2, 0})
	f("uuid", true, []byte{0x1d}, make([]byte, 16), []byte{0})
	// What would make the library take two gigabytes, or many more.
	f("bytes of 2^31", false, []byte{0x18}, huge, []byte{0})
	f("list of 2^31", false, []byte{0x19, 0xfc}, huge, []byte{0})
	f("set of 2^31", false, []byte{0x1a, 0xfc}, huge, []byte{0})
	f("map of 2^31", false, []byte{0x1b}, huge, []byte{0x88, 0})
	f("length beyond 31 bits", false, []byte{0x18}, binary.AppendUvarint(nil, math.MaxUint64), []byte{0})
	// Cut off, or made up.
	f("no end", false, []byte{0x15, 2})
	f("no bytes", false)
	f("varint without end", false, bytes.Repeat([]byte{0x80}, 20))
	f("unknown type", false, []byte{0x1f, 0})
	f("structs without end", false, bytes.Repeat([]byte{0x1c}, 1000))
}

// The integers of a message come by their field id.
func TestSkimFields(t *testing.T) {
	s := newSkim([]byte{0x15, 2, 0x25, 9, 0})
	if f := s.message(); !s.ok || f != [8]int64{1: 1, 3: -5} || s.at != 5 {
		t.Errorf("%v, at %d, %t", f, s.at, s.ok)
	}
}

// A footer that claims more than the file has is refused before memory is
// taken for it. One that is larger than a first read is read whole.
func TestFooterLength(t *testing.T) {
	f := func(name string, footer []byte, length uint32, end, want string) {
		t.Helper()
		body := append(append([]byte(magic), footer...), binary.LittleEndian.AppendUint32(nil, length)...)
		body = append(body, end...)
		tail, err := readTail(bytes.NewReader(body), int64(len(body)))
		switch {
		case want == "":
			if err != nil || tail.from+int64(len(tail.body)) != int64(len(body)) {
				t.Errorf("%s: %v", name, err)
			}
		case !errors.Is(err, ErrFooter) || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	large := append([]byte{0x18}, binary.AppendUvarint(nil, 100_000)...)
	large = append(append(large, make([]byte, 100_000)...), 0)
	f("sound", []byte{0}, 1, magic, "")
	f("larger than a read", large, uint32(len(large)), magic, "")
	f("four gigabytes", []byte{0}, math.MaxUint32, magic, "a footer of 4294967295 bytes in 13")
	f("over the first magic", []byte{0}, 2, magic, "a footer of 2 bytes in 13")
	f("another magic", []byte{0}, 1, "PARE", "does not end in PAR1")
	f("a list of 2^31", append([]byte{0x19, 0xfc}, binary.AppendUvarint(nil, math.MaxInt32)...), 7, magic, "goes beyond its end")
}

// Pages that claim more than their chunk has, or inflate beyond any codec.
func TestPageSizes(t *testing.T) {
	l, err := newLayout(mustSchema(t, manifest.Declared{}))
	if err != nil {
		t.Fatal(err)
	}
	body, err := newFile(l).close(nil)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := open(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	file := &File{file: whole}
	header := func(full, packed int32) []byte {
		b := binary.AppendVarint([]byte{0x15, 0, 0x15}, int64(full))
		return append(binary.AppendVarint(append(b, 0x15), int64(packed)), 0)
	}
	f := func(name string, raw []byte, want string) {
		t.Helper()
		file.from = bytes.NewReader(raw)
		err := file.chunk(&format.ColumnMetaData{TotalCompressedSize: int64(len(raw))})
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrFooter) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	f("sound", append(header(3, 3), "abc"...), "")
	f("two pages", append(append(header(3, 3), "abc"...), header(0, 0)...), "")
	f("beyond the chunk", append(header(3, 4), "abc"...), "claims 4 bytes of 3")
	f("two gigabytes", append(header(math.MaxInt32, 3), "abc"...), "2147483647 inflated")
	f("negative", header(3, -1), "claims -1 bytes")
	f("no header", []byte{0x15}, "the header of the page at 0")
	file.from = bytes.NewReader(nil)
	if err := file.chunk(&format.ColumnMetaData{DataPageOffset: 1 << 40, TotalCompressedSize: 1}); !errors.Is(err, ErrFooter) {
		t.Errorf("pages beyond the file: %v", err)
	}
}

// What the body of a page tells of its size, by codec.
func TestInflated(t *testing.T) {
	f := func(codec format.CompressionCodec, want uint64, body ...byte) {
		t.Helper()
		if size, ok := inflated(codec, body); !ok || size != want {
			t.Errorf("%v of %x: %d, %t", codec, body, size, ok)
		}
	}
	f(format.Snappy, 1<<31, 0x80, 0x80, 0x80, 0x80, 0x08)
	f(format.Zstd, 1<<31, 0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x80) // one segment, size in four bytes
	f(format.Zstd, 0, 1, 2, 3)                                         // the library will say what is wrong
	f(format.Uncompressed, 0, 1, 2, 3)
	f(format.Lz4Raw, 0)
}
