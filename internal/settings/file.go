package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// file is a configuration file that is being read into Settings.
type file struct {
	name   string
	into   *Settings
	lookup func(string) (string, bool) // of the environment
	seen   map[string]bool

	made int // columns so far
}

// loadFile reads a YAML file.
func (s *Settings) loadFile(path string, lookup func(string) (string, bool)) error {
	body, err := os.ReadFile(path)
	if err != nil {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return fmt.Errorf("read configuration file %s: %w", path, err)
	}
	return s.loadYAML(filepath.Base(path), body, lookup)
}

// loadYAML reads the text of a file.
func (s *Settings) loadYAML(name string, body []byte, lookup func(string) (string, bool)) error {
	f := &file{name: name, into: s, lookup: lookup, seen: map[string]bool{}}
	root, err := f.parse(body)
	if err != nil || root == nil {
		return err
	}
	if err := f.sound(root, nil); err != nil {
		return err
	}
	if isNull(root) {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		return f.errorf(root, "want settings as key: value")
	}
	return f.settings(root, "")
}

// parse returns the only document of a file, nil if there is none.
func (f *file) parse(body []byte) (*yaml.Node, error) {
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(body))
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		if err = d.Decode(&more); err == nil {
			return nil, f.errorf(&more, "a second document begins, which would not be read: join the two")
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return doc.Content[0], nil
	case strings.Contains(err.Error(), "unknown anchor"):
		// The name may be a secret that begins with a star.
		return nil, fmt.Errorf("%s: an alias (*name) leads nowhere: put a value that begins with * in quotes", f.name)
	}
	return nil, fmt.Errorf("%s: %s", f.name, strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " "))
}

// sound refuses what YAML allows and no setting means: a value that holds
// itself by an alias, and a value without quotes that YAML takes for a tag or
// an anchor because of its first letter, so that nothing is left of it.
// Above are the nodes that hold n.
func (f *file) sound(n *yaml.Node, above []*yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode && slices.Contains(above, n.Alias):
		return f.errorf(n, "the alias *%s stands within the value that it names", n.Value)
	case n.Kind == yaml.ScalarNode && strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!"):
		return f.errorf(n, "put a value that begins with ! in quotes")
	case isNull(n) && n.Anchor != "":
		return f.errorf(n, "put a value that begins with & in quotes")
	}
	for _, c := range n.Content {
		if err := f.sound(c, append(above, n)); err != nil {
			return err
		}
	}
	return nil
}

// errorf returns an error with the place in the file.
func (f *file) errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", f.name, n.Line, fmt.Errorf(format, args...))
}

// resolve follows an alias.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// settings reads a mapping whose keys begin with prefix.
func (f *file) settings(m *yaml.Node, prefix string) error {
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, val := m.Content[i], resolve(m.Content[i+1])
		name := prefix + key.Value
		if f.seen[name] && !f.isGroup(name) {
			return f.errorf(key, "%s is set twice", name)
		}
		f.seen[name] = true
		if err := f.setting(key, val, name); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) setting(key, val *yaml.Node, name string) error {
	st := f.into.find(name)
	switch {
	case st == nil && !f.isGroup(name):
		return f.unknown(key, name)
	case isNull(val):
		return nil
	case st == nil && val.Kind != yaml.MappingNode:
		return f.errorf(val, "%s takes settings of its own: %s", name, strings.Join(f.below(name+"."), ", "))
	case st == nil:
		return f.settings(val, name+".")
	}
	st.Origin = f.name + ":" + strconv.Itoa(key.Line)
	if name == "topics" && val.Kind == yaml.MappingNode {
		return f.topics(val)
	}
	if name == "topics" && val.Kind == yaml.SequenceNode {
		if err := f.checkItems(val); err != nil {
			return err
		}
	}
	t, err := f.text(st, val)
	if err != nil {
		return err
	}
	if err := st.value.set(t); err != nil {
		return f.errorf(val, "%s: %w", name, hide(st, err))
	}
	return nil
}

// hide keeps a secret out of an error that quotes the value.
func hide(st *Setting, err error) error {
	if st.Secret {
		return errors.New("not a value that it takes")
	}
	return err
}

// text returns a node in the text form of its setting.
func (f *file) text(st *Setting, n *yaml.Node) (string, error) {
	switch {
	case n.Kind == yaml.ScalarNode:
		return f.expand(n)
	case n.Kind == yaml.SequenceNode && st.value.kind == "list":
		return f.join(n)
	case n.Kind == yaml.MappingNode && st.value.kind == "partitions":
		var parts []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			ids, err := f.join(resolve(n.Content[i+1]))
			if err != nil {
				return "", err
			}
			parts = append(parts, n.Content[i].Value+"="+ids)
		}
		return strings.Join(parts, ";"), nil
	}
	return "", f.errorf(n, "%s takes a %s", st.Name, st.value.kind)
}

// join returns a sequence of scalars as a list.
func (f *file) join(n *yaml.Node) (string, error) {
	if n.Kind == yaml.ScalarNode {
		return f.expand(n)
	}
	if n.Kind != yaml.SequenceNode {
		return "", f.errorf(n, "want a list")
	}
	var items []string
	for _, c := range n.Content {
		if c = resolve(c); c.Kind != yaml.ScalarNode {
			return "", f.errorf(c, "want a list of plain values")
		}
		t, err := f.expand(c)
		if err != nil {
			return "", err
		}
		items = append(items, t)
	}
	return strings.Join(items, ","), nil
}

var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces ${VARIABLE} by the variable of the environment.
func (f *file) expand(n *yaml.Node) (string, error) {
	var missing string
	t := reference.ReplaceAllStringFunc(n.Value, func(ref string) string {
		name := ref[2 : len(ref)-1]
		v, ok := f.lookup(name)
		if !ok {
			missing = name
		}
		return v
	})
	if missing != "" {
		return "", f.errorf(n, "the environment variable %s is not set", missing)
	}
	return t, nil
}

// isGroup reports whether settings have names that begin with name and a dot.
func (f *file) isGroup(name string) bool { return len(f.below(name+".")) > 0 }

// below returns the next parts of the names that begin with prefix.
func (f *file) below(prefix string) []string {
	var parts []string
	for _, st := range f.into.all {
		if rest, ok := strings.CutPrefix(st.Name, prefix); ok {
			part, _, _ := strings.Cut(rest, ".")
			if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

// unknown returns the error of a key that is not known, with the key that was
// meant: a neighbour, or one of that name in another place.
func (f *file) unknown(key *yaml.Node, name string) error {
	prefix := name[:len(name)-len(key.Value)]
	if near := Nearest(key.Value, f.below(prefix)); near != "" {
		return f.errorf(key, "unknown key %q: did you mean %q?", name, prefix+near)
	}
	for _, st := range f.into.all {
		if st.Name == key.Value || strings.HasSuffix(st.Name, "."+key.Value) {
			return f.errorf(key, "unknown key %q: did you mean %q?", name, st.Name)
		}
	}
	return f.errorf(key, "unknown key %q: `lakeweir config` lists all settings", name)
}
