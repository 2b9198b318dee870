package demo

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/schollz/progressbar/v3"

	"github.com/lakeweir/lakeweir/store"
)

// stage is what people see of a show: a bar, a line for each incident, and in
// the end the account.
type stage struct {
	out     io.Writer
	bar     *progressbar.ProgressBar // nil where none can be drawn
	records int64
	kills   int // planned

	terminal io.Writer // of the bar
}

// newStage returns the stage of a show. The bar is drawn on a terminal; nil is
// none.
func newStage(out, terminal io.Writer, records, kills int) *stage {
	s := &stage{out: out, records: int64(records), kills: kills, terminal: terminal}
	if terminal != nil {
		s.bar = progressbar.NewOptions(records, progressbar.OptionSetWriter(terminal),
			progressbar.OptionSetDescription("published"), progressbar.OptionShowCount(),
			progressbar.OptionSetWidth(30), progressbar.OptionClearOnFinish())
	}
	return s
}

// progress moves the bar. Its errors are those of the terminal, and do not matter.
func (s *stage) progress(done int64) {
	if s.bar != nil {
		_ = s.bar.Set64(min(done, s.records))
	}
}

// say prints a line above the bar.
func (s *stage) say(format string, args ...any) {
	if s.bar != nil {
		_ = s.bar.Clear()
	}
	fmt.Fprintf(s.out, format+"\n", args...)
	if s.bar != nil {
		_ = s.bar.RenderBlank()
	}
}

// killed tells of a kill.
func (s *stage) killed(show *show, c, beside *child, in incident, at report) {
	where := in.step.String()
	if at.Key != "" {
		where += " of " + at.Key
	}
	if beside != nil {
		where += ", with " + beside.name + " on the same partitions"
	}
	s.say("kill %2d/%d  %-7s  %7d published  %s", show.result.Kills, s.kills, c.name, show.done(), where)
}

// paused tells of a sink that was stopped across a takeover.
func (s *stage) paused(show *show, c, heir *child, at report, fences int) {
	s.say("stopped    %-7s  %7d published  before data PUT of %s; %s took over; woken, it was fenced out of %d partitions",
		c.name, show.done(), at.Key, heir.name, fences)
}

// close takes the bar away.
func (s *stage) close() {
	if s.bar != nil {
		_ = s.bar.Finish()
		fmt.Fprint(s.terminal, "\r\x1b[K") // what a terminal adds to the line, as the ^C of an interrupt
	}
}

// account prints what became of the records.
func (s *stage) account(r *Report) {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, a Account) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name, a.Sent, a.Rows, a.Dead, a.Duplicates, a.Lost, a.Doubled)
	}
	fmt.Fprintln(w, "\npartition\tsent\trows\tdead letters\tduplicates\tlost\tdoubled\t")
	for p, a := range r.Partitions {
		row(fmt.Sprint(p), a)
	}
	row("all", r.Account)
	_ = w.Flush()
	fmt.Fprintf(s.out, "\n%d sinks, %d killed: %s; %d stopped across a takeover; %d times a sink was fenced out of a partition\n",
		r.Sinks, r.Kills, r.killsByStep(), r.Pauses, r.Fences)
	for _, note := range r.Notes {
		fmt.Fprintln(s.out, "note:", note)
	}
	for _, problem := range r.Failed {
		fmt.Fprintln(s.out, "problem:", problem)
	}
}

// killsByStep returns the kills in the order of the protocol.
func (r *Report) killsByStep() string {
	var parts []string
	for _, step := range append(slices.Clone(named), Anytime) {
		if n := r.Steps[step.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, step))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// listed is how many objects of a folder are shown.
const listed = 3

// places prints where the files are, and what to do with them.
func (s *stage) places(ctx context.Context, root store.Store, r *Report) error {
	fmt.Fprintf(s.out, "\nThe table is in %s/%s\n", r.Dir, r.Table)
	for _, prefix := range []string{"data/", "dead/", "manifest/", "schema/"} {
		n := 0
		for info, err := range root.List(ctx, prefix, "") {
			if err != nil {
				return fmt.Errorf("list %s: %w", prefix, err)
			}
			if n++; n <= listed {
				fmt.Fprintf(s.out, "%8d bytes  %s\n", info.Size, info.Key) // the size first: 80 columns do
			}
		}
		if n > listed {
			fmt.Fprintf(s.out, "  ... and %d more under %s\n", n-listed, prefix)
		}
	}
	fmt.Fprintf(s.out, "\nIn DuckDB:\n  SELECT kafka_partition, count(*), count(DISTINCT id), max(magnitude)\n  FROM '%s/%s/data/*.parquet' GROUP BY ALL ORDER BY 1;\n\n", r.Dir, r.Table)
	fmt.Fprintf(s.out, "%d of %d records are there once, in %.1f s (seed %d)\n", r.Sent-r.Lost-r.Doubled, r.Sent, r.Seconds, r.Seed)
	return nil
}
