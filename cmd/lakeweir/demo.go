package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lakeweir/lakeweir/internal/demo"
	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/sink"
)

type demoOptions struct {
	demo.Config
	real  bool // the settings say where, in place of an embedded broker and a directory
	flags *settings.Flags
	json  bool
}

func newDemoCommand() *cobra.Command {
	o := demoOptions{flags: &settings.Flags{}}
	var given []string
	kills := demo.DefaultKills
	cmd := &cobra.Command{
		Use: "demo", Short: "Show it: real events, sinks that are killed, and a count of every record",
		Long: fmt.Sprintf(`Sends events to a topic and lets sinks write them to a table. The sinks are
processes that are killed (SIGKILL) at random moments and at every step of a
commit, run two at a time, or are stopped while another takes over. Then all
files are read: each event must be there once.

A broker is embedded and the table lies in a directory, so nothing is needed.
With --brokers and --store, or --config, the same is shown on a real Kafka and a
real store: topic and table are new ones named lakeweir-demo-..., and stay.

Exit codes: 0 each record is there once; 1 a record is lost or doubled, or the
demo could not finish; 2 wrong usage. %d records and %d kills by default.`, demo.DefaultRecords, demo.DefaultKills),
		Args: args(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Kills, o.real = &kills, len(given) > 0
			if o.Records < 1 {
				return usage(fmt.Errorf("--records %d: there is nothing to show without records", o.Records))
			}
			if o.real && cmd.Flags().Changed("dir") {
				return usage(errors.New("--dir is for the embedded demo: say where with --store"))
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			o.Command = func(ctx context.Context) *exec.Cmd { return demoSink(ctx, given) }
			return runDemo(ctx, o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.flags.Bind(cmd.Flags(), settings.Kafka, settings.Store)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Value = &recorded{f.Value, "--" + f.Name + "=", &given} })
	cmd.Flags().StringVar(&o.Dir, "dir", demo.DefaultDir, "directory of the table; emptied if it is of a former demo")
	cmd.Flags().IntVar(&o.Records, "records", demo.DefaultRecords, "how many events to send")
	cmd.Flags().IntVar(&kills, "kills", kills, "how many sinks to kill")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 0, "seed of events and kills; 0 draws one")
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON object, and nothing else")
	cmd.AddCommand(newDemoSinkCommand())
	return cmd
}

// recorded is a flag that is passed on to child processes as it was given.
type recorded struct {
	pflag.Value
	prefix string
	given  *[]string
}

// Set is pflag.Value.
func (r *recorded) Set(t string) error {
	*r.given = append(*r.given, r.prefix+t)
	return r.Value.Set(t)
}

func runDemo(ctx context.Context, o demoOptions, out, errOut io.Writer) error {
	if !o.json {
		o.Out = out
		if f := terminalOf(errOut); f != nil {
			o.Terminal = f
		}
	}
	if o.real {
		place, err := o.place(ctx)
		if err != nil {
			return err
		}
		o.Place = &place
	}
	report, err := demo.Run(ctx, o.Config)
	switch {
	case errors.Is(err, demo.ErrUsage):
		return usage(err)
	case ctx.Err() != nil:
		return errors.New("the demo was interrupted")
	case err != nil:
		return err
	}
	if o.json {
		err = printJSON(out, report)
	}
	return errors.Join(report.Err(), err)
}

// place opens a real Kafka and a real store, and proves that the store keeps
// its word.
func (o demoOptions) place(ctx context.Context) (demo.Place, error) {
	p, set, err := openPlace(ctx, o.flags)
	if err != nil {
		return p, err
	}
	if prove := proof(set, p.Store); prove != nil {
		err = prove(ctx)
	}
	return p, err
}

// openPlace opens what the settings name. The topic is the demo's own.
func openPlace(ctx context.Context, flags *settings.Flags) (p demo.Place, set *settings.Settings, err error) {
	if set, err = load(flags); err != nil {
		return p, nil, err
	}
	at, err := settings.ParseLocation(set.Store)
	if err := errors.Join(set.CheckBrokers(), err); err != nil {
		return p, nil, usage(err)
	}
	if p.Source, err = sink.Source(set); err != nil {
		return p, nil, err
	}
	if p.Store, err = sink.OpenStore(ctx, set); err != nil {
		return p, nil, err
	}
	if p.URI = at.Path; at.Driver != "dir" {
		uri, err := at.URI("")
		if err != nil {
			return p, nil, err
		}
		p.URI = strings.TrimSuffix(uri, "/")
	}
	return p, set, nil
}

// demoSink starts this program as a sink of the demo, with the flags that say
// where Kafka and the store are.
func demoSink(ctx context.Context, given []string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return exec.CommandContext(ctx, self, append([]string{"demo", "sink"}, given...)...)
}

// newDemoSinkCommand is the command of the demo's child processes. People have
// no use for it, so it is in no list.
func newDemoSinkCommand() *cobra.Command {
	var flags settings.Flags
	cmd := &cobra.Command{
		Use: "sink", Hidden: true, Args: args(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo.Sink(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(),
				func(ctx context.Context) (demo.Place, error) {
					p, _, err := openPlace(ctx, &flags)
					return p, err
				})
		},
	}
	flags.Bind(cmd.Flags(), settings.Kafka, settings.Store)
	return cmd
}
