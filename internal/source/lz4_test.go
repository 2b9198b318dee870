package source

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// frameOf returns text as a frame, written with some options.
func frameOf(t *testing.T, text []byte, options ...lz4.Option) []byte {
	t.Helper()
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	if err := w.Apply(options...); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Frames of every kind that producers write come out whole and in memory of
// their size: several blocks, blocks that are stored, checksums, a size in the
// header. Kinds that this package does not take go to the library.
func TestFramesOfLZ4(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	noise := make([]byte, 200_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	text := []byte(strings.Repeat("a text that compresses; ", 20_000))
	mixed := append(append([]byte{}, text...), noise...)
	f := func(name string, text []byte, plain bool, options ...lz4.Option) {
		t.Helper()
		frame := frameOf(t, text, options...)
		if _, err := inflatePlainLZ4(frame, len(text)); errors.Is(err, errNotPlain) == plain {
			t.Errorf("%s: the short way gives %v", name, err)
		}
		var c codecs
		got, err := c.inflateLZ4(frame, len(text))
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(text), err)
		}
		if plain && cap(got) != len(text) {
			t.Errorf("%s: %d bytes of memory for %d", name, cap(got), len(text))
		}
		if _, err := c.inflateLZ4(frame, len(text)-1); len(text) > 0 && !errors.Is(err, errTooLarge) {
			t.Errorf("%s: one byte too large: %v", name, err)
		}
	}
	small := lz4.BlockSizeOption(lz4.Block64Kb)
	f("one block", text, true)
	f("blocks", mixed, true, small)
	f("nothing", nil, true)
	f("stored", noise, true, small)
	f("sums of blocks", mixed, true, small, lz4.BlockChecksumOption(true))
	f("no sum", mixed, true, small, lz4.ChecksumOption(false))
	f("a size", text, true, lz4.SizeOption(uint64(len(text))))
	f("the old frame", text, false, lz4.LegacyOption(true))
}

// The size of a frame is guessed by the one before it. Whether that is right, too
// little or far too much: all comes out, in memory that is hardly more.
func TestGuessedLZ4(t *testing.T) {
	line := "a text that compresses; "
	small, large := []byte(strings.Repeat(line, 50)), []byte(strings.Repeat(line, 20_000))
	noise := make([]byte, 100_000)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	var c codecs
	for i, text := range [][]byte{small, small, large, large, noise, noise, small, large, nil, large} {
		got, err := c.inflateLZ4(frameOf(t, text), 1<<20)
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("frame %d: %d bytes of %d, %v", i, len(got), len(text), err)
		}
		if most := max(len(text)*8/7, len(text)+1); cap(got) > most {
			t.Errorf("frame %d: %d bytes of memory for %d", i, cap(got), len(text))
		}
		if _, err := c.inflateLZ4(frameOf(t, text), len(text)-1); len(text) > 0 && !errors.Is(err, errTooLarge) {
			t.Errorf("frame %d: one byte too large: %v", i, err)
		}
	}
}

// A frame that is cut off or changed is an error, never other bytes and never
// a panic. (Its checksum is not looked at, that of the batch is.)
func TestDamagedLZ4(t *testing.T) {
	text := []byte(strings.Repeat("a text that compresses; ", 100))
	frame := frameOf(t, text, lz4.ChecksumOption(false))
	var c codecs
	for n := range len(frame) {
		if got, err := c.inflateLZ4(frame[:n], 1<<20); err == nil && len(got) > 0 {
			t.Errorf("the first %d bytes of %d give %d", n, len(frame), len(got))
		}
	}
	for i := range frame {
		damaged := bytes.Clone(frame)
		damaged[i] ^= 0x55
		if got, err := c.inflateLZ4(damaged, 1<<20); err == nil && len(got) > 1<<20 {
			t.Errorf("byte %d changed: %d bytes", i, len(got))
		}
	}
}
