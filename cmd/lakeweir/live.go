package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/lakeweir/lakeweir/internal/sink"
)

// screen is where a running sink shows itself: log lines, and on a terminal a
// live line below them.
type screen struct {
	terminal *os.File // nil when it is none

	mu   sync.Mutex
	out  io.Writer
	line string
}

func newScreen(out io.Writer) *screen {
	return &screen{out: out, terminal: terminalOf(out)}
}

// terminalOf returns out if people look at it, else nil.
func terminalOf(out io.Writer) *os.File {
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// clearLine moves to the begin of the line and clears it (ECMA-48, EL).
const clearLine = "\r\x1b[K"

// Write is io.Writer for log lines: they go above the live line.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == "" {
		return s.out.Write(p)
	}
	_, err := fmt.Fprintf(s.out, "%s%s%s", clearLine, p, s.line)
	return len(p), err
}

// show replaces the live line. "" removes it.
func (s *screen) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal != nil {
		if width, _, err := term.GetSize(int(s.terminal.Fd())); err == nil && width > 0 && len(line) >= width {
			line = line[:width-1]
		}
	}
	s.line = line
	_, _ = io.WriteString(s.out, clearLine+line) // a terminal that is gone ends the process by itself
}

// Times of the live line: how often it changes, and how often the brokers are
// asked for the ends of the logs.
const (
	liveEvery = time.Second
	lagEvery  = 5 * time.Second
)

// follow shows what s does until the returned function is called. It does
// nothing where there is no terminal.
func (s *screen) follow(ctx context.Context, k *sink.Sink) (done func()) {
	if s.terminal == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	lag := &lagWatch{behind: -1}
	wg.Go(func() { lag.watch(ctx, k) })
	wg.Go(func() {
		tick := time.NewTicker(liveEvery)
		defer tick.Stop()
		before := k.Figures()
		for {
			select {
			case <-ctx.Done():
				s.show("")
				return
			case <-tick.C:
				now := k.Figures()
				s.show(liveLine(now, float64(now.Records-before.Records)/liveEvery.Seconds(), lag.get()))
				before = now
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}

// lagWatch asks for the lag now and then.
type lagWatch struct {
	mu     sync.Mutex
	behind int64 // negative when it is not known
}

func (l *lagWatch) watch(ctx context.Context, k *sink.Sink) {
	tick := time.NewTicker(liveEvery) // the first answer soon
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			tick.Reset(lagEvery)
		}
		n, err := k.Lag(ctx)
		if err != nil {
			n = -1
		}
		l.mu.Lock()
		l.behind = n
		l.mu.Unlock()
	}
}

func (l *lagWatch) get() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.behind
}

// liveLine returns the line that is shown every second. What matters most comes
// first, since a narrow terminal cuts the end off.
func liveLine(f sink.Figures, rate float64, lag int64) string {
	behind := "?"
	if lag >= 0 {
		behind = thousands(lag)
	}
	return fmt.Sprintf("%s rows/s | %s rows in %s files | lag %s | %s dead | %d partitions, %d open | %s held",
		thousands(int64(rate)), thousands(f.Rows), thousands(f.Files), behind, thousands(f.Dead), f.Partitions, f.Open, bytesText(f.Memory))
}

// thousands writes a number in groups of three digits.
func thousands(n int64) string {
	digits := fmt.Sprint(n)
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, groups...), ",")
}

// bytesText writes a number of bytes for people: 12.3 MiB.
func bytesText(n int64) string {
	const step = 1024
	if n < step {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), 0
	for v >= step && unit < len("KMGTPE") {
		v, unit = v/step, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGTPE"[unit-1])
}
