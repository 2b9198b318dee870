package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/lakeweir/lakeweir/internal/settings"
)

type configOptions struct {
	settings *settings.Settings
	json     bool
}

func newConfigCommand() *cobra.Command {
	var o configOptions
	var flags settings.Flags
	cmd := &cobra.Command{
		Use: "config", Short: "Print every setting: meaning, default, value and where it comes from",
		Long: `Prints every setting with its meaning, its default, its effective value and
where that comes from, after file, environment and flags. The output is itself
a configuration file; secrets are left out of it.`,
		Args: args(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.settings, err = load(&flags); err != nil {
				return err
			}
			return runConfig(cmd.Context(), o, cmd.OutOrStdout())
		},
	}
	flags.Bind(cmd.Flags(), settings.Kafka, settings.Store, settings.Sink, settings.Process)
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON object")
	return cmd
}

// listed is a setting in JSON.
type listed struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Origin  string `json:"from"`
	Env     string `json:"env"`
	Flag    string `json:"flag"`
	Kind    string `json:"kind"`
	Secret  bool   `json:"secret,omitempty"`
	Doc     string `json:"doc"`
}

func runConfig(_ context.Context, o configOptions, out io.Writer) error {
	if !o.json {
		_, err := o.settings.WriteTo(out)
		return err
	}
	var all []listed
	for _, st := range o.settings.All() {
		all = append(all, listed{
			Name: st.Name, Value: st.Value(), Default: st.Default, Origin: st.Origin,
			Env: st.Env(), Flag: "--" + st.Flag(), Kind: st.Kind(), Secret: st.Secret, Doc: st.Doc,
		})
	}
	return printJSON(out, map[string]any{"settings": all})
}
