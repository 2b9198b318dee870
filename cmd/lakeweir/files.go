package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/sink"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
)

type filesOptions struct {
	settings *settings.Settings
	table    string
	format   string
	dead     bool
}

func newFilesCommand() *cobra.Command {
	var o filesOptions
	var asJSON bool
	var flags settings.Flags
	cmd := &cobra.Command{
		Use: "files TABLE", Short: "Print the live files of a table",
		Long: `Prints the files that the heads of a table name: what a reader is to read, and
nothing else. Formats: paths (keys in the bucket, or paths in the directory),
uris (s3://... or file://...), json (one object a line, with rows, size, hash,
offsets and statistics).`,
		Args: args(1, 1, "the name of one table"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.settings, err = load(&flags); err != nil {
				return err
			}
			if o.table = args[0]; asJSON {
				o.format = "json"
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return runFiles(ctx, o, cmd.OutOrStdout())
		},
	}
	flags.Bind(cmd.Flags(), settings.Store)
	cmd.Flags().StringVar(&o.format, "format", "paths", "paths, uris or json")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	cmd.Flags().BoolVar(&o.dead, "dead", false, "print the dead-letter files instead")
	return cmd
}

// listedFile is a file in JSON.
type listedFile struct {
	Table      string          `json:"table"`
	Partition  int32           `json:"partition"`
	Generation int             `json:"generation,omitempty"`
	Start      int64           `json:"start"`
	Next       int64           `json:"next"`
	Schema     int             `json:"schema"`
	URI        string          `json:"uri"`
	File       json.RawMessage `json:"file"`
}

func runFiles(ctx context.Context, o filesOptions, out io.Writer) error {
	at, err := settings.ParseLocation(o.settings.Store)
	if err != nil {
		return usage(err)
	}
	print, err := o.printer(at)
	if err != nil {
		return usage(err)
	}
	root, err := openTable(ctx, o.settings, o.table)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	for h, err := range manifest.Heads(ctx, root) {
		if err != nil {
			return err
		}
		for r, err := range h.All(ctx, root) {
			if errors.Is(err, store.ErrNotExist) { // no list is ever deleted
				err = fmt.Errorf("%w: %w", manifest.ErrDamage, err)
			}
			if err != nil {
				return err
			}
			files := r.Data
			if o.dead {
				files = r.Dead
			}
			for _, f := range files {
				if err := print(w, h, r, f); err != nil {
					return err
				}
			}
		}
	}
	return w.Flush()
}

// printer returns how a file is printed.
func (o filesOptions) printer(at settings.Location) (func(io.Writer, manifest.Head, manifest.RangeRecord, manifest.File) error, error) {
	switch o.format {
	case "paths":
		return func(w io.Writer, _ manifest.Head, _ manifest.RangeRecord, f manifest.File) error {
			_, err := fmt.Fprintln(w, at.File(o.table+"/"+f.Key))
			return err
		}, nil
	case "uris":
		return func(w io.Writer, _ manifest.Head, _ manifest.RangeRecord, f manifest.File) error {
			uri, err := at.URI(o.table + "/" + f.Key)
			if err == nil {
				_, err = fmt.Fprintln(w, uri)
			}
			return err
		}, nil
	case "json":
		return func(w io.Writer, h manifest.Head, r manifest.RangeRecord, f manifest.File) error {
			uri, err := at.URI(o.table + "/" + f.Key)
			if err != nil {
				return err
			}
			body, err := json.Marshal(f)
			if err != nil {
				return fmt.Errorf("print %s: %w", f.Key, err)
			}
			return json.NewEncoder(w).Encode(listedFile{
				Table: o.table, Partition: h.ID, Generation: r.Generation, Start: r.Start, Next: r.Next,
				Schema: r.Schema, URI: uri, File: body,
			})
		}, nil
	}
	return nil, fmt.Errorf("--format %s is not known: use paths, uris or json", o.format)
}

// openTable opens the root of a table for reading. One without a head is an
// error: a misspelt name must not look like an empty table.
func openTable(ctx context.Context, set *settings.Settings, table string) (store.Store, error) {
	s, err := openStore(ctx, set)
	if err != nil {
		return nil, err
	}
	if err := settings.CheckTopic(table); err != nil {
		return nil, usage(err)
	}
	root := store.Sub(s, table+"/")
	ids, err := manifest.Partitions(ctx, root)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("there is no table %q in %s: `lakeweir status` lists those that are there", table, set.Store)
	}
	return root, nil
}

// openStore opens the store for reading.
func openStore(ctx context.Context, set *settings.Settings) (store.Store, error) {
	if _, err := settings.ParseLocation(set.Store); err != nil {
		return nil, usage(err)
	}
	return sink.OpenExisting(ctx, set)
}
