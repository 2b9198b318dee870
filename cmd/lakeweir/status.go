package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/sink"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
)

type statusOptions struct {
	settings *settings.Settings
	tables   []string // none is all that the store has
	named    bool     // they were named, not found
	noBroker bool
	json     bool
}

func newStatusCommand() *cobra.Command {
	var o statusOptions
	var flags settings.Flags
	cmd := &cobra.Command{
		Use: "status [TABLE...]", Short: "Print how far each partition is published",
		Long: `Prints for each partition what its head says (next offset, pending range, epoch
and owner, rows) and, where brokers are set and answer, the END of the log and
the LAG: how much of it is not published yet. OPEN-TX is the age of an open
transaction that holds the END back: what lies behind it cannot be read before
it ends, and is no lag. AGE is that of the last publish.
Without names: the topics of the settings, or all tables of the store if there
are none. A name between slashes, such as '/evt\..*/', is a regular expression.`,
		Args: args(0, 1<<20, "names of tables"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.settings, err = load(&flags); err != nil {
				return err
			}
			o.tables = args
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return runStatus(ctx, o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags.Bind(cmd.Flags(), settings.Store, settings.Kafka)
	cmd.Flags().BoolVar(&o.noBroker, "no-broker", false, "do not ask the brokers")
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON object")
	return cmd
}

// partitionStatus is what is known of a partition.
type partitionStatus struct {
	Table       string          `json:"table"`
	Partition   int32           `json:"partition"`
	Head        bool            `json:"head"` // false: nothing was ever published of it
	Generation  int             `json:"generation"`
	First       int64           `json:"first_offset"`
	Next        int64           `json:"next_offset"`
	Pending     *manifest.Range `json:"pending"`
	LogStart    *int64          `json:"log_start"` // null: not asked, or no answer
	LogEnd      *int64          `json:"log_end"`
	Unpublished *int64          `json:"unpublished"`
	Held        *int64          `json:"open_transaction_records"` // behind log_end
	HeldSince   *time.Time      `json:"open_transaction_since"`   // null: none is open, or it is not known
	Published   *time.Time      `json:"last_publish"`
	Epoch       uint64          `json:"epoch"`
	Owner       string          `json:"owner"`
	Host        string          `json:"host"`
	Software    string          `json:"software"`
	Totals      manifest.Totals `json:"totals"`
	Error       string          `json:"error,omitempty"`

	err error // behind Error
}

// report is the status of all tables that were asked for.
type report struct {
	Partitions []partitionStatus `json:"partitions"`
	Broker     string            `json:"broker_error,omitempty"` // why the ends of logs are missing
}

func runStatus(ctx context.Context, o statusOptions, out, errOut io.Writer) error {
	s, err := openStore(ctx, o.settings)
	if err != nil {
		return err
	}
	wanted, err := o.wanted()
	if err != nil {
		return usage(err)
	}
	if o.tables, err = names(ctx, s, wanted); err != nil {
		return err
	}
	var r report
	for _, table := range o.tables {
		heads, err := readStatus(ctx, store.Sub(s, table+"/"), table)
		if err != nil {
			return fmt.Errorf("table %q: %w", table, err)
		}
		r.Partitions = append(r.Partitions, heads...)
	}
	if !o.noBroker && len(o.settings.Brokers) > 0 {
		if err := o.askBrokers(ctx, wanted, &r); err != nil {
			r.Broker = oneLine(err)
		}
	}
	var unknown error
	if o.named {
		unknown = r.unknown(wanted, o.settings.Store)
	}
	if unknown != nil && len(r.Partitions) == 0 {
		return unknown
	}
	return cmp.Or(o.print(r, out, errOut), unknown, r.failed())
}

// failed returns the errors of heads that could not be read, so that a script
// which looks at the exit code only does not take them for well.
func (r *report) failed() error {
	var errs []error
	for _, p := range r.Partitions {
		errs = append(errs, p.err)
	}
	return errors.Join(errs...)
}

// unknown returns an error if neither the store nor a broker knows a table that
// was asked for.
func (r *report) unknown(wanted *settings.Settings, where string) error {
	for _, t := range wanted.Topics {
		if !slices.ContainsFunc(r.Partitions, func(p partitionStatus) bool { return p.Table == t.Name || wanted.Takes(t, p.Table) }) {
			return fmt.Errorf("there is no table %q in %s: `lakeweir status` without a name lists those that are there", t.Name, where)
		}
	}
	return nil
}

// wanted returns the settings with the topics that are asked for: those named,
// else their own.
func (o *statusOptions) wanted() (*settings.Settings, error) {
	o.named = len(o.tables) > 0
	if !o.named {
		return o.settings, nil
	}
	set := *o.settings
	set.Topics = nil
	for _, name := range o.tables {
		t, err := settings.ParseTopic(name)
		if err != nil {
			return nil, err
		}
		set.Topics = append(set.Topics, t)
	}
	return &set, nil
}

// names returns the tables that the topics of the settings mean: those of a
// pattern as far as the store has them. Without topics it is all of the store.
func names(ctx context.Context, s store.Store, set *settings.Settings) ([]string, error) {
	var names []string
	for _, t := range set.Topics {
		if !t.IsPattern() {
			names = append(names, t.Name)
		}
	}
	if len(names) == len(set.Topics) && len(names) > 0 {
		slices.Sort(names)
		return slices.Compact(names), nil
	}
	all, err := tables(ctx, s)
	for _, name := range all {
		if _, ok := set.Topic(name); ok || len(set.Topics) == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// tables returns the names of the folders of s that hold a head, hopping over
// what is in them.
func tables(ctx context.Context, s store.Store) ([]string, error) {
	var names []string
	after := ""
	for {
		info, err := firstAfter(ctx, s, after)
		if err != nil || info.Key == "" {
			return names, err
		}
		name, _, nested := strings.Cut(info.Key, "/")
		after = name + "/\xff"
		if !nested {
			after = name
			continue
		}
		if settings.CheckTopic(name) != nil {
			continue
		}
		ids, err := manifest.Partitions(ctx, store.Sub(s, name+"/"))
		if err != nil {
			return nil, err
		}
		if len(ids) > 0 {
			names = append(names, name)
		}
	}
}

// firstAfter returns the first object after a key, and no key at the end.
func firstAfter(ctx context.Context, s store.Store, after string) (store.Info, error) {
	for info, err := range s.List(ctx, "", after) {
		if err != nil {
			return store.Info{}, fmt.Errorf("list tables: %w", err)
		}
		return info, nil
	}
	return store.Info{}, nil
}

// readStatus reads the heads of a table. One that cannot be understood is a
// line like the others.
func readStatus(ctx context.Context, root store.Store, table string) ([]partitionStatus, error) {
	ids, err := manifest.Partitions(ctx, root)
	if err != nil {
		return nil, err
	}
	var all []partitionStatus
	for _, id := range ids {
		h, err := manifest.Read(ctx, root, id)
		if errors.Is(err, manifest.ErrFormat) || errors.Is(err, manifest.ErrDamage) {
			all = append(all, partitionStatus{Table: table, Partition: id, Head: true, Error: oneLine(err), err: err})
			continue
		}
		if err != nil {
			return nil, err
		}
		st := partitionStatus{
			Table: table, Partition: id, Head: true, Generation: h.Generation, First: h.First, Next: h.Next,
			Epoch: h.Epoch, Owner: h.Owner.ID, Host: h.Owner.Host, Software: h.Owner.Software, Totals: h.Totals,
		}
		if h.Pending != nil {
			st.Pending = &h.Pending.Range
		}
		if st.Published, err = lastPublish(ctx, root, h); err != nil {
			return nil, err
		}
		all = append(all, st)
	}
	return all, nil
}

// lastPublish returns about when h last published, by the store's clock and
// for people only: when the newest file was written, or else the head.
func lastPublish(ctx context.Context, root store.Store, h manifest.Head) (*time.Time, error) {
	key := h.HeadKey()
	if n := len(h.Ranges); n > 0 {
		if keys := h.Ranges[n-1].Keys(); len(keys) > 0 {
			key = keys[0]
		}
	} else if h.Totals.Ranges == 0 {
		return nil, nil
	}
	info, err := root.Stat(ctx, key)
	if errors.Is(err, store.ErrNotExist) {
		return nil, nil // verify is the command that complains
	}
	if err != nil {
		return nil, err
	}
	return &info.Modified, nil
}

// askBrokers adds the ends of the logs, and partitions that have no head yet:
// those of topics that only a pattern means too.
func (o statusOptions) askBrokers(ctx context.Context, wanted *settings.Settings, r *report) error {
	if err := o.settings.CheckBrokers(); err != nil {
		return err
	}
	var errs []error
	names := slices.Clone(o.tables)
	if slices.ContainsFunc(wanted.Topics, settings.Topic.IsPattern) {
		topics, err := sink.Topics(ctx, wanted)
		if err != nil {
			return err // one line says it for all tables
		}
		names = append(names, topics...)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	for _, table := range names {
		logs, err := sink.Logs(ctx, o.settings, table)
		if err != nil {
			errs = append(errs, err)
		}
		for _, l := range logs {
			r.add(table, l)
		}
	}
	slices.SortFunc(r.Partitions, func(a, b partitionStatus) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Partition, b.Partition))
	})
	return errors.Join(errs...)
}

// add notes what the brokers say of a partition.
func (r *report) add(table string, l sink.Log) {
	i := slices.IndexFunc(r.Partitions, func(p partitionStatus) bool {
		return p.Table == table && p.Partition == l.Partition
	})
	if i < 0 {
		r.Partitions = append(r.Partitions, partitionStatus{Table: table, Partition: l.Partition})
		i = len(r.Partitions) - 1
	}
	p := &r.Partitions[i]
	from := max(p.Next, l.Start)
	unpublished := max(l.End-from, 0)
	p.LogStart, p.LogEnd, p.Held = &l.Start, &l.End, &l.Held
	if !l.Since.IsZero() {
		p.HeldSince = &l.Since
	}
	if p.Error == "" {
		p.Unpublished = &unpublished
	}
}
