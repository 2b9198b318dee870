package demo

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/store"
)

// Config says what to show. Command is required; the zero value of every other
// field is its default.
type Config struct {
	// Command makes a process that runs Sink on its standard input and output,
	// and is killed when ctx ends.
	Command func(ctx context.Context) *exec.Cmd

	Dir     string // of the store, when Place is nil; default DefaultDir
	Records int    // default DefaultRecords
	Kills   *int   // default DefaultKills
	Seed    uint64 // of events and schedule; 0 draws one

	// Place is a real Kafka and a real store, which the processes of Command
	// open too. Default: a broker in this process and a directory.
	Place *Place

	Out      io.Writer // for people; nil discards
	Terminal io.Writer // where a progress bar can be drawn; nil is nowhere
}

// Defaults of a Config.
const (
	DefaultDir     = "lakeweir-demo"
	DefaultRecords = 100_000
	DefaultKills   = 12
)

// ErrUsage is a Config that makes no sense.
var ErrUsage = errors.New("cannot show that")

// Run runs the show. Its report is whole if the error is nil; Report.Err then
// says whether what was shown is as promised.
func Run(ctx context.Context, c Config) (Report, error) {
	c, err := c.withDefaults()
	if err != nil {
		return Report{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := Report{Seed: c.Seed, Steps: map[string]int{}} // empty in JSON, not null
	begin := time.Now()
	o, place, end, err := c.open(ctx)
	if err != nil {
		return r, err
	}
	defer end()
	r.Dir, r.Table = place.URI, o.Topic
	cl, err := client(place.Source)
	if err != nil {
		return r, fmt.Errorf("open a producer: %w", err)
	}
	defer cl.Close()
	if err := createTopic(ctx, cl, o.Topic); err != nil {
		return r, err
	}
	return r, c.perform(ctx, o, place, cl, &r, begin)
}

// perform plays the show, checks the table and tells people.
func (c Config) perform(ctx context.Context, o order, place Place, cl *kgo.Client, r *Report, begin time.Time) error {
	all := incidents(c.Seed, c.Records, *c.Kills)
	n := shares(all)
	l := &ledger{}
	stage := newStage(c.Out, c.Terminal, c.Records, *c.Kills)
	s := &show{
		command: c.Command, template: o, left: c.Records, share: c.Records / n, stage: stage,
		producer: startProducer(ctx, cl, o.Topic, l, events(c.Seed, c.Records), 2*n),
		ears:     make(chan heard), result: r,
	}
	stage.say("%d events to topic %s, sinks write to %s (seed %d)", c.Records, o.Topic, place.URI, c.Seed)
	if !contends {
		r.Notes = append(r.Notes, "this system cannot stop a process for a while, nor share a directory among processes: sinks ran one at a time")
	}
	err := s.play(ctx, all)
	stage.close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.problem(err)
	}
	root := store.Sub(place.Store, o.Topic+"/")
	if sent := l.total(); sent != int64(c.Records) {
		r.problem(fmt.Errorf("%d of %d events were sent", sent, c.Records))
	}
	check(ctx, root, l, r)
	if ctx.Err() != nil {
		return ctx.Err() // a check that was cut short knows nothing
	}
	r.Seconds = time.Since(begin).Seconds()
	stage.account(r)
	return stage.places(ctx, root, r)
}

// withDefaults returns c with its defaults filled in, or ErrUsage.
func (c Config) withDefaults() (Config, error) {
	kills := DefaultKills
	if c.Kills == nil {
		c.Kills = &kills
	}
	c.Dir = cmp.Or(c.Dir, DefaultDir)
	c.Records = cmp.Or(c.Records, DefaultRecords)
	for c.Seed == 0 {
		c.Seed = uint64(rand.Uint32()) // short enough to be typed
	}
	if c.Out == nil {
		c.Out = io.Discard
	}
	if *c.Kills < 0 || c.Records < 0 {
		return c, fmt.Errorf("%w: %d records and %d kills: neither may be negative", ErrUsage, c.Records, *c.Kills)
	}
	if least := Partitions * minPerShare * shares(incidents(c.Seed, c.Records, *c.Kills)); c.Records < least {
		return c, fmt.Errorf("%w: %d records are too few for %d kills: send %d or more", ErrUsage, c.Records, *c.Kills, least)
	}
	return c, nil
}

// minPerShare is how many records of a partition a sink must find at least, to
// have something to cut more than once.
const minPerShare = 16

// open opens the place of the show.
func (c Config) open(ctx context.Context) (o order, p Place, end func(), err error) {
	if c.Place != nil {
		var b [4]byte
		for i := range b {
			b[i] = byte(rand.Uint32())
		}
		return order{Topic: "lakeweir-demo-" + hex.EncodeToString(b[:])}, *c.Place, func() {}, nil
	}
	release, err := prepare(c.Dir)
	if err != nil {
		return o, p, nil, err
	}
	broker, err := startBroker()
	if err != nil {
		release()
		return o, p, nil, err
	}
	end = func() { broker.Close(); release() }
	o = order{Topic: table, Dir: c.Dir, Brokers: broker.ListenAddrs()}
	if p, err = o.embedded(ctx); err != nil {
		end()
		return o, p, nil, err
	}
	return o, p, end, nil
}
