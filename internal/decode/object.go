// Package decode finds the values of columns in JSON texts.
//
// An [Object] is compiled from columns. Its Decode checks a text to the last
// byte in one pass and leaves a [Token] for each column: where the value
// stands in the text. The methods of Token turn it into a value of the
// column's type, or say why it does not fit. Nothing is ever rounded, cut or
// replaced, with one exception that JSON itself makes: a double takes the
// nearest value. Decode allocates nothing once its buffers have grown.
//
//   - The value is one object, or the literal null. Anything else is set aside.
//   - Names are case-sensitive. Of duplicate names the last one counts, and
//     all of an earlier one is forgotten, what it had nested included.
//   - A member that is null is as one that is not there.
//   - Members that no column takes are the rest, see [Object.AppendRest].
package decode

import (
	"strings"

	"github.com/lakeweir/lakeweir/manifest"
)

// Object finds the members of a JSON object that columns ask for. It is used
// by one goroutine at a time.
type Object struct {
	root   node
	count  int     // of nodes
	tokens []Token // by node
	s      scanner
	keys   Arena // names that had escapes
	stamp  uint32
	rest   rest
	spill  *node // in elements of a list: the node of that list
}

// node is a place in an object: of a column, or on the way to one.
type node struct {
	name    string
	quoted  string // the name and the colon as most producers write them
	at      int    // index in tokens; those of nodes below follow
	end     int    // index behind the last of them
	pos     int    // in the kids of its parent
	kids    []*node
	index   map[string]*node
	taken   bool // a column has its value
	whole   bool // and that column keeps all of it
	keep    bool // members that no column takes go to the rest
	list    bool // a list of structs
	spilled bool // and an element of it had such members

	stamp       uint32 // of the member that counts
	first, last int32  // of its entries in the rest
}

// Field is a column, or a part of one, and where its value is found.
type Field struct {
	Column  manifest.Column
	Fields  []*Field // of a struct, found in the same Object, or in Object when that is set
	Element *Field   // of a list; its value is a token of Elements
	Object  *Object  // of a struct that is an element

	node *node
}

// Compile returns the Object that finds the columns which have a path, and a
// Field for each column. keep says whether the rest is wanted.
func Compile(cols []manifest.Column, keep bool) (*Object, []*Field) {
	o := &Object{}
	fields := place(&o.root, cols)
	o.finish(&o.root, keep)
	o.tokens = make([]Token, o.count)
	return o, fields
}

// place adds columns below a node.
func place(under *node, cols []manifest.Column) []*Field {
	fields := make([]*Field, len(cols))
	for i, c := range cols {
		f := &Field{Column: c}
		if c.Source != "" {
			fields[i] = bare(c)
			continue
		}
		fields[i] = f
		f.node = under.descend(c.Path)
		f.node.taken = true
		switch c.Type {
		case manifest.JSON:
			f.node.whole = true
		case manifest.Struct:
			f.Fields = place(f.node, c.Fields)
		case manifest.List:
			f.Element = element(*c.Element, f.node)
		}
	}
	return fields
}

// bare returns the Field of a column that has no place in an object.
func bare(c manifest.Column) *Field {
	f := &Field{Column: c}
	for _, part := range c.Fields {
		f.Fields = append(f.Fields, bare(part))
	}
	if c.Element != nil {
		f.Element = bare(*c.Element)
	}
	return f
}

// element compiles the element of a list that stands at a node.
func element(c manifest.Column, list *node) *Field {
	f := &Field{Column: c}
	switch c.Type {
	case manifest.Struct:
		list.list = true
		f.Object, f.Fields = Compile(c.Fields, false)
		f.Object.spillTo(f.Fields, list)
	case manifest.List:
		f.Element = element(*c.Element, list)
	}
	return f
}

// spillTo makes undeclared members of an element count for the outermost list.
func (o *Object) spillTo(fields []*Field, list *node) {
	o.spill = list
	for _, f := range fields {
		for e := f.Element; e != nil; e = e.Element {
			if e.Object != nil {
				e.Object.spillTo(e.Fields, list)
			}
		}
		o.spillTo(f.Fields, list)
	}
}

// descend returns the node at the end of a path, which it makes if needed.
func (n *node) descend(path []string) *node {
	for _, name := range path {
		kid := n.index[name]
		if kid == nil {
			kid = &node{name: name, pos: len(n.kids), quoted: `"` + name + `":`}
			if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
				kid.quoted = "\x00" // it is spelled with escapes
			}
			n.kids = append(n.kids, kid)
			if n.index == nil {
				n.index = map[string]*node{}
			}
			n.index[name] = kid
		}
		n = kid
	}
	return n
}

// finish numbers the nodes, parents first.
func (o *Object) finish(n *node, keep bool) {
	n.keep = keep && !n.whole
	n.at = o.count
	o.count++
	for _, kid := range n.kids {
		o.finish(kid, n.keep)
	}
	n.end = o.count
}

// Token returns the value of a field, after Decode and until the next.
func (o *Object) Token(f *Field) *Token { return &o.tokens[f.node.at] }

