package writer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
	"github.com/lakeweir/lakeweir/store/storetest"
	"github.com/lakeweir/lakeweir/writer"
)

// ReadDead makes lines a writer.DeadReader.
func (l lines) ReadDead(body []byte) iter.Seq2[manifest.DeadLetter, error] {
	return func(yield func(manifest.DeadLetter, error) bool) {
		_, offsets, err := decodeLines(body)
		if err != nil {
			yield(manifest.DeadLetter{}, err)
			return
		}
		for _, o := range offsets {
			if !yield(manifest.DeadLetter{Record: record.Record{Offset: o}, Reason: "bad"}, nil) {
				return
			}
		}
	}
}

// letterbox is a topic that lies in a store, so that a process can die between
// two letters of it too. A key holds one copy of a letter.
type letterbox struct {
	store.Store
	writer string // what is different in two processes
}

// publish is a writer.Config.Rejected.
func (b letterbox) publish(ctx context.Context, _ string, letters iter.Seq2[manifest.DeadLetter, error]) (done int64, err error) {
	for l, err := range letters {
		if err != nil {
			return done, err
		}
		body, err := json.Marshal(l)
		if err != nil {
			return done, err
		}
		if _, err := b.Put(ctx, fmt.Sprintf("topic/%020d-%s", l.Offset, b.writer), body, store.Blind()); err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}

// posted returns the offsets of the letters in the topic of s, without copies.
func posted(t *testing.T, s store.Store) (all []int64) {
	t.Helper()
	for i, err := range s.List(context.Background(), "topic/", "") {
		var offset int64
		if err == nil {
			_, err = fmt.Sscanf(i.Key, "topic/%d-", &offset)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, offset)
	}
	return slices.Compact(all)
}

// outFirst checks what holds at every instant: a dead letter that is published
// in a file is in the topic.
func outFirst(t *testing.T, s store.Store) {
	t.Helper()
	out := posted(t, s)
	h, err := manifest.Read(context.Background(), s, 0)
	if errors.Is(err, store.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range h.DeadLetters(context.Background(), s) {
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range content(t, s, f) {
			if !slices.Contains(out, o) {
				t.Fatalf("offset %d is published as a dead letter, and is not in the topic: %v", o, out)
			}
		}
	}
}

// posts returns work that writes as p does and publishes dead letters.
func (p process) posts(t *testing.T, writerName string) storetest.Work {
	want := schema(t)
	return func(ctx context.Context, s store.Store) error {
		src := newTape(tableRows, 5)
		src.quiet = p.rows
		return writer.New(nil).Run(ctx, writer.Config{
			Store: s, Table: "t", Source: src, Schema: want, Once: true, Published: src.published,
			Limits: writer.Limits{MaxRows: p.rows}, NewEncoder: lines{software: p.software}.encoder,
			Rejected: letterbox{s, writerName}.publish,
		})
	}
}

// A process dies at each of its calls, those to the topic included, and at
// every instant the topic has what is published as dead: with a successor that
// finishes the plan, and with one that lays out anew. (B20)
func TestDeadLettersComeFirst(t *testing.T) {
	for _, software := range []string{"A", "a", "B"} {
		t.Run(software, func(t *testing.T) {
			first, again := process{"A", 11, false}.posts(t, "first"), process{software, 8, false}.posts(t, "again")
			check := func(t *testing.T, s store.Store) {
				whole(t, s)
				outFirst(t, s)
				if got := posted(t, s); !slices.Equal(got, []int64{10, 11, 12, 13}) {
					t.Errorf("the topic has %v", got)
				}
			}
			successor := func(ctx context.Context, s store.Store) error {
				outFirst(t, s)
				return again(ctx, s)
			}
			storetest.EveryCrash(t, first, successor, check)
			storetest.EveryLost(t, first, check)
			storetest.EveryPause(t, first, successor, check)
		})
	}
}

// The log has lost the records of a pending plan whose objects are all there:
// its dead letters are read back from their file, and are out before it counts.
func TestDeadLettersOfAdoptedPlan(t *testing.T) {
	s := pending(t, "A", 2)
	src := newTape(tableRows, 5)
	src.start = 13
	c := config(t, s, src)
	c.Once, c.Limits.MaxRows = true, 11
	c.Rejected = func(ctx context.Context, key string, letters iter.Seq2[manifest.DeadLetter, error]) (int64, error) {
		if h := head(t, s); h.Next >= 13 && strings.Contains(key, "-00000000000000000013.") {
			t.Error("the range is published already")
		}
		return letterbox{s, ""}.publish(ctx, key, letters)
	}
	if err := writer.New(nil).Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got := posted(t, s); !slices.Equal(got, []int64{10, 11, 12, 13}) {
		t.Errorf("the topic has %v", got)
	}
	outFirst(t, s)
}

// A topic that takes no letter holds its range back and what follows it, for as
// long as it takes, and shows as trouble; letters that are out are not sent
// again, and once it takes them all is published. (B20)
func TestDeadLettersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := &memory.Store{}, writer.New(nil)
		c := config(t, s, newTape(tableRows, 5))
		c.Limits = writer.Limits{MaxRows: 6, MaxAge: time.Second}
		away := errors.New("no broker answers")
		var down atomic.Bool
		down.Store(true)
		var sent []int64
		c.Rejected = func(_ context.Context, _ string, letters iter.Seq2[manifest.DeadLetter, error]) (done int64, err error) {
			for l := range letters {
				if down.Load() && l.Offset > 11 {
					return done, away
				}
				sent = append(sent, l.Offset)
				done++
			}
			return done, nil
		}
		wait := run(t.Context(), w, c)
		time.Sleep(time.Hour)
		if h := head(t, s); h.Next != 7 || h.Pending == nil {
			t.Errorf("next %d, pending %v: want the range from 7 to wait", h.Next, h.Pending)
		}
		if st := w.Stats(); len(st) != 1 || len(st[0].Troubles) == 0 || !errors.Is(st[0].Troubles[0].Err, away) {
			t.Errorf("the wait does not show: %+v", st)
		}
		down.Store(false)
		w.Drain()
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(sent, []int64{10, 11, 12, 13}) {
			t.Errorf("sent %v, each once", sent)
		}
		if st := w.Stats(); len(st[0].Troubles) > 0 {
			t.Errorf("trouble stays: %v", st[0].Troubles)
		}
		if next, _ := consistent(t, s); next < 14 {
			t.Errorf("next %d after the drain", next)
		}
	})
}

