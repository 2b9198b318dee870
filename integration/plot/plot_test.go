package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sample() Chart {
	return Chart{
		Title: "Cost of a commit", X: "files", Y: "microseconds", LogX: true,
		Series: []Series{
			{Name: "median", X: []float64{1e3, 1e5, 1e6}, Y: []float64{90, 91, 95}},
			{Name: "99 of 100", X: []float64{1e3, 1e5, 1e6}, Y: []float64{190, 191, 195}},
		},
	}
}

// The image is well-formed XML and says what the chart does: title, axes,
// legend, marks of decades.
func TestSVG(t *testing.T) {
	body, err := SVG(sample())
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(body)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"Cost of a commit", "files", "microseconds", "median", "99 of 100", ">1k<", ">100k<", ">1M<", "Liberation Sans,Arial"} {
		if !strings.Contains(string(body), text) {
			t.Errorf("the image does not say %q", text)
		}
	}
}

// Equal values give equal bytes; another value gives others.
func TestDeterministic(t *testing.T) {
	first, err := SVG(sample(), sample(), sample())
	if err != nil {
		t.Fatal(err)
	}
	second, err := SVG(sample(), sample(), sample())
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two images of equal charts differ (%v)", err)
	}
	changed := sample()
	changed.Series[0].Y[1] = 120
	third, err := SVG(sample(), sample(), changed)
	if err != nil || bytes.Equal(first, third) {
		t.Errorf("another value gives the same image (%v)", err)
	}
}

// What cannot be drawn is an error that names chart and series.
func TestErrors(t *testing.T) {
	f := func(want string, change func(c *Chart)) {
		t.Helper()
		c := sample()
		change(&c)
		if _, err := SVG(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
	// Coordinates that do not pair.
	f(`series "median": 3 values across and 2 up`, func(c *Chart) { c.Series[0].Y = c.Series[0].Y[:2] })
	// A series without points.
	f("0 values", func(c *Chart) { c.Series[0] = Series{Name: "median"} })
	// Zero on a logarithmic axis.
	f("logarithmic axis has no place for 0,", func(c *Chart) { c.Series[1].X[0] = 0 })
	f("has no place for 1000, 0", func(c *Chart) { c.LogY = true; c.Series[1].Y[0] = 0 })
	// A value that is no number.
	f(`series "99 of 100"`, func(c *Chart) { c.Series[1].Y[0] = math.NaN() })
	// Nothing to draw.
	f(`chart "Cost of a commit": no series`, func(c *Chart) { c.Series = nil })
	if _, err := SVG(); err == nil {
		t.Error("an image of no charts is no error")
	}
}

// A line of zeros, and one point alone, have axes too.
func TestFlat(t *testing.T) {
	f := func(x, y []float64) {
		t.Helper()
		body, err := SVG(Chart{Title: "flat", Series: []Series{{X: x, Y: y}}})
		if err != nil {
			t.Fatal(err)
		}
		if s := string(body); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
			t.Error("the image has coordinates that are no numbers")
		}
	}
	f([]float64{1, 2}, []float64{0, 0})
	f([]float64{1}, []float64{7})
	f([]float64{1, 2}, []float64{-3, -4})
}

func TestShort(t *testing.T) {
	f := func(v float64, want string) {
		t.Helper()
		if got := Short(v); got != want {
			t.Errorf("Short(%v) = %q, want %q", v, got, want)
		}
	}
	f(0, "0")
	f(0.25, "0.25")
	f(999, "999")
	f(1000, "1k")
	f(1500, "1.5k")
	f(2e6, "2M")
	f(-3e9, "-3G")
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.svg")
	if err := Write(path, sample()); err != nil {
		t.Fatal(err)
	}
	want, err := SVG(sample())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file does not hold the image (%v)", err)
	}
	// Nothing is written of a chart that cannot be drawn, and the path is named.
	if err := Write(path, Chart{}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got error %v", err)
	}
}