// Decode checks a text, which must be one object or null, and finds the
// members. It keeps hold of the text until the next call.
func (o *Object) Decode(text []byte) (Kind, *Reject) {
	clear(o.tokens)
	o.s = scanner{b: text}
	o.keys.Reset()
	o.rest.reset()
	o.root.first = none
	i := o.s.space(0)
	if i == len(text) {
		return None, &Reject{BadJSON, "the value is empty"}
	}
	var t Token
	if text[i] == '{' {
		t.Kind = Map
		i = o.object(&o.root, i)
	} else {
		i = o.s.value(i, &t)
	}
	if i >= 0 {
		if i = o.s.space(i); i < len(text) {
			i = o.s.fail(i)
		}
	}
	switch {
	case i < 0:
		return None, o.s.reject()
	case t.Kind != Map && t.Kind != Null:
		return None, &Reject{NotObject, "the value is " + Quote(t.Text)}
	}
	return t.Kind, nil
}

// object scans the object of a node.
func (o *Object) object(n *node, i int) int {
	s := &o.s
	if !s.enter(i) {
		return -1
	}
	next := 0 // the kid that is expected: names tend to come in one order
	if i = s.space(i + 1); i < len(s.b) && s.b[i] == '}' {
		s.depth--
		return i + 1
	}
	for {
		if i >= len(s.b) || s.b[i] != '"' {
			return s.fail(i)
		}
		var kid *node
		var key, name []byte
		if next < len(n.kids) && n.kids[next].begins(s.b[i:]) {
			kid = n.kids[next]
			end := i + len(kid.quoted)
			key = s.b[i : end-1]
			i = s.space(end)
		} else {
			start := i
			if i, name = o.name(i); i < 0 {
				return -1
			}
			kid, key = n.index[string(name)], s.b[start:i]
			if i = s.colon(i); i < 0 {
				return -1
			}
		}
		if kid != nil {
			next = kid.pos + 1
			i = o.member(n, kid, key, i)
		} else {
			i = o.undeclared(n, key, name, i)
		}
		if i < 0 {
			return -1
		}
		var more bool
		if i, more = s.comma(i, '}'); !more {
			s.depth--
			return i
		}
	}
}

// begins reports whether b begins with the name of n and a colon.
func (n *node) begins(b []byte) bool {
	e := len(n.quoted)
	return e <= len(b) && string(b[:e]) == n.quoted
}

// name scans the name of a member and returns its characters.
func (o *Object) name(i int) (end int, name []byte) {
	outer := o.s.flags
	o.s.flags = 0
	end = o.s.str(i + 1)
	if end < 0 {
		return -1, nil
	}
	name = o.s.b[i+1 : end-1]
	if o.s.flags&escaped != 0 {
		n := len(o.keys.b)
		var whole bool
		if o.keys.b, whole = unescape(o.keys.b, name); whole {
			name = o.keys.since(n)
		}
	}
	o.s.flags |= outer
	return end, name
}

// undeclared scans the value of a member that no column is under.
func (o *Object) undeclared(n *node, key, name []byte, i int) int {
	var t Token
	if i = o.s.value(i, &t); i < 0 {
		return -1
	}
	if n.keep {
		o.rest.add(n, key, name, t.Text)
	} else if o.spill != nil {
		o.spill.spilled = true
	}
	return i
}

// member scans the value of a member that some column is at, or under.
func (o *Object) member(parent, n *node, key []byte, i int) int {
	t := &o.tokens[n.at]
	if t.Kind != None {
		clear(o.tokens[n.at:n.end]) // the last of duplicates counts
	}
	o.stamp++
	n.stamp, n.first, n.spilled = o.stamp, none, false
	if len(n.kids) > 0 && i < len(o.s.b) && o.s.b[i] == '{' {
		if n.keep {
			o.rest.link(parent, entry{key: key, node: n, stamp: n.stamp, nested: true})
		}
		start, outer := i, o.s.flags
		o.s.flags = 0
		if i = o.object(n, i); i < 0 {
			return -1
		}
		*t = Token{Text: o.s.b[start:i:i], Kind: Map, flags: o.s.flags}
		o.s.flags |= outer
		return i
	}
	if i = o.s.value(i, t); i < 0 {
		return -1
	}
	switch {
	case n.taken && !n.list || t.Kind == Null:
	case parent.keep && !n.whole:
		o.rest.link(parent, entry{key: key, text: t.Text, node: n, stamp: n.stamp})
	case o.spill != nil && !n.taken:
		o.spill.spilled = true
	}
	return i
}

// Elements goes through the values of an array.
type Elements struct {
	s scanner
	i int
}

// Elements returns the values of an array token.
func (t Token) Elements() Elements {
	e := Elements{s: scanner{b: t.Text}}
	e.i = e.s.space(1)
	return e
}

// Next returns the next value; ok is false at the end.
func (e *Elements) Next() (t Token, ok bool) {
	if e.i < 0 || e.i >= len(e.s.b) || e.s.b[e.i] == ']' {
		return Token{}, false
	}
	next := e.s.value(e.i, &t)
	e.i, _ = e.s.comma(next, ']')
	return t, true
}
