package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/internal/sink"
)

func TestLiveLine(t *testing.T) {
	f := sink.Figures{Partitions: 4, Open: 2, Rows: 1234567, Dead: 3, Files: 17, Memory: 45 << 20}
	want := "12,345 rows/s | 1,234,567 rows in 17 files | lag 890 | 3 dead | 4 partitions, 2 open | 45.0 MiB held"
	if got := liveLine(f, 12345.6, 890); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := liveLine(f, 0, -1); !strings.Contains(got, "| lag ? |") {
		t.Errorf("unknown lag: %s", got)
	}
}

func TestNumbersForPeople(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(thousands(0), "0")
	f(thousands(999), "999")
	f(thousands(1000), "1,000")
	f(thousands(1234567), "1,234,567")
	f(bytesText(0), "0 B")
	f(bytesText(1023), "1023 B")
	f(bytesText(1024), "1.0 KiB")
	f(bytesText(1536<<20), "1.5 GiB")
	f(ageText(-time.Second), "0s")
	f(ageText(90*time.Second), "90s")
	f(ageText(90*time.Minute), "90m")
	f(ageText(30*time.Hour), "30h")
	f(ageText(72*time.Hour), "3d")
}

// Log lines go above the live line, which stays.
func TestScreen(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(&out)
	fmt.Fprintln(s, "one")
	s.show("live")
	fmt.Fprintln(s, "two")
	s.show("")
	fmt.Fprintln(s, "three")
	want := "one\n" + clearLine + "live" + clearLine + "two\nlive" + clearLine + "three\n"
	if out.String() != want {
		t.Errorf("got %q\nwant %q", out.String(), want)
	}
	// Without a terminal nothing is shown.
	out.Reset()
	s.follow(t.Context(), nil)()
	if out.Len() > 0 {
		t.Errorf("shown: %q", out.String())
	}
}

func TestLog(t *testing.T) {
	f := func(l settings.Log, want string) {
		t.Helper()
		var out bytes.Buffer
		log := newLog(&out, l)
		log.Info("hello", "n", 1)
		log.LogAttrs(t.Context(), slog.LevelError, "bad")
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "hello") == (l.Level == "error") {
			t.Errorf("%+v: %s", l, out.String())
		}
	}
	f(settings.Log{Level: "info", Format: "text"}, "level=INFO msg=hello n=1")
	f(settings.Log{Level: "debug", Format: "json"}, `"msg":"hello","n":1}`)
	f(settings.Log{Level: "error", Format: "text"}, "level=ERROR msg=bad")
}
