package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/verify"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
)

type verifyOptions struct {
	settings *settings.Settings
	table    string
	deep     bool
	id       string
	json     bool
}

func newVerifyCommand() *cobra.Command {
	var o verifyOptions
	var flags settings.Flags
	cmd := &cobra.Command{
		Use: "verify TABLE", Short: "Check heads, lists and files of a table against each other",
		Long: `Checks that ranges are contiguous, that every file is there with the size, hash,
rows and accounting that its head records, and that nothing else lies under
data/ and dead/. Writers may go on meanwhile. Nothing is ever changed.

Memory: about 200 bytes for each file and, with --id, 60 bytes for each row.

Exit codes: 0 the table is whole; 1 it could not be checked; 4 damage was found.`,
		Args: args(1, 1, "the name of one table"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.settings, err = load(&flags); err != nil {
				return err
			}
			o.table = args[0]
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return runVerify(ctx, o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags.Bind(cmd.Flags(), settings.Store)
	cmd.Flags().BoolVar(&o.deep, "deep", false, "read every file whole: hash its bytes, check the offset of each row")
	cmd.Flags().StringVar(&o.id, "id", "", "column that no two rows may share a value of; implies --deep")
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON object")
	return cmd
}

// verdict is the outcome in JSON.
type verdict struct {
	Table    string           `json:"table"`
	Files    int64            `json:"files"` // looked at, of data/ and dead/
	Damage   int              `json:"damage"`
	Warnings int              `json:"warnings"`
	Findings []verify.Finding `json:"findings"`
}

func runVerify(ctx context.Context, o verifyOptions, out, errOut io.Writer) error {
	s, err := openStore(ctx, o.settings)
	if err != nil {
		return err
	}
	if err := settings.CheckTopic(o.table); err != nil {
		return usage(err)
	}
	root := store.Sub(s, o.table+"/")
	if err := anything(ctx, root, o); err != nil {
		return err
	}
	bar := newBar(errOut)
	v := verdict{Table: o.table, Findings: []verify.Finding{}}
	opts := verify.Options{Table: o.table, Deep: o.deep, ID: o.id, Progress: func(done, total int64) {
		v.Files = done
		bar.set(done, total)
	}}
	for f, err := range verify.Run(ctx, root, opts) {
		if err != nil {
			bar.clear()
			return err
		}
		if v.add(f); !o.json {
			bar.clear()
			fmt.Fprintln(out, f)
		}
	}
	bar.clear()
	return v.end(o, out)
}

// anything returns an error for a table of which there is no object at all: a
// misspelt name must not pass for a whole table.
func anything(ctx context.Context, root store.Store, o verifyOptions) error {
	for _, err := range root.List(ctx, "", "") {
		return err
	}
	return fmt.Errorf("there is no table %q in %s: `lakeweir status` lists those that are there", o.table, o.settings.Store)
}

func (v *verdict) add(f verify.Finding) {
	if f.Severity == verify.Damage {
		v.Damage++
	} else {
		v.Warnings++
	}
	v.Findings = append(v.Findings, f)
}

// end prints the outcome and returns ErrDamage if there is damage.
func (v *verdict) end(o verifyOptions, out io.Writer) error {
	if o.json {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return err
		}
	}
	if v.Damage > 0 {
		return fmt.Errorf("%w %q: %d findings; nothing was changed", manifest.ErrDamage, v.Table, v.Damage)
	}
	if o.json {
		return nil
	}
	_, err := fmt.Fprintf(out, "table %q is whole (%d files, %d warnings)\n", v.Table, v.Files, v.Warnings)
	return err
}

// bar is a progress bar; on what is no terminal it is nothing.
type bar struct{ *progressbar.ProgressBar }

func newBar(errOut io.Writer) bar {
	f := terminalOf(errOut)
	if f == nil {
		return bar{}
	}
	return bar{progressbar.NewOptions64(1, progressbar.OptionSetWriter(f), progressbar.OptionShowCount(),
		progressbar.OptionSetDescription("files"), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(liveEvery/10))}
}

func (b bar) set(done, total int64) {
	if b.ProgressBar == nil {
		return
	}
	b.ChangeMax64(max(total, 1))
	_ = b.Set64(done) // what a terminal does not show is no failure
}

func (b bar) clear() {
	if b.ProgressBar != nil {
		_ = b.Clear()
	}
}
