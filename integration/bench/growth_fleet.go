package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lakeweir/lakeweir/integration/gateway"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/dir"
)

// member is a running process of the command in a group.
type member struct {
	cmd *exec.Cmd

	mu     sync.Mutex
	claims int // lines of the log that say so
	last   string
	done   chan struct{}
}

// join starts a member of a group on one core.
func (b *bench) join(config, name string) (*member, error) {
	m := &member{cmd: exec.Command(b.command, "run", "--config", config, "--group", "bench", "--member", name), done: make(chan struct{})}
	m.cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "AWS_ACCESS_KEY_ID="+gateway.AccessKey, "AWS_SECRET_ACCESS_KEY="+gateway.SecretKey)
	errs, err := m.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(m.done)
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			m.mu.Lock()
			m.last = lines.Text()
			if strings.Contains(m.last, "msg=claimed") {
				m.claims++
			}
			m.mu.Unlock()
		}
		_ = m.cmd.Wait() // ProcessState tells
	}()
	return m, nil
}

// claimed returns how many claims the process has told of.
func (m *member) claimed() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.claims
}

// leave stops the process and returns the processor time that it took.
func (m *member) leave() (time.Duration, error) {
	_ = m.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-m.done:
	case <-time.After(time.Minute):
		_ = m.cmd.Process.Kill()
		<-m.done
	}
	if code := m.cmd.ProcessState.ExitCode(); code != 0 {
		return 0, fmt.Errorf("a member ended with code %d: %s", code, m.last)
	}
	return m.cmd.ProcessState.UserTime() + m.cmd.ProcessState.SystemTime(), nil
}

