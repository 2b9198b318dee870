package writer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

// unsure is a tape some of whose reads find no position: after the given number
// of good ones, one fails, and what happened to the log by then is happened.
type unsure struct {
	*tape
	good     int
	happened func()
}

func (u *unsure) Read(ctx context.Context) (*record.Batch, error) {
	if u.good--; u.good == -1 {
		u.happened()
		return nil, fmt.Errorf("a leader says: %w", writer.ErrOutOfRange)
	}
	return u.tape.Read(ctx)
}

// A leader that does not know yet how far its log reaches, or retention that
// overtakes the reader, is looked at again by a fresh claim and ends nothing:
// in the middle of the reading, and while a pending range is read again.
func TestOutOfRangeIsLookedAt(t *testing.T) {
	f := func(s *memory.Store, good int, start, lost int64, epoch uint64) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			src := newTape(tableRows, 5)
			c := config(t, s, src)
			c.Source = &unsure{src, good, func() { src.change(func() { src.start = start }) }}
			c.Once, c.OnDataLoss = true, writer.SkipLost
			if err := writer.New(nil).Run(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			consistent(t, s)
			if h := head(t, s); h.Next != tableRows || h.Totals.Lost != lost || h.Epoch != epoch {
				t.Errorf("next %d, lost %d, epoch %d, want %d, %d, %d", h.Next, h.Totals.Lost, h.Epoch, tableRows, lost, epoch)
			}
		})
	}
	// The log was there all the time: what was read before is published.
	f(&memory.Store{}, 2, 0, 0, 2)
	// Retention took what follows it.
	f(&memory.Store{}, 2, 15, 5, 2)
	// A pending range of [0,13), of which one batch of three came.
	f(pending(t, "A", 0), 1, 0, 0, 3)
	f(pending(t, "A", 0), 1, 5, 5, 3)
}

// While a partition is with nobody, its log is cut below what was read of it:
// the open batch that was kept is dropped and read again, not published.
func TestKeptBatchOfATruncatedLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, src, w := &memory.Store{}, newTape(20, 5), writer.New(nil)
		c := config(t, s, src)
		c.Limits.MaxAge = time.Minute
		ctx, cancel := context.WithCancel(t.Context())
		wait := run(ctx, w, c)
		synctest.Wait()
		cancel()
		if err := wait(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		src.change(func() { src.epochs = []int64{10} }) // and has as many records again
		wait = run(t.Context(), w, c)
		time.Sleep(2 * time.Minute) // the age cuts
		synctest.Wait()
		if h := head(t, s); h.Epoch != 2 || h.Next != 20 || h.LeaderEpoch != 1 {
			t.Errorf("epoch %d, next %d of leader epoch %d, want a second claim and the records of epoch 1", h.Epoch, h.Next, h.LeaderEpoch)
		}
		w.Drain()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
}

// firstEpoch is an encoder whose footers say that all is of leader epoch 0.
type firstEpoch struct{ writer.Encoder }

func (e firstEpoch) Describe(key string, body []byte) (manifest.Description, error) {
	d, err := e.Encoder.Describe(key, body)
	d.LeaderEpoch = 0
	return d, err
}

// The objects of a pending range are all there, retention took a part of it
// from the log, and the log was cut in it: they are not published as they are,
// since other records are where some of theirs were.
func TestPendingObjectsOfATruncatedLog(t *testing.T) {
	f := func(cut int64, policy writer.DataLoss, want error, lost int64) {
		t.Helper()
		s, src := pending(t, "A", 2), newTape(tableRows, 5)
		src.start, src.epochs = 5, []int64{cut}
		c := config(t, s, src)
		c.Once, c.OnDataLoss = true, policy
		c.NewEncoder = func(sc manifest.Schema) (writer.Encoder, error) {
			e, err := lines{software: "A"}.encoder(sc)
			return firstEpoch{e}, err
		}
		if err := writer.New(nil).Run(t.Context(), c); !errors.Is(err, want) {
			t.Fatalf("err %v, want %v", err, want)
		}
		consistent(t, s)
		if h := head(t, s); h.Totals.Lost != lost || want == nil && h.Next != tableRows {
			t.Errorf("lost %d, next %d, want %d", h.Totals.Lost, h.Next, lost)
		}
	}
	f(10, writer.FailOnLoss, writer.ErrDataLoss, 0)
	f(10, writer.SkipLost, nil, 5)
	// A cut at its end is none in it.
	f(13, writer.FailOnLoss, nil, 0)
}
