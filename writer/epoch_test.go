package writer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/writer"
)

// toEnd runs c until all of its log is published, and fails if that takes
// longer than an hour.
func toEnd(t *testing.T, w *writer.Writers, c writer.Config) {
	t.Helper()
	c.Once = true
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if err := w.Run(ctx, c); err != nil {
		t.Fatal(err)
	}
}

// A leader that wrote nothing but a transaction marker is a leader too: what
// follows it begins behind the end of the epoch before, and nothing was lost.
func TestLeaderOfMarkersOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, src := &memory.Store{}, newTape(tableRows, 1)
		src.epochs = []int64{21, 22} // offset 21 is not a record
		toEnd(t, writer.New(nil), config(t, s, src))
		whole(t, s)
		if h := head(t, s); h.Epoch != 1 || h.LeaderEpoch != 2 {
			t.Fatalf("epoch %d, leader epoch %d, want 1 and 2", h.Epoch, h.LeaderEpoch)
		}
	})
}

// Brokers that do not tell topic ids any more, as old ones in the middle of a
// roll back, stop nobody.
func TestTopicIDIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, src := finished(t, 20), newTape(tableRows, 5)
		src.id.Topic = record.TopicID{}
		toEnd(t, writer.New(nil), config(t, s, src))
		whole(t, s)
	})
}
