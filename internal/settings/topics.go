package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lakeweir/lakeweir/manifest"
)

// topicNames is the setting of topics as a plain list. It selects among the
// topics that are declared already and adds the others with raw values.
func (s *Settings) topicNames() value {
	return value{
		kind: "list",
		get: func() string {
			names := make([]string, len(s.Topics))
			for i, t := range s.Topics {
				names[i] = t.Name
			}
			return strings.Join(names, ",")
		},
		set: func(t string) error {
			items, err := splitTopics(t)
			if err != nil {
				return err
			}
			var topics []Topic
			for _, item := range items {
				topic, err := ParseTopic(item)
				if err != nil {
					return err
				}
				if known, ok := s.declared(topic); ok {
					topic = known
				}
				if slices.ContainsFunc(topics, func(t Topic) bool { return t.Name == item }) {
					return fmt.Errorf("topic %q is listed twice", item)
				}
				topics = append(topics, topic)
			}
			s.Topics = topics
			return nil
		},
	}
}

// declared returns the declaration of a topic or pattern that is listed later:
// its own, or for a topic that of a pattern that takes it.
func (s *Settings) declared(t Topic) (Topic, bool) {
	if t.IsPattern() {
		if i := slices.IndexFunc(s.Topics, func(o Topic) bool { return o.Name == t.Name }); i >= 0 {
			return s.Topics[i], true
		}
		return t, false
	}
	return s.Topic(t.Name)
}

// maxTopic is the longest name of a topic that Kafka takes
// (https://kafka.apache.org/documentation/#multitenancy-topic-naming).
const maxTopic = 249

// ownPrefix begins the names of folders that are lakeweir's own beside the
// tables of a store: locks of a directory, and objects of the probe.
const ownPrefix = ".lakeweir"

// CheckTopic returns an error for a name that no topic, or no table, can have.
func CheckTopic(name string) error {
	if strings.HasPrefix(name, mark) {
		return fmt.Errorf("%q is a pattern, and here is one name wanted: `lakeweir status` lists the tables that are there", name)
	}
	const legal = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	if name == "" || name == "." || name == ".." || len(name) > maxTopic || strings.Trim(name, legal) != "" {
		return fmt.Errorf("%q cannot be the name of a topic: Kafka takes letters, digits, dot, underscore and dash, %d at most", name, maxTopic)
	}
	if strings.HasPrefix(name, ownPrefix) {
		return fmt.Errorf("topic %q cannot be a table: names that begin with %s are lakeweir's own in a store", name, ownPrefix)
	}
	return nil
}

// topics reads a mapping of names and patterns to declarations.
func (f *file) topics(m *yaml.Node) error {
	var topics []Topic
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, val := m.Content[i], resolve(m.Content[i+1])
		t, err := ParseTopic(key.Value)
		if err != nil {
			return f.errorf(key, "topics: %w", err)
		}
		if slices.ContainsFunc(topics, func(t Topic) bool { return t.Name == key.Value }) {
			return f.errorf(key, "topic %q is declared twice", key.Value)
		}
		if !isNull(val) {
			if err := f.topic(val, &t.Declared); err != nil {
				return err
			}
		}
		if _, err := manifest.NewSchema(t.Declared); err != nil {
			return f.errorf(key, "topic %q: %w", key.Value, err)
		}
		topics = append(topics, t)
	}
	f.into.Topics = topics
	return nil
}

// checkItems finds the item of a list of topics that is wrong, for its line.
func (f *file) checkItems(list *yaml.Node) error {
	for _, item := range list.Content {
		text, err := f.join(resolve(item))
		if err != nil {
			return err
		}
		names, err := splitTopics(text)
		for _, name := range names {
			if err == nil {
				_, err = ParseTopic(name)
			}
		}
		if err != nil {
			return f.errorf(item, "topics: %w", err)
		}
	}
	return nil
}

