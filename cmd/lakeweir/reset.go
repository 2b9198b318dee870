package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/sink"
	"github.com/lakeweir/lakeweir/manifest"
)

type resetOptions struct {
	settings  *settings.Settings
	table     string
	partition []int32
	apply     bool
	json      bool
}

func newResetCommand() *cobra.Command {
	var o resetOptions
	var flags settings.Flags
	cmd := &cobra.Command{
		Use: "reset TABLE", Short: "Go on from another log: start a new generation of a table",
		Long: `For a table whose topic was deleted and created again, was truncated, or lives
in another cluster now: run has stopped with "not the same log". Prints what a
reset would do, and does it with --apply. The sink has to be stopped.

A new generation begins where --start says in the log that the brokers have
now. What was published stays in the table, under names that the new ones
cannot meet; a pending plan is given up. If the log is the same one, what is
read again will be in the table twice.`,
		Args: args(1, 1, "the name of a table"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.settings, err = load(&flags); err != nil {
				return err
			}
			o.table = args[0]
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return runReset(ctx, o, cmd.OutOrStdout())
		},
	}
	flags.Bind(cmd.Flags(), settings.Store, settings.Kafka)
	cmd.Flags().Int32SliceVar(&o.partition, "partition", nil, "partitions to reset; all that have a head if not given")
	cmd.Flags().BoolVar(&o.apply, "apply", false, "do it; else the plan is only printed")
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON object")
	return cmd
}

// renewed is a partition of a reset in JSON.
type renewed struct {
	Partition  int32           `json:"partition"`
	Generation int             `json:"generation"` // the new one
	Published  int64           `json:"published"`  // next offset of the old one
	First      int64           `json:"first_offset"`
	SameLog    bool            `json:"same_log"`
	Pending    *manifest.Range `json:"pending"` // given up
	Applied    bool            `json:"applied"`
}

func runReset(ctx context.Context, o resetOptions, out io.Writer) error {
	if err := o.settings.CheckBrokers(); err != nil {
		return usage(err)
	}
	root, err := openTable(ctx, o.settings, o.table)
	if err != nil {
		return err
	}
	plan, err := sink.PlanReset(ctx, o.settings, root, o.table, o.partition)
	if err != nil {
		return err
	}
	all := []renewed{}
	var failed error
	host, _ := os.Hostname() // for people only
	for _, r := range plan {
		n := renewed{Partition: r.Head.ID, Generation: r.Head.Generation + 1, Published: r.Head.Next, First: r.First, SameLog: r.SameLog()}
		if p := r.Head.Pending; p != nil {
			n.Pending = &p.Range
		}
		if o.apply {
			_, err := r.Apply(ctx, root, host, "lakeweir "+thisBuild().Version)
			failed, n.Applied = errors.Join(failed, err), err == nil
		}
		all = append(all, n)
	}
	return errors.Join(failed, o.print(out, all))
}

func (o resetOptions) print(out io.Writer, all []renewed) error {
	if o.json {
		return printJSON(out, map[string]any{"table": o.table, "partitions": all})
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PART\tPUBLISHED\tPENDING\tGENERATION\tBEGINS\tLOG\tDONE")
	for _, n := range all {
		pending, log, done := "-", "another", "no"
		if n.Pending != nil {
			pending = n.Pending.String()
		}
		if n.SameLog {
			log = "THE SAME: rows will be there twice"
		}
		if n.Applied {
			done = "yes"
		}
		fmt.Fprintf(w, "%d\t%d\t%s\t%d\t%d\t%s\t%s\n", n.Partition, n.Published, pending, n.Generation, n.First, log, done)
	}
	if !o.apply {
		fmt.Fprintln(w, "Nothing was changed. Stop the sink and add --apply to do it.")
	}
	return w.Flush()
}