// await asks every 20 ms until ok says yes, and returns how long that took.
func await(ctx context.Context, limit time.Duration, what string, ok func() (bool, error)) (time.Duration, error) {
	begin, again := time.Now(), time.NewTicker(20*time.Millisecond)
	defer again.Stop()
	late := time.After(limit)
	for {
		yes, err := ok()
		if yes || err != nil {
			return time.Since(begin), err
		}
		select {
		case <-again.C:
		case <-late:
			return 0, fmt.Errorf("after %v still not so: %s", limit, what)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// processes measures groups of one process and of several, one core each, on
// the same topic, and prints records a second beside those of the first.
func processes(ctx context.Context, o options) error {
	b, err := newFleet(ctx, &o)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	defer b.close()
	if err := b.load(ctx, "events", "lz4"); err != nil {
		return fmt.Errorf("fill the topic: %w", err)
	}
	var counts []int
	for _, text := range strings.Split(o.processes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-processes: %q is no number of processes", text)
		}
		counts = append(counts, n)
	}
	rates, micros := make([][]float64, len(counts)), make([][]float64, len(counts))
	for range o.rounds {
		for i, n := range counts {
			rate, cpu, err := b.fleet(ctx, n)
			if err != nil {
				return fmt.Errorf("%d processes: %w", n, err)
			}
			rates[i], micros[i] = append(rates[i], rate), append(micros[i], float64(cpu.Microseconds())/float64(o.records))
		}
	}
	fmt.Printf("| processes | records/s | ratio | CPU us/record of all |\n|---|---|---|---|\n")
	for i, n := range counts {
		fmt.Printf("| %d | %.0f | %.2f | %.2f |\n", n, median(rates[i]), median(rates[i])/median(rates[0]), median(micros[i]))
	}
	return nil
}

// newFleet starts what a group needs: the command and a broker.
func newFleet(ctx context.Context, o *options) (*bench, error) {
	dir, err := os.MkdirTemp("", "lakeweir-bench-")
	if err != nil {
		return nil, err
	}
	b, err := newBench(ctx, *o, dir)
	if err != nil {
		os.RemoveAll(dir)
	}
	return b, err
}

// fleet lets a group of n write a fresh table, and returns records a second
// between a quarter and nineteen of twenty published, when all have joined.
func (b *bench) fleet(ctx context.Context, n int) (rate float64, cpu time.Duration, err error) {
	config, location, err := b.config("events", "dir", "json")
	if err != nil {
		return 0, 0, err
	}
	root := strings.TrimPrefix(location, "dir:")
	defer os.RemoveAll(root)
	var members []*member
	defer func() {
		for _, m := range members {
			took, failed := m.leave()
			cpu, err = cpu+took, errors.Join(err, failed)
		}
	}()
	for i := range n {
		m, err := b.join(config, fmt.Sprintf("member-%d", i))
		if err != nil {
			return 0, 0, err
		}
		members = append(members, m)
	}
	s, err := dir.New(ctx, dir.Config{Root: root})
	if err != nil {
		return 0, 0, err
	}
	var rows int64
	until := func(want int) func() (bool, error) {
		return func() (bool, error) {
			rows, err = published(ctx, store.Sub(s, "events/"))
			return rows >= int64(want), err
		}
	}
	if _, err := await(ctx, 5*time.Minute, "a quarter is published", until(b.records/4)); err != nil {
		return 0, 0, err
	}
	first := rows
	took, err := await(ctx, 5*time.Minute, "nineteen of twenty are published", until(b.records*19/20))
	if err != nil {
		return 0, 0, err
	}
	rate = float64(rows-first) / took.Seconds()
	_, err = await(ctx, time.Minute, "all is published", until(b.records))
	return rate, cpu, err
}

// published returns the rows of a table.
func published(ctx context.Context, s store.Store) (rows int64, err error) {
	for h, err := range manifest.Heads(ctx, s) {
		if err != nil {
			return 0, err
		}
		rows += h.Totals.Rows
	}
	return rows, nil
}

// rebalance measures how long a group takes until every partition of a large
// topic is claimed: by the first process, after a second one came, and after
// it went.
func rebalance(ctx context.Context, o options) error {
	o.records = 1 // of the file for DuckDB, which is not needed here
	b, err := newFleet(ctx, &o)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	defer b.close()
	n := o.rebalance
	if err := b.empty(ctx, n); err != nil {
		return fmt.Errorf("make the topic: %w", err)
	}
	config, _, err := b.config("events", "dir", "raw")
	if err != nil {
		return err
	}
	first, err := b.join(config, "first")
	if err != nil {
		return err
	}
	defer first.leave()
	const limit = 3 * time.Minute
	alone, err := await(ctx, limit, "the first process has all partitions", func() (bool, error) { return first.claimed() >= n, nil })
	if err != nil {
		return err
	}
	before := first.claimed()
	second, err := b.join(config, "second")
	if err != nil {
		return err
	}
	defer second.leave()
	come, err := await(ctx, limit, "two processes share the partitions", func() (bool, error) {
		return second.claimed() >= n/2 && first.claimed()-before >= n-n/2, nil
	})
	if err != nil {
		return err
	}
	before, begin := first.claimed(), time.Now()
	cpu, err := second.leave()
	if err != nil {
		return err
	}
	if _, err := await(ctx, limit, "the first process has all again", func() (bool, error) { return first.claimed()-before >= n, nil }); err != nil {
		return err
	}
	gone := time.Since(begin)
	all, err := first.leave()
	if err != nil {
		return err
	}
	fmt.Printf("| %d partitions | seconds until all are claimed |\n|---|---|\n", n)
	fmt.Printf("| first process starts | %.1f |\n| second process starts | %.1f |\n| second process is stopped | %.1f |\n", alone.Seconds(), come.Seconds(), gone.Seconds())
	fmt.Printf("\nprocessor time: first %.1f s, second %.1f s\n", all.Seconds(), cpu.Seconds())
	return nil
}

// empty makes a topic without records: what a rebalance takes when nothing is
// in hand.
func (b *bench) empty(ctx context.Context, partitions int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.brokers))
	if err != nil {
		return err
	}
	defer cl.Close()
	_, err = kadm.NewClient(cl).CreateTopic(ctx, int32(partitions), 1, nil, "events")
	return err
}
