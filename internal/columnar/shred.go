package columnar

import (
	"fmt"

	"github.com/lakeweir/lakeweir/internal/decode"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// row is a record on its way into a file.
type row struct {
	record.Record
	topic     string
	partition int32
	reason    string // of a dead letter
	detail    string
}

// column is a column, or a part of one, with its levels in the file.
type column struct {
	op       op
	absent   uint8 // definition level of null
	present  uint8 // and of a value
	repeat   uint8 // repetition level of the elements of a list, behind the first
	from, to int   // its leaves
	field    *decode.Field
	kids     []*column
	element  *column
	token    decode.Token // of an element: its value now
	name     string       // dotted, for people
}

// shredder lays out rows as values of leaf columns. It is used by one goroutine.
type shredder struct {
	object  *decode.Object // nil when values are raw
	columns []*column
	leaves  []leaf
	arena   decode.Arena
	rows    int // since reset
}

// newShredder compiles a layout.
func newShredder(l *layout) *shredder {
	s, keep := l.schema, false
	for _, c := range s.Columns {
		keep = keep || c.Source == manifest.FromExtra
	}
	object, fields := decode.Compile(s.Columns, keep)
	sh := &shredder{}
	if s.Value == manifest.JSONValue {
		sh.object = object
	}
	for _, f := range fields {
		sh.columns = append(sh.columns, sh.compile(f, f.Column.Name, 0, 0, false))
	}
	for i, form := range l.forms {
		sh.leaves[i] = newLeaf(form)
	}
	return sh
}

// compile adds a column below definition level def and repetition level rep.
func (sh *shredder) compile(f *decode.Field, name string, def, rep uint8, exact bool) *column {
	exact = exact || f.Column.Source != ""
	c := &column{op: opOf(&f.Column), field: f, name: name, absent: def, present: def, from: len(sh.leaves)}
	if optional(f.Column, exact) {
		c.present++
	}
	switch f.Column.Type {
	case manifest.Struct:
		for _, kid := range f.Fields {
			c.kids = append(c.kids, sh.compile(kid, name+"."+kid.Column.Name, c.present, rep, exact))
		}
	case manifest.List:
		c.repeat = rep + 1
		c.element = sh.compile(f.Element, name+"[]", c.present+1, c.repeat, exact)
	default:
		sh.leaves = append(sh.leaves, leaf{})
	}
	c.to = len(sh.leaves)
	return c
}

// reset begins a step.
func (sh *shredder) reset() {
	sh.arena.Reset()
	sh.rows = 0
}

// aligned returns an error unless every leaf has one row for each of the step.
// A reader would take values of one row for those of another.
func (sh *shredder) aligned() error {
	for i := range sh.leaves {
		if rows := sh.leaves[i].newRows(); rows != sh.rows {
			return fmt.Errorf("leaf column %d has %d rows of %d: a defect of this program", i, rows, sh.rows)
		}
	}
	return nil
}

// push adds a row. When it returns a reject the columns are as they were.
func (sh *shredder) push(r *row) *decode.Reject {
	for i := range sh.leaves {
		sh.leaves[i].begin()
	}
	if rej := sh.fill(r); rej != nil {
		for i := range sh.leaves {
			sh.leaves[i].undo()
		}
		return rej
	}
	sh.rows++
	return nil
}

// absent is the value of a member that is not there.
var absent decode.Token

func (sh *shredder) fill(r *row) *decode.Reject {
	kind := decode.None // of a tombstone
	if sh.object != nil && r.Value != nil {
		var rej *decode.Reject
		if kind, rej = sh.object.Decode(r.Value); rej != nil {
			return rej
		}
	}
	for _, c := range sh.columns {
		switch {
		case c.op > opExtra:
			sh.meta(c, r)
		case c.op == opExtra:
			if rej := sh.rest(c, kind); rej != nil {
				return rej
			}
		case kind == decode.None:
			sh.null(c, 0)
		case kind == decode.Null:
			if rej := sh.value(c, &absent, nil, 0); rej != nil {
				return rej
			}
		default:
			if rej := sh.value(c, sh.object.Token(c.field), sh.object, 0); rej != nil {
				return rej
			}
		}
	}
	return nil
}

// null adds a null to every leaf of a column.
func (sh *shredder) null(c *column, rep uint8) {
	sh.hollow(c, rep, c.absent)
}

// hollow adds to every leaf of a column that nothing is there from a
// definition level on.
func (sh *shredder) hollow(c *column, rep, def uint8) {
	for i := c.from; i < c.to; i++ {
		sh.leaves[i].null(rep, def)
	}
}

// rest adds the members that no column takes.
func (sh *shredder) rest(c *column, kind decode.Kind) *decode.Reject {
	if kind != decode.Map {
		sh.null(c, 0)
		return nil
	}
	text, reason := sh.object.AppendRest(&sh.arena)
	if reason != "" {
		return &decode.Reject{Reason: reason, Detail: fmt.Sprintf("column %q: a member that is not declared is not UTF-8", c.name)}
	}
	if text == nil {
		sh.null(c, 0)
		return nil
	}
	sh.leaves[c.from].putBytes(text, 0)
	return nil
}

// value adds a JSON value of any type. Tokens of a struct's fields are those
// of object.
func (sh *shredder) value(c *column, t *decode.Token, object *decode.Object, rep uint8) *decode.Reject {
	if t.Absent() {
		if c.field.Column.Required {
			return &decode.Reject{Reason: decode.Missing, Detail: fmt.Sprintf("column %q has no value", c.name)}
		}
		sh.null(c, rep)
		return nil
	}
	switch c.op {
	case opStruct:
		return sh.fields(c, t, object, rep)
	case opList:
		return sh.elements(c, t, rep)
	}
	if reason := sh.scalar(c, t, rep); reason != "" {
		return unfit(c, reason, t)
	}
	return nil
}

// unfit returns the reject of a value.
func unfit(c *column, reason decode.Reason, t *decode.Token) *decode.Reject {
	what := string(c.field.Column.Type)
	if reason == decode.BadText {
		what += " as UTF-8"
	}
	return &decode.Reject{Reason: reason, Detail: fmt.Sprintf("column %q: %s does not fit %s", c.name, decode.Quote(t.Text), what)}
}

func (sh *shredder) fields(c *column, t *decode.Token, object *decode.Object, rep uint8) *decode.Reject {
	if t.Kind != decode.Map {
		return unfit(c, decode.NoFit, t)
	}
	if c.field.Object != nil { // an element: its fields were not looked for yet
		object = c.field.Object
		if _, rej := object.Decode(t.Text); rej != nil {
			return rej
		}
	}
	for _, kid := range c.kids {
		if rej := sh.value(kid, object.Token(kid.field), object, rep); rej != nil {
			return rej
		}
	}
	return nil
}

func (sh *shredder) elements(c *column, t *decode.Token, rep uint8) *decode.Reject {
	if t.Kind != decode.Array {
		return unfit(c, decode.NoFit, t)
	}
	all := t.Elements()
	some := false
	for e, ok := all.Next(); ok; e, ok = all.Next() {
		c.element.token = e
		if rej := sh.value(c.element, &c.element.token, nil, rep); rej != nil {
			return rej
		}
		some, rep = true, c.repeat
	}
	if !some {
		sh.hollow(c, rep, c.present)
	}
	return nil
}

// meta adds what a record says of itself.
func (sh *shredder) meta(c *column, r *row) {
	l := &sh.leaves[c.from]
	switch c.op {
	case opPartition:
		l.putInt32(r.partition, 0)
	case opOffset:
		l.putInt64(r.Offset, 0)
	case opRecordTime:
		if r.Timestamp == record.NoTimestamp || !inMicros(r.Timestamp) {
			l.null(0, c.absent)
			return
		}
		l.putInt64(r.Timestamp*1000, 0)
	case opTimeType:
		l.putText(r.TimestampType.String(), 0)
	case opKey:
		sh.bytes(c, r.Key, 0)
	case opValue:
		sh.bytes(c, r.Value, 0)
	case opTombstone:
		l.putBool(r.Value == nil, 0)
	case opHeaders:
		sh.headers(c, r.Headers)
	case opTopic:
		l.putText(r.topic, 0)
	case opReason:
		l.putText(r.reason, 0)
	case opDetail:
		l.putText(r.detail, 0)
	}
}

// bytes adds bytes, of which nil is null.
func (sh *shredder) bytes(c *column, b []byte, rep uint8) {
	if b == nil {
		sh.null(c, rep)
		return
	}
	sh.leaves[c.from].putBytes(b, rep)
}

func (sh *shredder) headers(c *column, hs record.Headers) {
	rep := uint8(0)
	name, value := c.element.kids[0], c.element.kids[1]
	for h := range hs.All() {
		sh.leaves[name.from].putBytes(h.Key, rep)
		sh.bytes(value, h.Value, rep)
		rep = c.repeat
	}
	if rep == 0 {
		sh.hollow(c, 0, c.present)
	}
}