// fields reads a mapping with a fixed set of keys, each by its own function.
func (f *file) fields(m *yaml.Node, what string, known map[string]func(*yaml.Node) error) error {
	if m.Kind != yaml.MappingNode {
		return f.errorf(m, "%s: want key: value", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, val := m.Content[i], resolve(m.Content[i+1])
		read, ok := known[key.Value]
		switch {
		case !ok:
			return f.noField(key, what, known)
		case seen[key.Value]:
			return f.errorf(key, "%s: %s is set twice", what, key.Value)
		}
		seen[key.Value] = true
		if err := read(val); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) noField(key *yaml.Node, what string, known map[string]func(*yaml.Node) error) error {
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	if near := Nearest(key.Value, names); near != "" {
		return f.errorf(key, "%s: unknown key %q: did you mean %q?", what, key.Value, near)
	}
	return f.errorf(key, "%s: unknown key %q: it takes %s", what, key.Value, strings.Join(names, ", "))
}

func (f *file) topic(n *yaml.Node, d *manifest.Declared) error {
	var extra bool
	err := f.fields(n, "topic", map[string]func(*yaml.Node) error{
		"value":   func(n *yaml.Node) error { return f.word(n, (*string)(&d.Value)) },
		"columns": func(n *yaml.Node) (err error) { d.Columns, err = f.columns(n); return err },
		"key":     func(n *yaml.Node) error { return f.flag(n, &d.Key) },
		"headers": func(n *yaml.Node) error { return f.flag(n, &d.Headers) },
		"extra": func(n *yaml.Node) error {
			err := f.flag(n, &extra)
			d.NoExtra = !extra
			return err
		},
	})
	if err == nil && d.Value == "" && len(d.Columns) > 0 {
		return f.errorf(n, "topic: columns are declared, but its values are raw: add value: json")
	}
	return err
}

func (f *file) columns(n *yaml.Node) ([]manifest.Column, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, f.errorf(n, "want a list of columns, each as {name: id, type: string}")
	}
	var cols []manifest.Column
	for _, item := range n.Content {
		c, err := f.column(resolve(item))
		if err != nil {
			return nil, err
		}
		if c.Name == "" {
			return nil, f.errorf(item, "a column has no name")
		}
		cols = append(cols, c)
	}
	return cols, nil
}

// maxColumns bounds what the aliases of a file can multiply: thirty lines may
// else stand for a billion columns.
const maxColumns = 10_000

// column reads a column, a field of a struct, or the element of a list.
func (f *file) column(n *yaml.Node) (c manifest.Column, err error) {
	if f.made++; f.made > maxColumns {
		return c, f.errorf(n, "more than %d columns, those that aliases repeat included", maxColumns)
	}
	err = f.fields(n, "column", map[string]func(*yaml.Node) error{
		"name":      func(n *yaml.Node) error { return f.word(n, &c.Name) },
		"path":      func(n *yaml.Node) (err error) { c.Path, err = f.path(n); return err },
		"type":      func(n *yaml.Node) error { return f.columnType(n, &c.Type) },
		"required":  func(n *yaml.Node) error { return f.flag(n, &c.Required) },
		"unit":      func(n *yaml.Node) error { return f.word(n, (*string)(&c.Unit)) },
		"precision": func(n *yaml.Node) error { return f.number(n, &c.Precision) },
		"scale":     func(n *yaml.Node) error { return f.number(n, &c.Scale) },
		"encoding":  func(n *yaml.Node) error { return f.encoding(n, &c.Encoding) },
		"fields":    func(n *yaml.Node) (err error) { c.Fields, err = f.columns(n); return err },
		"element": func(n *yaml.Node) error {
			c.Element = &manifest.Column{}
			if n.Kind == yaml.ScalarNode {
				return f.columnType(n, &c.Element.Type)
			}
			e, err := f.column(n)
			c.Element = &e
			return err
		},
	})
	return c, err
}

func (f *file) word(n *yaml.Node, to *string) error {
	if n.Kind != yaml.ScalarNode {
		return f.errorf(n, "want a plain value")
	}
	*to = n.Value
	return nil
}

func (f *file) flag(n *yaml.Node, to *bool) (err error) {
	if *to, err = parseBool(n.Value); err != nil {
		return f.errorf(n, "%w", err)
	}
	return nil
}

func (f *file) number(n *yaml.Node, to *int) (err error) {
	if *to, err = strconv.Atoi(n.Value); err != nil {
		return f.errorf(n, "%q is not a whole number", n.Value)
	}
	return nil
}

// types are the names that a column may have as its type.
var types = []string{
	string(manifest.Bool), string(manifest.Int32), string(manifest.Int64), string(manifest.Double),
	string(manifest.String), string(manifest.Binary), string(manifest.Timestamp), string(manifest.Date),
	string(manifest.Decimal), string(manifest.UUID), string(manifest.JSON), string(manifest.List), string(manifest.Struct),
}

func (f *file) columnType(n *yaml.Node, to *manifest.Type) error {
	if slices.Contains(types, n.Value) {
		*to = manifest.Type(n.Value)
		return nil
	}
	if near := Nearest(n.Value, types); near != "" {
		return f.errorf(n, "unknown type %q: did you mean %q?", n.Value, near)
	}
	return f.errorf(n, "unknown type %q: it is one of %s", n.Value, strings.Join(types, ", "))
}

func (f *file) encoding(n *yaml.Node, to *manifest.Encoding) error {
	switch n.Value {
	case "plain":
		*to = manifest.Plain
	case string(manifest.Dictionary), string(manifest.Delta):
		*to = manifest.Encoding(n.Value)
	default:
		return f.errorf(n, "unknown encoding %q: it is plain, dictionary or delta", n.Value)
	}
	return nil
}

func (f *file) path(n *yaml.Node) ([]string, error) {
	if n.Kind == yaml.SequenceNode {
		var path []string
		for _, c := range n.Content {
			if c = resolve(c); c.Kind != yaml.ScalarNode {
				return nil, f.errorf(c, "path: want a list of names")
			}
			path = append(path, c.Value)
		}
		return path, nil
	}
	path, err := ParsePath(n.Value)
	if err != nil {
		return nil, f.errorf(n, "path: %w", err)
	}
	return path, nil
}

// ParsePath reads the names of members from the top of a JSON value, joined by
// dots. A dot within a name is written \. and a backslash \\.
func ParsePath(t string) ([]string, error) {
	var path []string
	var name strings.Builder
	for i := 0; i < len(t); i++ {
		switch {
		case t[i] == '.':
			path = append(path, name.String())
			name.Reset()
		case t[i] == '\\' && i+1 < len(t) && (t[i+1] == '.' || t[i+1] == '\\'):
			i++
			name.WriteByte(t[i])
		case t[i] == '\\':
			return nil, fmt.Errorf(`%q: a backslash stands before a dot or a backslash only`, t)
		default:
			name.WriteByte(t[i])
		}
	}
	path = append(path, name.String())
	if slices.Contains(path, "") {
		return nil, fmt.Errorf("%q has an empty name: give such a path as a list", t)
	}
	return path, nil
}

// Schema returns the columns and the layout of a topic's files.
func (s *Settings) Schema(t Topic) (manifest.Schema, error) {
	d := t.Declared
	d.Layout = manifest.Layout{
		Compression: manifest.Compression(s.Files.Compression), Level: int(s.Files.Level),
		GroupRows: s.Files.RowGroupRows, GroupBytes: s.Files.RowGroupBytes,
	}
	schema, err := manifest.NewSchema(d)
	if err != nil {
		return manifest.Schema{}, fmt.Errorf("topic %q: %w", t.Name, err)
	}
	return schema, nil
}
