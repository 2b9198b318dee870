package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/writer"
)

// sink is one child process of the demo.
type sink struct {
	order
	place  Place
	schema manifest.Schema
	root   store.Store // of the table, as this process sees it

	budget  *writer.Budget
	writers *writer.Writers
	resume  chan struct{} // closed by the word go
	nth     atomic.Int64  // how often the step of the order was reached
	log     *slog.Logger

	mu  sync.Mutex // guards out
	out *json.Encoder
}

// Sink is the child process: it writes the topic of its order, which comes on
// in, to the table, and says on out what it does. Log gets what a sink logs.
// It ends when it is told to drain, fenced out of every partition, at the end
// of in, or, as is most often the case, by SIGKILL.
//
// The place is the one that the order names, the embedded broker and a
// directory; where it names none, open opens it.
func Sink(ctx context.Context, in io.Reader, out, log io.Writer, open Open) error {
	words := bufio.NewScanner(in)
	words.Buffer(nil, 1<<20)
	var o order
	if !words.Scan() {
		return errors.New("a sink of the demo is started by the demo only")
	}
	if err := json.Unmarshal(words.Bytes(), &o); err != nil {
		return fmt.Errorf("read the order of a sink: %w", err)
	}
	if o.Dir != "" {
		open = o.embedded
	}
	s := &sink{order: o, resume: make(chan struct{}), out: json.NewEncoder(out)}
	s.log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := s.open(ctx, open)
	if err == nil {
		s.say(report{Kind: ready})
		go s.obey(words, cancel)
		err = s.run(ctx)
	}
	end := report{Kind: ended}
	if err != nil {
		end.Error = err.Error()
	}
	s.say(end)
	return err
}

// open makes the sink ready to run.
func (s *sink) open(ctx context.Context, open Open) (err error) {
	if s.schema, err = s.order.schema(); err != nil {
		return err
	}
	if s.place, err = open(ctx); err != nil {
		return err
	}
	w := newWatch(store.Sub(s.place.Store, s.Topic+"/"))
	s.root = fault.Wrap(w, w.script(s.Hold, func(partition int32, key string) { s.stand(ctx, partition, key) }))
	s.budget = writer.NewBudget(readAhead, 0)
	s.writers = writer.New(s.budget)
	return nil
}

// readAhead bounds what a sink of the demo reads ahead, in bytes.
const readAhead = 128 << 20

// obey follows the words of the parent to their end.
func (s *sink) obey(words *bufio.Scanner, cancel func()) {
	defer cancel()
	resume := sync.OnceFunc(func() { close(s.resume) })
	for words.Scan() {
		switch words.Text() {
		case goOn:
			resume()
		case drain:
			s.writers.Drain()
		}
	}
}

// run writes all partitions until the end.
func (s *sink) run(ctx context.Context) error {
	c := s.place.Source
	c.Topics = []string{s.Topic}
	c.Group, c.Partitions = "lakeweir-demo", map[string][]int32{s.Topic: nil}
	for p := range int32(Partitions) {
		c.Partitions[s.Topic] = append(c.Partitions[s.Topic], p)
	}
	c.MaxWait = fetchWait
	c.Room, c.Log = s.budget, s.log
	return source.Run(ctx, c, s.write)
}

// fetchWait is short since in the show a partition is often at its end.
const fetchWait = 50 * time.Millisecond

// write writes one partition.
func (s *sink) write(ctx context.Context, p *source.Partition) error {
	left := s.Reclaim
	fence := func() { s.say(report{Kind: fenced, Partition: p.ID()}) }
	err := s.writers.Run(ctx, writer.Config{
		Store: s.root, Table: s.Topic, Partition: p.ID(), Source: p, Schema: s.schema,
		Limits: writer.Limits{MaxRows: s.Rows, MaxAge: s.Age},
		Once:   s.Once, Host: s.Name, Software: "lakeweir demo",
		Log: s.log.With("sink", s.Name, "partition", p.ID()),
		Published: func(ctx context.Context, next int64) error {
			s.say(report{Kind: published, Partition: p.ID(), Next: next})
			if s.Hold == Telling {
				s.stand(ctx, p.ID(), "")
			}
			return p.Commit(ctx, next)
		},
		Confirmed: func(ctx context.Context) error {
			if left--; left < 0 {
				return errors.New("another sink has it")
			}
			fence()
			return calm(ctx)
		},
	})
	if errors.Is(err, manifest.ErrFenced) {
		fence()
	}
	return err
}

// calm waits for a moment, so that two sinks do not only fence each other.
func calm(ctx context.Context) error {
	select {
	case <-time.After(50*time.Millisecond + rand.N(150*time.Millisecond)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stand holds the process at the step of its order: it says so and waits for
// the word to go on, which comes at most once. Most often SIGKILL comes instead.
func (s *sink) stand(ctx context.Context, partition int32, key string) {
	if s.nth.Add(1) != int64(s.Nth) {
		return
	}
	s.say(report{Kind: held, Partition: partition, Key: key})
	select {
	case <-s.resume:
	case <-ctx.Done():
	}
}

func (s *sink) say(r report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(r) // without a parent the input ends too
}
