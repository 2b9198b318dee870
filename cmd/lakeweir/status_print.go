package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"
)

func (o statusOptions) print(r report, out, errOut io.Writer) error {
	if r.Partitions == nil {
		r.Partitions = []partitionStatus{}
	}
	if o.json {
		return printJSON(out, r)
	}
	if len(r.Partitions) == 0 {
		fmt.Fprintln(out, "nothing is published in", o.settings.Store)
	} else if err := r.table(out, time.Now()); err != nil {
		return err
	}
	if r.Broker != "" {
		fmt.Fprintln(errOut, "lakeweir: without the ends of the logs:", r.Broker)
	}
	return nil
}

// table prints the report for people.
func (r report) table(out io.Writer, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TABLE\tPART\tNEXT\tPENDING\tEND\tLAG\tOPEN-TX\tAGE\tROWS\tDEAD\tEPOCH\tOWNER")
	for _, p := range r.Partitions {
		fmt.Fprintf(w, "%s\t%d\t", p.Table, p.Partition)
		switch {
		case p.Error != "":
			fmt.Fprintf(w, "%s\n", p.Error)
			continue
		case !p.Head:
			fmt.Fprintf(w, "no head\t\t%s\t%s\t%s\t\t\t\t\t\n", number(p.LogEnd), number(p.Unpublished), p.open(now))
			continue
		}
		pending, age := "-", "-"
		if p.Pending != nil {
			pending = p.Pending.String()
		}
		if p.Published != nil {
			age = ageText(now.Sub(*p.Published))
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s %s\n", p.Next, pending, number(p.LogEnd),
			number(p.Unpublished), p.open(now), age, p.Totals.Rows, p.Totals.Dead, p.Epoch, p.Host, p.Owner[:min(len(p.Owner), 8)])
	}
	return w.Flush()
}

// open writes how long a transaction has been open that holds the end of the
// log back, by the timestamp of its first record.
func (p partitionStatus) open(now time.Time) string {
	switch {
	case p.Held != nil && *p.Held == 0:
		return "-"
	case p.HeldSince == nil:
		return "?"
	}
	return ageText(now.Sub(*p.HeldSince))
}

// number writes a number that may be unknown.
func number(n *int64) string {
	if n == nil {
		return "?"
	}
	return strconv.FormatInt(*n, 10)
}

// ageText writes how long ago something was, coarsely.
func ageText(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
