package sink

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// events passes on the messages of a log.
type events chan string

func (events) Enabled(context.Context, slog.Level) bool { return true }
func (e events) WithAttrs([]slog.Attr) slog.Handler     { return e }
func (e events) WithGroup(string) slog.Handler          { return e }
func (e events) Handle(_ context.Context, r slog.Record) error {
	select {
	case e <- r.Message:
	default:
	}
	return nil
}

// wait waits for a message.
func (e events) wait(t *testing.T, message string) {
	t.Helper()
	for {
		select {
		case m := <-e:
			if m == message {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("no %q", message)
		}
	}
}

// While it runs, the figures and the lag are those of what is published and
// what is not; a Drain publishes the rest.
func TestFiguresAndLag(t *testing.T) {
	for _, group := range []string{"", "lakeweir"} {
		c := cluster(t, 2)
		send(t, c, 0, 0, 14)
		set, mem, said := quakes(c), &memory.Store{}, make(events, 1000)
		set.Group = group
		k, err := New(Config{Settings: set, Store: mem, Log: slog.New(said)})
		if err != nil {
			t.Fatal(err)
		}
		// Before it runs there is nothing to lag behind.
		if lag, err := k.Lag(t.Context()); lag != 0 || err != nil {
			t.Errorf("lag %d, err %v", lag, err)
		}
		done := make(chan error)
		go func() { done <- k.Run(t.Context()) }()
		said.wait(t, "published")
		if lag, err := k.Lag(t.Context()); lag != 4 || err != nil {
			t.Errorf("group %q: lag %d, err %v, want 4", group, lag, err)
		}
		if f := k.Figures(); f.Rows != 10 || f.Files != 1 || f.Records < 10 || f.Bytes == 0 || f.Dead != 0 {
			t.Errorf("group %q: %+v", group, f)
		}
		k.Drain()
		if err := <-done; err != nil {
			t.Errorf("group %q: %v", group, err)
		}
		if h := head(t, mem, 0); h.Next != 14 || h.Pending != nil {
			t.Errorf("group %q: next %d, pending %v", group, h.Next, h.Pending)
		}
		// What was published last counts too, and nothing is held any more.
		f := k.Figures()
		if want := (Figures{Records: 14, Rows: 14, Files: 2, Bytes: f.Bytes}); f != want {
			t.Errorf("group %q: %+v, want %+v", group, f, want)
		}
		if lag, err := k.Lag(t.Context()); lag != 0 || err != nil {
			t.Errorf("group %q: lag %d, err %v after the end", group, lag, err)
		}
	}
}

// A Run whose context ends says that nothing is lost, and the next one goes on.
func TestStopped(t *testing.T) {
	c := cluster(t, 1)
	send(t, c, 0, 0, 14)
	mem, said := &memory.Store{}, make(events, 1000)
	k, err := New(Config{Settings: quakes(c), Store: mem, Log: slog.New(said)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- k.Run(ctx) }()
	said.wait(t, "published")
	cancel()
	if err := <-done; !errors.Is(err, ErrStopped) {
		t.Errorf("got %v, want %v", err, ErrStopped)
	}
	if err := runOnce(t, quakes(c), mem); err != nil {
		t.Fatal(err)
	}
	if h := head(t, mem, 0); h.Next != 14 || h.Totals.Rows != 14 {
		t.Errorf("next %d, rows %d", h.Next, h.Totals.Rows)
	}
}

// Of two processes with the same static partitions the second one takes them,
// and the first ends as fenced, after a pause that a supervisor can live with.
func TestSecondTakesOver(t *testing.T) {
	c := cluster(t, 1)
	send(t, c, 0, 0, 10)
	mem, said := &memory.Store{}, make(events, 1000)
	first, err := New(Config{Settings: quakes(c), Store: mem, Log: slog.New(said)})
	if err != nil {
		t.Fatal(err)
	}
	first.pause = time.Millisecond
	done := make(chan error)
	go func() { done <- first.Run(t.Context()) }()
	said.wait(t, "published")
	h := head(t, mem, 0)
	if _, err := manifest.Claim(t.Context(), store.Sub(mem, "quakes/"), manifest.Claimant{
		Table: "quakes", Host: "another", Identity: record.Identity{Cluster: h.Identity.Cluster, Topic: h.Identity.Topic},
	}); err != nil {
		t.Fatal(err)
	}
	send(t, c, 0, 10, 10)
	if err := <-done; !errors.Is(err, manifest.ErrFenced) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want %v", err, manifest.ErrFenced)
	}
	if h := head(t, mem, 0); h.Next != 10 || h.Owner.Host != "another" {
		t.Errorf("next %d, owner %+v", h.Next, h.Owner)
	}
}

// One partition that fails stops nothing but itself: the others are published,
// and the end tells of it.
func TestOneFails(t *testing.T) {
	c := cluster(t, 2)
	send(t, c, 0, 0, 10)
	send(t, c, 1, 0, 3)
	set, mem, far := quakes(c), &memory.Store{}, int64(5)
	set.Start = settings.Start{Offset: &far} // which partition 1 does not hold
	err := runOnce(t, set, mem)
	if err == nil || !strings.Contains(err.Error(), "quakes/1: ") {
		t.Errorf("got %v", err)
	}
	if h := head(t, mem, 0); h.First != 5 || h.Next != 10 {
		t.Errorf("[%d,%d), want [5,10)", h.First, h.Next)
	}
}

// Logs tells of all partitions, by their ids, and of what is wrong with the name.
func TestLogs(t *testing.T) {
	c := cluster(t, 3)
	send(t, c, 2, 0, 4)
	send(t, c, 0, 0, 1)
	set := quakes(c)
	set.Group, set.Partitions, set.WaitForTopics = "never-joined", map[string][]int32{"quakes": {1}}, true
	got, err := Logs(t.Context(), set, "quakes")
	if want := []Log{{Partition: 0, Start: 0, End: 1}, {Partition: 1, Start: 0, End: 0}, {Partition: 2, Start: 0, End: 4}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, err %v, want %v", got, err, want)
	}
	if _, err := Logs(t.Context(), set, "quaker"); err == nil || !strings.Contains(err.Error(), `topic "quaker"`) {
		t.Errorf("got %v", err)
	}
	set.TLS.CA = "/nowhere.pem"
	if _, err := Logs(t.Context(), set, "quakes"); err == nil || !strings.Contains(err.Error(), "tls.ca") {
		t.Errorf("got %v", err)
	}
}