// A context that ends ends the wait, and nothing was published.
func TestDeadLettersStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &memory.Store{}
		c := config(t, s, newTape(tableRows, 5))
		c.Rejected = func(context.Context, string, iter.Seq2[manifest.DeadLetter, error]) (int64, error) {
			return 0, errors.New("away")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := writer.New(nil).Run(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if h := head(t, s); h.Next != 0 {
			t.Errorf("next %d", h.Next)
		}
	})
}

// mute is an Encoder that cannot read what it made.
type mute struct{ writer.Encoder }

// unread is one that finds its own files damaged.
type unread struct{ lines }

func (unread) ReadDead([]byte) iter.Seq2[manifest.DeadLetter, error] {
	return func(yield func(manifest.DeadLetter, error) bool) { yield(manifest.DeadLetter{}, errDamaged) }
}

var errDamaged = errors.New("damaged")

// What no other try cures ends the writer with nothing published: an encoder
// that cannot read dead letters, and a file that cannot be read.
func TestDeadLettersUnread(t *testing.T) {
	f := func(e writer.Encoder, change func(*writer.Config), want string) {
		t.Helper()
		s := &memory.Store{}
		c := config(t, s, newTape(tableRows, 5))
		c.Once, c.NewEncoder = true, func(manifest.Schema) (writer.Encoder, error) { return e, nil }
		change(&c)
		if err := writer.New(nil).Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if h := head(t, s); h.Next != 0 {
			t.Errorf("next %d", h.Next)
		}
	}
	rejected := func(c *writer.Config) { c.Rejected = letterbox{c.Store, ""}.publish }
	capped := func(c *writer.Config) { c.MaxDead = 0.5 }
	f(mute{lines{software: "A"}}, rejected, "need an Encoder that is a DeadReader")
	f(mute{lines{software: "A"}}, capped, "need an Encoder that is a DeadReader")
	f(unread{lines{software: "A"}}, rejected, "dead/00000-00000000000000000000-00000000000000000040.parquet: damaged")
	f(unread{lines{software: "A"}}, capped, "dead/00000-00000000000000000000-00000000000000000040.parquet: damaged")
}
