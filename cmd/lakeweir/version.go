package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type versionOptions struct{ json bool }

func newVersionCommand() *cobra.Command {
	var o versionOptions
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: args(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runVersion(cmd.Context(), o, cmd.OutOrStdout()) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON object")
	return cmd
}

// build is what is known of this program.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"` // of the revision
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// thisBuild reads what the compiler noted in the program.
func thisBuild() build {
	b := build{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func runVersion(_ context.Context, o versionOptions, out io.Writer) error {
	b := thisBuild()
	if o.json {
		return printJSON(out, b)
	}
	revision := ""
	if b.Revision != "" {
		revision = " (" + b.Revision[:min(len(b.Revision), 12)]
		if b.Modified {
			revision += ", modified"
		}
		revision += ")"
	}
	_, err := fmt.Fprintf(out, "lakeweir %s%s, %s, %s\n", b.Version, revision, b.Go, b.Platform)
	return err
}
