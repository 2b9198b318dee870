// Package plot draws the charts of the benchmarks: lines through measured
// points, as SVG. It is a thin layer over gonum's plotter that fixes what the
// charts of this repository look like. The same values give the same bytes, so
// a chart changes in a commit only when its figures do.
package plot

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Series is one line of a chart: a point at each X[i], Y[i], in that order.
type Series struct {
	Name string // in the legend; "" has no entry there
	X, Y []float64
}

// Chart is one pair of axes. The zero LogX and LogY are linear axes, and a
// linear vertical axis begins at zero.
type Chart struct {
	Title      string
	X, Y       string // what the axes show, with the unit
	LogX, LogY bool   // all values on such an axis must be above zero
	Series     []Series
}

// The size of one chart. Two fit side by side on a page.
const (
	width  = 4.2 * vg.Inch
	height = 3 * vg.Inch
	margin = 0.12 * vg.Inch
)

// Write draws charts into a file, two in a row.
func Write(path string, charts ...Chart) error {
	body, err := SVG(charts...)
	if err != nil {
		return fmt.Errorf("draw %s: %w", path, err)
	}
	return os.WriteFile(path, body, 0o644)
}

// SVG draws charts into one image, two in a row. It returns an error for a
// chart without points, and for values that its axes cannot show.
func SVG(charts ...Chart) ([]byte, error) {
	columns := min(len(charts), 2)
	if columns == 0 {
		return nil, fmt.Errorf("no charts")
	}
	rows := (len(charts) + columns - 1) / columns
	canvas := vgsvg.New(width*vg.Length(columns), height*vg.Length(rows))
	page := draw.New(canvas)
	page.SetColor(white)
	page.Fill(page.Rectangle.Path())
	tiles := draw.Tiles{
		Rows: rows, Cols: columns, PadX: 2 * margin, PadY: 2 * margin,
		PadTop: margin, PadBottom: margin, PadLeft: margin, PadRight: 2 * margin,
	}
	grid := make([][]*gonum.Plot, rows)
	for i, c := range charts {
		p, err := c.plot()
		if err != nil {
			return nil, fmt.Errorf("chart %q: %w", c.Title, err)
		}
		if i%columns == 0 {
			grid[i/columns] = make([]*gonum.Plot, columns)
		}
		grid[i/columns][i%columns] = p
	}
	for y, row := range gonum.Align(grid, tiles, page) {
		for x, c := range row {
			if p := grid[y][x]; p != nil {
				p.Draw(c)
			}
		}
	}
	var body bytes.Buffer
	if _, err := canvas.WriteTo(&body); err != nil {
		return nil, err
	}
	// Where the font is not installed, one of the same widths or any sans serif.
	return bytes.ReplaceAll(body.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif")), nil
}

// plot makes gonum's form of the chart.
func (c Chart) plot() (*gonum.Plot, error) {
	p := gonum.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.Title.Padding = margin
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
	}
	p.Add(grid())
	for i, s := range c.Series {
		if err := c.check(s); err != nil {
			return nil, fmt.Errorf("series %q: %w", s.Name, err)
		}
		line, points, err := plotter.NewLinePoints(xys(s))
		if err != nil {
			return nil, fmt.Errorf("series %q: %w", s.Name, err)
		}
		line.Color, points.Color = colors[i%len(colors)], colors[i%len(colors)]
		line.Width, line.Dashes = vg.Points(1.4), plotutil.Dashes(i)
		points.Shape, points.Radius = plotutil.Shape(i), vg.Points(2.6)
		p.Add(line, points)
		if s.Name != "" {
			p.Legend.Add(s.Name, line, points)
		}
	}
	if len(c.Series) == 0 {
		return nil, fmt.Errorf("no series")
	}
	c.scale(p)
	return p, nil
}

// scale sets up the axes and finds the quietest corner for the legend.
func (c Chart) scale(p *gonum.Plot) {
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{}, ticks{}
	if c.LogX {
		p.X.Scale, p.X.Tick.Marker = gonum.LogScale{}, decades{}
	}
	if c.LogY {
		p.Y.Scale, p.Y.Tick.Marker = gonum.LogScale{}, decades{}
		p.Y.Min, p.Y.Max = p.Y.Min/2, p.Y.Max*4 // room for the legend
	} else {
		p.Y.Min, p.Y.Max = min(p.Y.Min, 0), p.Y.Max*1.3
		if p.Y.Max <= p.Y.Min {
			p.Y.Max = p.Y.Min + 1
		}
	}
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs, p.Legend.YOffs = margin, -margin/2
}

func (c Chart) check(s Series) error {
	if len(s.X) != len(s.Y) || len(s.X) == 0 {
		return fmt.Errorf("%d values across and %d up", len(s.X), len(s.Y))
	}
	for i := range s.X {
		if c.LogX && s.X[i] <= 0 || c.LogY && s.Y[i] <= 0 {
			return fmt.Errorf("a logarithmic axis has no place for %v, %v", s.X[i], s.Y[i])
		}
	}
	return nil
}

func xys(s Series) plotter.XYs {
	points := make(plotter.XYs, len(s.X))
	for i := range points {
		points[i].X, points[i].Y = s.X[i], s.Y[i]
	}
	return points
}

// decades marks the powers of ten of a logarithmic axis.
type decades struct{}

// Ticks is gonum's Ticker.
func (decades) Ticks(low, high float64) []gonum.Tick {
	var all []gonum.Tick
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		at := math.Pow(10, e)
		all = append(all, gonum.Tick{Value: at, Label: Short(at)})
		for m := 2.0; m < 10; m++ {
			all = append(all, gonum.Tick{Value: m * at})
		}
	}
	return all
}

// ticks marks a linear axis as gonum would, with short numbers.
type ticks struct{}

// Ticks is gonum's Ticker.
func (ticks) Ticks(low, high float64) []gonum.Tick {
	all := gonum.DefaultTicks{}.Ticks(low, high)
	for i, t := range all {
		if t.Label != "" {
			all[i].Label = Short(t.Value)
		}
	}
	return all
}

// Short writes a number as an axis has it: 1500 as 1.5k, 2e6 as 2M.
func Short(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= u.size {
			return strings.TrimSuffix(strconv.FormatFloat(v/u.size, 'g', 4, 64), ".0") + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
