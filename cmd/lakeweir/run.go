package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/sink"
	"github.com/lakeweir/lakeweir/store"
)

type runOptions struct {
	settings *settings.Settings
	once     bool
	signals  <-chan os.Signal                           // the first drains, the second ends at once
	open     func(context.Context) (store.Store, error) // in place of the store of the settings
}

func newRunCommand() *cobra.Command {
	var o runOptions
	var flags settings.Flags
	cmd := &cobra.Command{
		Use: "run", Short: "Write topics to tables until stopped",
		Long: `Reads the assigned partitions of the topics and publishes what it reads as
Parquet files. SIGTERM or SIGINT publishes what was read and ends; a second one
ends at once, and so does shutdown_timeout. Either way, and after any crash, the
next run goes on from the heads in the store.

Exit codes: 0 stopped or, with --once, all is published; 1 error; 2 wrong usage
or configuration; 3 other writers have taken all partitions; 4 damage was found.`,
		Args: args(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.settings, err = load(&flags); err != nil {
				return err
			}
			signals := make(chan os.Signal, 2)
			signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
			defer signal.Stop(signals)
			o.signals = signals
			return runRun(cmd.Context(), o, cmd.ErrOrStderr())
		},
	}
	flags.Bind(cmd.Flags(), settings.Kafka, settings.Store, settings.Sink, settings.Process)
	cmd.Flags().BoolVar(&o.once, "once", false, "read each partition to the end that it has now, publish, and exit")
	return cmd
}

// ownBytes is what the process takes beside what the setting memory bounds:
// stacks, connections, what the claims of some thousand partitions hold. The
// collector of Go works harder near the sum of both.
const ownBytes = 64 << 20

func runRun(ctx context.Context, o runOptions, errOut io.Writer) error {
	set := o.settings
	if err := set.Check(); err != nil {
		return usage(err)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(set.Memory + ownBytes))
	if o.open == nil {
		o.open = func(ctx context.Context) (store.Store, error) { return sink.OpenStore(ctx, set) }
	}
	root, err := o.open(ctx)
	if err != nil {
		return err
	}
	screen := newScreen(errOut)
	log := newLog(screen, set.Log)
	host, _ := os.Hostname() // for people; a head without it is as good
	s, err := sink.New(sink.Config{
		Settings: set, Store: root, Once: o.once, Probe: proof(set, root),
		Host: host, Software: "lakeweir " + thisBuild().Version, Log: log,
	})
	if err != nil {
		return err
	}
	listener, err := listen(set.HTTP)
	if err != nil {
		return err
	}
	defer serve(listener, s.Snapshot, log)()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := screen.follow(ctx, s)
	err = o.obey(ctx, cancel, s, log)
	cancel()
	done()
	// A start that failed has one line: its error.
	if f := s.Figures(); err == nil || f.Records > 0 {
		log.Info("ended", "rows", f.Rows, "dead", f.Dead, "files", f.Files, "bytes", f.Bytes)
	}
	return err
}

// proof returns the probe of the store, nil where the operator vouches for it.
func proof(set *settings.Settings, root store.Store) func(context.Context) error {
	if set.SingleWriter {
		return nil
	}
	return func(ctx context.Context) error {
		_, err := store.Probe(ctx, root)
		return err
	}
}

// letGo is how long a run may take to end once it is told to end at once: to
// give up the calls under way and to leave the group. What is not through then
// ends with the process, as in a crash, which loses nothing either.
const letGo = time.Second

// obey runs the sink. It drains it at the first signal, and ends it at the
// second or when the drain takes too long. To have been stopped is no error,
// whatever is published by then, but for a run that had an end to reach.
func (o runOptions) obey(ctx context.Context, cancel func(), s *sink.Sink, log *slog.Logger) error {
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	limit := o.settings.ShutdownTimeout
	select {
	case err := <-done:
		return err
	case sig := <-o.signals:
		log.Info("stopping: publishing what was read", "signal", sig.String(), "at_most", limit.String())
	}
	s.Drain()
	timer := time.NewTimer(limit - min(letGo, limit/2))
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-o.signals:
		log.Warn("a second signal: ending at once, the next run goes on from the heads")
	case <-timer.C:
		log.Warn("shutdown_timeout has passed: ending at once, the next run goes on from the heads")
	}
	cancel()
	err := sink.ErrStopped
	select {
	case err = <-done:
	case <-time.After(letGo):
	}
	if errors.Is(err, sink.ErrStopped) && !o.once {
		return nil
	}
	return err
}

// newLog returns a logger of the level and form that the settings name.
func newLog(w io.Writer, l settings.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // one of the names that it takes
	o := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
