package writer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/writer"
)

// A plan is pending when the writer comes back with another schema: the range
// is planned again under it, and the names of the old plan are without rows.
func TestPendingUnderAnotherSchema(t *testing.T) {
	for written := range int64(3) {
		s := pending(t, "A", written)
		c := config(t, s, newTape(tableRows, 5))
		var err error
		if c.Schema, err = manifest.NewSchema(manifest.Declared{Value: manifest.JSONValue, Columns: []manifest.Column{{Name: "id", Type: manifest.String}}}); err != nil {
			t.Fatal(err)
		}
		c.Once = true
		old := head(t, s).Pending.Keys
		if err := writer.New(nil).Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		whole(t, s)
		for r, err := range head(t, s).All(t.Context(), s) {
			if err != nil || r.Schema != 2 || r.Start == 0 && (r.Attempt != 1 || r.Next != 13) {
				t.Errorf("%s attempt %d, schema %d: %v", r.Range, r.Attempt, r.Schema, err)
			}
		}
		for _, key := range old {
			if _, rows, err := decodeLines(get(t, s, key)); err != nil || len(rows) > 0 {
				t.Errorf("%s has rows %v: %v", key, rows, err)
			}
		}
	}
}

// recreated is a log that is deleted and created again after the claim has
// looked at it, before anything is read.
type recreated struct{ *tape }

func (r recreated) Seek(ctx context.Context, offset int64) error {
	r.change(func() { r.id.Topic[0] = 9 })
	return r.tape.Seek(ctx, offset)
}

// The records of a pending range come from another topic of its name: its
// plan, though it fits, is not filled with them. (Seed 607 of the simulation
// found that it was.)
func TestTopicIsRecreatedWhileRecovering(t *testing.T) {
	s := pending(t, "A", 0)
	src := newTape(tableRows, 5)
	c := config(t, s, src)
	c.Source, c.Once = recreated{src}, true
	if err := writer.New(nil).Run(t.Context(), c); !errors.Is(err, manifest.ErrIdentity) {
		t.Fatalf("err %v, want %v", err, manifest.ErrIdentity)
	}
	if h := head(t, s); h.Next != 0 || h.Pending == nil {
		t.Errorf("next %d, pending %v", h.Next, h.Pending)
	}
	for i := range s.List(t.Context(), "data/", "") {
		t.Errorf("%s is written", i.Key)
	}
}

// truncated is a log that an unclean election cuts off at offset 12 after the
// claim has looked at it, before anything is read. Other records follow.
type truncated struct{ *tape }

func (r truncated) Seek(ctx context.Context, offset int64) error {
	r.change(func() { r.epochs = []int64{12} })
	return r.tape.Seek(ctx, offset)
}

// The log was truncated below what is published, and the records of a pending
// range are those that came instead: its plan is not filled with them. (Seed
// 1039 of the simulation found that it was.)
func TestLogIsTruncatedWhileRecovering(t *testing.T) {
	s := finished(t, 20)
	dying, die := context.WithCancel(t.Context())
	c := config(t, fault.Wrap(s, func(_ context.Context, c fault.Call) fault.Action {
		if c.Op == fault.Put && strings.HasPrefix(c.Key, "data/") {
			die()
			return fault.Before()
		}
		return fault.Action{}
	}), newTape(tableRows, 5))
	c.Once = true
	if err := writer.New(nil).Run(dying, c); err == nil || head(t, s).Pending == nil {
		t.Fatalf("no plan is pending: %v", err)
	}
	c = config(t, s, newTape(tableRows, 5))
	c.Source, c.Once = truncated{newTape(tableRows, 5)}, true
	if err := writer.New(nil).Run(t.Context(), c); !errors.Is(err, manifest.ErrIdentity) {
		t.Fatalf("err %v, want %v", err, manifest.ErrIdentity)
	}
	if h := head(t, s); h.Next != 20 || h.Pending == nil {
		t.Errorf("next %d, pending %v", h.Next, h.Pending)
	}
}

// get returns the object at key.
func get(t *testing.T, s store.Store, key string) []byte {
	t.Helper()
	o, err := s.Get(t.Context(), key, store.Span{})
	if err != nil {
		t.Fatal(err)
	}
	return o.Body
}

// A Drain that comes while a pending range is written publishes it, and what
// follows is left to the next run.
func TestDrainWhileRecovering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := pending(t, "A", 0)
		st, w := stuck{s, make(chan struct{})}, writer.New(nil)
		c := config(t, s, newTape(tableRows, 5))
		c.Store = st
		wait := run(t.Context(), w, c)
		synctest.Wait()
		w.Drain()
		synctest.Wait()
		close(st.opened)
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if h := head(t, s); h.Next < 13 || h.Pending != nil {
			t.Fatalf("next %d, pending %v", h.Next, h.Pending)
		}
		consistent(t, s)
	})
}
