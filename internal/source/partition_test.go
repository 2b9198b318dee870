package source

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/record"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestReadInOrder(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	cl := producer(t, c)
	var want []got
	for i := range 20 {
		produce(t, cl, "t", 0, "a", "b", "c")
		for j, v := range []string{"a", "b", "c"} {
			want = append(want, got{int64(3*i + j), v})
		}
	}
	var have []got
	if err := run(t, config(c, "t"), only(&have, 0, 60)); err != nil {
		t.Fatal(err)
	}
	equal(t, have, want)
}

func TestSeekIntoBatch(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	produce(t, producer(t, c), "t", 0, values(10)...)
	var first, second []got
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
		var err error
		// The log has one batch: the broker sends it whole, the records below
		// the position are left out.
		if first, err = read(ctx, p, 7, 10); err != nil {
			return err
		}
		// Back again, on the same partition.
		second, err = read(ctx, p, 8, 10)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, first, []got{{7, "v7"}, {8, "v8"}, {9, "v9"}})
	equal(t, second, []got{{8, "v8"}, {9, "v9"}})
}

func TestReadBeforeSeek(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
		_, err := p.Read(ctx)
		return err
	})
	if !errors.Is(err, ErrNoPosition) {
		t.Errorf("got %v, want ErrNoPosition", err)
	}
}

func TestSeekNegative(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error { return p.Seek(ctx, -1) })
	if err == nil || err.Error() != "seek t/0: offset -1 is negative" {
		t.Errorf("got %v", err)
	}
}

// A Read that was cancelled loses nothing: the next one goes on.
func TestCancelledRead(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	cl := producer(t, c)
	var have []got
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
		if err := p.Seek(ctx, 0); err != nil {
			return err
		}
		at := int64(0)
		for i := range 30 {
			short, cancel := context.WithTimeout(ctx, time.Duration(i%4)*time.Millisecond)
			b, err := p.Read(short)
			cancel()
			if err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					return err
				}
				produce(t, cl, "t", 0, "x", "y")
				continue
			}
			at = b.Next
			have = append(have, records(b)...)
			p.router.c.Room.Release(b.Size())
		}
		_, end, err := p.Bounds(ctx)
		if err != nil {
			return err
		}
		return each(ctx, p, at, end, func(b *record.Batch) { have = append(have, records(b)...) })
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range have {
		if r.offset != int64(i) || r.value != "xy"[i%2:i%2+1] {
			t.Fatalf("record %d is %v", i, r)
		}
	}
	if len(have) == 0 {
		t.Fatal("nothing was read")
	}
}

func records(b *record.Batch) []got {
	var out []got
	for r := range b.All() {
		out = append(out, got{r.Offset, string(r.Value)})
	}
	return out
}

func TestCodecs(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "none", "gzip", "snappy", "lz4", "zstd"))
	f := func(name string, codec kgo.CompressionCodec) {
		t.Helper()
		cl := producer(t, c, kgo.ProducerBatchCompression(codec))
		want := make([]got, 500)
		vs := make([]string, 500)
		for i := range want {
			vs[i] = "a value that is long enough to be compressed, number " + string(rune('a'+i%26))
			want[i] = got{int64(i), vs[i]}
		}
		produce(t, cl, name, 0, vs...)
		var have []got
		if err := run(t, config(c, name), only(&have, 0, 500)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		equal(t, have, want)
	}
	f("none", kgo.NoCompression())
	f("gzip", kgo.GzipCompression())
	f("snappy", kgo.SnappyCompression())
	f("lz4", kgo.Lz4Compression())
	f("zstd", kgo.ZstdCompression())
}

// Keys, values and header values are null, empty or full, each told apart, and
// headers keep their order and repeats.
func TestNullAgainstEmpty(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	cl := producer(t, c)
	at := time.UnixMilli(1700000000123)
	err := cl.ProduceSync(t.Context(),
		&kgo.Record{Topic: "t", Timestamp: at},
		&kgo.Record{Topic: "t", Timestamp: at, Key: []byte{}, Value: []byte{}},
		&kgo.Record{Topic: "t", Timestamp: at, Key: []byte("k"), Headers: []kgo.RecordHeader{
			{Key: "h", Value: nil}, {Key: "h", Value: []byte{}}, {Key: "", Value: []byte("x")},
		}},
	).FirstErr()
	if err != nil {
		t.Fatal(err)
	}
	check := func(r record.Record) {
		headers := record.NewHeaders(record.Header{Key: []byte("h")}, record.Header{Key: []byte("h"), Value: []byte{}},
			record.Header{Key: []byte{}, Value: []byte("x")})
		var ok bool
		switch r.Offset {
		case 0:
			ok = r.Key == nil && r.Value == nil && r.Headers == nil && r.Timestamp == 1700000000123
		case 1:
			ok = r.Key != nil && r.Value != nil && len(r.Key)+len(r.Value) == 0
		case 2:
			ok = string(r.Key) == "k" && r.Value == nil && string(r.Headers) == string(headers)
		}
		if !ok {
			t.Errorf("got %+v", r)
		}
	}
	err = run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
		if err := p.Seek(ctx, 0); err != nil {
			return err
		}
		return each(ctx, p, 0, 3, func(b *record.Batch) {
			for r := range b.All() {
				check(r)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOutOfRange(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	produce(t, producer(t, c), "t", 0, values(10)...)
	if err := c.DeleteRecords("t", 0, 4); err != nil {
		t.Fatal(err)
	}
	f := func(at int64) {
		t.Helper()
		err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
			_, err := read(ctx, p, at, 100)
			if _, again := p.Read(ctx); !errors.Is(again, ErrOutOfRange) {
				t.Errorf("second Read: %v", again)
			}
			return err
		})
		var out *OutOfRangeError
		if !errors.As(err, &out) || !errors.Is(err, ErrOutOfRange) {
			t.Fatalf("at %d: %v", at, err)
		}
		if want := (OutOfRangeError{"t", 0, at, 4, 10}); *out != want {
			t.Errorf("got %+v, want %+v", *out, want)
		}
	}
	f(3)  // below the log start: records are gone
	f(11) // above the end: the log is shorter than it was
}

// Bounds and OffsetFor are what a first claim begins with.
func TestOffsets(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	cl := producer(t, c)
	base := time.UnixMilli(1700000000000)
	for i := range 10 {
		r := &kgo.Record{Topic: "t", Value: []byte("x"), Timestamp: base.Add(time.Duration(i) * time.Second)}
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.DeleteRecords("t", 0, 2); err != nil {
		t.Fatal(err)
	}
	err := run(t, config(c, "t"), func(ctx context.Context, p *Partition) error {
		if p.Topic() != "t" || p.ID() != 0 {
			t.Errorf("partition %s/%d", p.Topic(), p.ID())
		}
		start, end, err := p.Bounds(ctx)
		if start != 2 || end != 10 || err != nil {
			t.Errorf("bounds %d, %d, %v", start, end, err)
		}
		f := func(at time.Time, want int64) {
			if o, err := p.OffsetFor(ctx, at); o != want || err != nil {
				t.Errorf("offset for %v: %d, %v; want %d", at, o, err, want)
			}
		}
		f(base.Add(5*time.Second), 5)                  // a record's own time
		f(base.Add(5*time.Second+time.Millisecond), 6) // between two
		f(base.Add(time.Hour), 10)                     // after all: the end
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
