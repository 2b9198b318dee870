package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/lakeweir/lakeweir/integration/plot"
)

// growthLine is what a table with so many published files costs. Times are
// processor time; the store is in memory and answers at once.
type growthLine struct {
	Files         int
	CommitMicros  float64 // of package manifest for a commit whose plan rode in the one before
	CommitPuts    float64
	CommitBytes   float64 // written, of the manifest
	QuietMicros   float64 // a commit with a plan of its own
	QuietPuts     float64
	ClaimMicros   float64
	ClaimCalls    int
	ClaimBytes    int64 // read
	LogKiB        float64
	StatusMicros  float64
	StatusCalls   int
	VerifySeconds float64
	VerifyClock   float64
	VerifyCalls   int
	VerifyMiB     float64
}

// growth measures tables of the sizes that are listed, prints a line for each,
// and draws them if svg is a path.
func growth(ctx context.Context, o options) error {
	var tables []*table
	for _, text := range strings.Split(o.growth, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-growth: %q is no number of files", text)
		}
		t, err := newTable(ctx, n)
		if err != nil {
			return fmt.Errorf("make a table of %d files: %w", n, err)
		}
		tables = append(tables, t)
	}
	lines := make([]growthLine, len(tables))
	if err := measureAll(ctx, tables, lines, o.rounds); err != nil {
		return err
	}
	if o.asJSON {
		return json.NewEncoder(os.Stdout).Encode(lines)
	}
	printGrowth(os.Stdout, lines)
	if o.svg == "" {
		return nil
	}
	return plot.Write(o.svg, growthCharts(lines)...)
}

// measureAll measures all tables round by round, so that whatever else the
// machine does meets all of them, and keeps medians. verify is run once.
func measureAll(ctx context.Context, tables []*table, lines []growthLine, rounds int) error {
	all := make([][]growthLine, len(tables))
	for range max(rounds, 1) {
		for i, t := range tables {
			l, err := measureTable(ctx, t)
			if err != nil {
				return fmt.Errorf("table of %d files: %w", t.n, err)
			}
			all[i] = append(all[i], l)
		}
	}
	for i, t := range tables {
		l := all[i][0]
		of := func(f func(l growthLine) float64) float64 {
			var v []float64
			for _, l := range all[i] {
				v = append(v, f(l))
			}
			return median(v)
		}
		l.CommitMicros = of(func(l growthLine) float64 { return l.CommitMicros })
		l.QuietMicros = of(func(l growthLine) float64 { return l.QuietMicros })
		l.ClaimMicros = of(func(l growthLine) float64 { return l.ClaimMicros })
		l.StatusMicros = of(func(l growthLine) float64 { return l.StatusMicros })
		v, err := verifyCost(ctx, t)
		if err != nil {
			return fmt.Errorf("verify a table of %d files: %w", t.n, err)
		}
		l.VerifySeconds, l.VerifyClock = v.cpu.Seconds(), v.clock.Seconds()
		l.VerifyCalls, l.VerifyMiB = v.calls, v.mib
		lines[i] = l
	}
	return nil
}

// measureTable measures all but verify, once.
func measureTable(ctx context.Context, t *table) (growthLine, error) {
	l := growthLine{Files: t.n}
	micros, a, err := commitCost(ctx, t, true)
	if err != nil {
		return l, err
	}
	l.CommitMicros, l.CommitPuts, l.CommitBytes = micros, float64(a.puts)/commits, float64(a.wrote)/commits
	if micros, a, err = commitCost(ctx, t, false); err != nil {
		return l, err
	}
	l.QuietMicros, l.QuietPuts = micros, float64(a.puts)/commits
	if l.ClaimMicros, l.LogKiB, a, err = claimCost(ctx, t); err != nil {
		return l, err
	}
	l.ClaimCalls, l.ClaimBytes = a.gets+a.puts, a.fetched
	if l.StatusMicros, a, err = statusCost(ctx, t); err != nil {
		return l, err
	}
	l.StatusCalls = a.gets
	return l, nil
}

// printGrowth prints a table in Markdown.
func printGrowth(out io.Writer, lines []growthLine) {
	fmt.Fprintf(out, "%d cores, %s, %s/%s\n\n", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	row := func(name, format string, value func(l growthLine) any) {
		fmt.Fprintf(out, "| %s |", name)
		for _, l := range lines {
			fmt.Fprintf(out, " "+format+" |", value(l))
		}
		fmt.Fprintln(out)
	}
	row("published files", "%d", func(l growthLine) any { return l.Files })
	fmt.Fprintln(out, strings.Repeat("|---", len(lines)+1)+"|")
	row("commit under load: CPU us", "%.0f", func(l growthLine) any { return l.CommitMicros })
	row("its PUTs to the manifest", "%.3f", func(l growthLine) any { return l.CommitPuts })
	row("its bytes written, KiB", "%.1f", func(l growthLine) any { return l.CommitBytes / 1024 })
	row("quiet commit: CPU us", "%.0f", func(l growthLine) any { return l.QuietMicros })
	row("its PUTs to the manifest", "%.3f", func(l growthLine) any { return l.QuietPuts })
	row("claim: calls", "%d", func(l growthLine) any { return l.ClaimCalls })
	row("bytes read, KiB", "%.1f", func(l growthLine) any { return float64(l.ClaimBytes) / 1024 })
	row("CPU us", "%.0f", func(l growthLine) any { return l.ClaimMicros })
	row("heap of a claim, KiB", "%.0f", func(l growthLine) any { return l.LogKiB })
	row("status: calls", "%d", func(l growthLine) any { return l.StatusCalls })
	row("CPU us", "%.0f", func(l growthLine) any { return l.StatusMicros })
	row("verify: calls", "%d", func(l growthLine) any { return l.VerifyCalls })
	row("CPU s", "%.3f", func(l growthLine) any { return l.VerifySeconds })
	row("clock s", "%.3f", func(l growthLine) any { return l.VerifyClock })
	row("heap, MiB", "%.1f", func(l growthLine) any { return l.VerifyMiB })
}

func growthCharts(lines []growthLine) []plot.Chart {
	series := func(name string, value func(l growthLine) float64) plot.Series {
		s := plot.Series{Name: name}
		for _, l := range lines {
			s.X, s.Y = append(s.X, float64(l.Files)), append(s.Y, value(l))
		}
		return s
	}
	chart := func(title, y string, log bool, series ...plot.Series) plot.Chart {
		return plot.Chart{Title: title, X: "published files", Y: y, LogX: true, LogY: log, Series: series}
	}
	return []plot.Chart{
		chart("Cost of a commit", "CPU, microseconds", false,
			series("quiet", func(l growthLine) float64 { return l.QuietMicros }),
			series("under load", func(l growthLine) float64 { return l.CommitMicros })),
		chart("Start and status of a partition", "CPU, microseconds", false,
			series("claim", func(l growthLine) float64 { return l.ClaimMicros }),
			series("status", func(l growthLine) float64 { return l.StatusMicros })),
		chart("Memory of a claim", "KiB", false, series("", func(l growthLine) float64 { return l.LogKiB })),
		chart("verify, every footer", "seconds", true,
			series("CPU", func(l growthLine) float64 { return l.VerifySeconds }),
			series("clock", func(l growthLine) float64 { return l.VerifyClock })),
	}
}
