package settings

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/lakeweir/lakeweir/manifest"
)

// WriteTo prints all settings as a configuration file: each with its meaning,
// its default, its value and where that comes from. Secrets are left out.
func (s *Settings) WriteTo(out io.Writer) (int64, error) {
	w := bufio.NewWriter(out)
	counted := &counter{w: w}
	for i, st := range s.all {
		if i > 0 {
			fmt.Fprintln(counted)
		}
		for _, line := range wrap(st.Doc, lineWidth) {
			fmt.Fprintln(counted, "#", line)
		}
		fmt.Fprintf(counted, "# Default: %s. From: %s. Also %s, --%s.\n", orNone(st.Default), st.Origin, st.Env(), st.Flag())
		switch {
		case st.Name == "topics" && len(s.Topics) > 0:
			s.writeTopics(counted)
		case st.Secret && st.Value() != "":
			fmt.Fprintf(counted, "# %s: %s\n", st.Name, Hidden)
		default:
			fmt.Fprintf(counted, "%s: %s\n", st.Name, st.scalar())
		}
	}
	return counted.n, w.Flush()
}

// lineWidth is where comments are wrapped.
const lineWidth = 100

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

func orNone(t string) string {
	if t == "" {
		return "none"
	}
	return t
}

// scalar returns the value as the file takes it; nothing when it is not set.
func (s *Setting) scalar() string {
	v := s.Value()
	switch {
	case v == "" && s.Kind() != "list":
		return ""
	case s.Kind() == "list":
		var items []string
		if v != "" {
			items = strings.Split(v, ",")
		}
		for i := range items {
			items[i] = quote(items[i])
		}
		return "[" + strings.Join(items, ", ") + "]"
	case s.Kind() == "text" || s.Kind() == "partitions":
		return quote(v)
	}
	return v
}

// quote leaves words that YAML reads as they are, and quotes the others.
func quote(t string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.-:"
	_, number := strconv.ParseFloat(t, 64)
	_, boolean := parseBool(t)
	if t == "" || number == nil || boolean == nil || strings.EqualFold(t, "null") || strings.Trim(t, plain) != "" || strings.ContainsAny(t[:1], "-.:") || strings.HasSuffix(t, ":") {
		return strconv.Quote(t)
	}
	return t
}

func (s *Settings) writeTopics(w io.Writer) {
	fmt.Fprintln(w, "topics:")
	for _, t := range s.Topics {
		d := t.Declared
		kind := d.Value
		if kind == "" {
			kind = manifest.RawValue
		}
		fmt.Fprintf(w, "  %s:\n    value: %s\n", quote(t.Name), kind)
		for _, opt := range []struct {
			name string
			on   bool
		}{{"extra: off", d.NoExtra}, {"key: on", d.Key}, {"headers: on", d.Headers}} {
			if opt.on {
				fmt.Fprintln(w, "    "+opt.name)
			}
		}
		if len(d.Columns) > 0 {
			fmt.Fprintln(w, "    columns:")
		}
		for _, c := range d.Columns {
			fmt.Fprintln(w, "      - "+flow(c))
		}
	}
}

// flow writes a column as a mapping on one line.
func flow(c manifest.Column) string {
	var parts []string
	add := func(key, value string) { parts = append(parts, key+": "+value) }
	if c.Name != "" {
		add("name", quote(c.Name))
	}
	if len(c.Path) > 0 {
		var names []string
		for _, name := range c.Path {
			names = append(names, strconv.Quote(name))
		}
		add("path", "["+strings.Join(names, ", ")+"]")
	}
	add("type", string(c.Type))
	if c.Required {
		add("required", "true")
	}
	if c.Unit != "" {
		add("unit", string(c.Unit))
	}
	if c.Precision != 0 {
		add("precision", strconv.Itoa(c.Precision))
		add("scale", strconv.Itoa(c.Scale))
	}
	if c.Encoding != "" {
		add("encoding", string(c.Encoding))
	}
	if len(c.Fields) > 0 {
		var fields []string
		for _, f := range c.Fields {
			fields = append(fields, flow(f))
		}
		add("fields", "["+strings.Join(fields, ", ")+"]")
	}
	if c.Element != nil {
		add("element", flow(*c.Element))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// wrap breaks text at spaces into lines of at most width bytes, if words allow.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
