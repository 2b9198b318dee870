package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/sink"
	"github.com/lakeweir/lakeweir/store"
)

type probeOptions struct {
	settings     *settings.Settings
	createBucket bool
	json         bool
	open         func(context.Context) (store.Store, error) // in place of the store of the settings
}

func newProbeCommand() *cobra.Command {
	var o probeOptions
	var flags settings.Flags
	cmd := &cobra.Command{
		Use: "probe", Short: "Prove that the store keeps its word on conditional writes",
		Long: `Tries on the real store what tables rely on: conditional writes, one at a time
and in races, reads and lists after writes. It writes a few small objects under
a name of its own and removes them. "run" does the same before its first claim.`,
		Args: args(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.settings, err = load(&flags); err != nil {
				return err
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return runProbe(ctx, o, cmd.OutOrStdout())
		},
	}
	flags.Bind(cmd.Flags(), settings.Store)
	cmd.Flags().BoolVar(&o.createBucket, "create-bucket", false, "create the bucket first if it does not exist")
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON object")
	return cmd
}

// checked is a check in JSON.
type checked struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

func runProbe(ctx context.Context, o probeOptions, out io.Writer) error {
	if _, err := settings.ParseLocation(o.settings.Store); err != nil {
		return usage(err)
	}
	if o.open == nil {
		// What the store does is to be seen, whoever vouches for it.
		plain := *o.settings
		plain.SingleWriter = false
		o.open = func(ctx context.Context) (store.Store, error) { return sink.OpenStore(ctx, &plain) }
	}
	if o.createBucket {
		if err := sink.CreateBucket(ctx, o.settings); err != nil {
			return err
		}
	}
	s, err := o.open(ctx)
	if err != nil {
		return err
	}
	report, err := store.Probe(ctx, s)
	if perr := o.print(out, report); err == nil {
		err = perr
	}
	return err
}

func (o probeOptions) print(out io.Writer, report store.Report) error {
	if o.json {
		checks := []checked{}
		for _, c := range report.Checks {
			checks = append(checks, checked(c))
		}
		return printJSON(out, map[string]any{"store": o.settings.Store, "safe": report.Err() == nil, "checks": checks})
	}
	for _, c := range report.Checks {
		mark, detail := "ok  ", ""
		if !c.OK {
			mark = "FAIL"
		}
		if c.Detail != "" {
			detail = ": " + c.Detail
		}
		if _, err := fmt.Fprintf(out, "%s  %s%s\n", mark, c.Name, detail); err != nil {
			return err
		}
	}
	return nil
}
