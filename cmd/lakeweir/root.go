package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/manifest"
)

// Exit codes. They are promised by the help text.
const (
	exitOK     = 0
	exitError  = 1
	exitUsage  = 2
	exitFenced = 3
	exitDamage = 4
)

const rootHelp = `Lakeweir consumes Kafka topics and writes them to an object store as Parquet
files. A small manifest per partition, changed by compare-and-swap, names the
files and the next offset at once: whatever is killed when, no record is lost
and none is in the table twice.

Settings come from a YAML file (--config), then from LAKEWEIR_ variables, then
from flags; the later wins. "lakeweir config" lists them all.

Exit codes: 0 ok, 1 error, 2 wrong usage or configuration, 3 run ended because
other writers have taken all its partitions, 4 damage was found.`

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use: "lakeweir", Short: "Kafka topics as Parquet files in an object store, each record once",
		Long: rootHelp, SilenceErrors: true, SilenceUsage: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				return usage(fmt.Errorf("there is no command %q: did you mean %q?", args[0], near[0]))
			}
			return usage(fmt.Errorf("there is no command %q: `lakeweir --help` lists them", args[0]))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newRunCommand(), newStatusCommand(), newFilesCommand(), newVerifyCommand(),
		newProbeCommand(), newResetCommand(), newConfigCommand(), newVersionCommand(), newDemoCommand(),
	)
	return root
}

// execute runs a command line and returns the exit code. An error is one line
// on errOut.
func execute(ctx context.Context, args []string, out, errOut io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(errOut, "lakeweir:", oneLine(err))
	}
	return exitCode(err)
}

// oneLine returns the text of an error; joined errors have a line each.
func oneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}

// usageError is an error of the command line or of the configuration.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usage marks an error as one of usage.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, new(usageError)):
		return exitUsage
	case errors.Is(err, manifest.ErrFenced):
		return exitFenced
	case errors.Is(err, manifest.ErrDamage):
		return exitDamage
	}
	return exitError
}

// flagError explains a flag that cannot be read.
func flagError(cmd *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if num := (*strconv.NumError)(nil); errors.As(err, &bad) && errors.As(err, &num) {
		// The words of strconv name the functions of a library.
		return usage(fmt.Errorf("--%s: %q: %w", bad.GetFlag().Name, bad.GetValue(), num.Err))
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usage(err)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := settings.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return usage(fmt.Errorf("%w: did you mean --%s?", err, near))
	}
	return usage(fmt.Errorf("%w: `%s --help` lists the flags", err, cmd.CommandPath()))
}

// args checks the number of arguments. Want says what they are.
func args(least, most int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usage(fmt.Errorf("%s takes %s; %d given", cmd.CommandPath(), want, len(args)))
		}
		return nil
	}
}

// load reads the settings of a command.
func load(f *settings.Flags) (*settings.Settings, error) {
	s, err := settings.Load(f, os.Environ())
	return s, usage(err)
}

// interruptible returns a context that ends with the first signal to stop.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// printJSON prints v as one indented object.
func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
