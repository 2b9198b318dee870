package decode

import (
	"bytes"
	"hash/maphash"
)

// none is the index of no entry.
const none = -1

// rest are the members that no column takes, in the order of the text. The
// entries of one object are linked, so that a part which a later duplicate
// replaces is dropped with its object.
type rest struct {
	entries []entry
	seed    maphash.Seed
	table   []slot // of the names of entries that stand for no node
	stamp   uint32 // of the record: slots of earlier ones are free
}

// entry is a member of an object in the rest.
type entry struct {
	key    []byte // as it stands in the text
	name   []byte // its characters; of entries without a node
	text   []byte // the value
	node   *node  // a place that columns are at or under, else nil
	stamp  uint32 // the entry counts while its node has this stamp
	nested bool   // the value is what the node has in the rest
	dead   bool   // a later duplicate counts
	next   int32
}

type slot struct {
	stamp uint32
	entry int32
	in    *node
}

func (r *rest) reset() {
	r.entries = r.entries[:0]
	if r.stamp++; r.stamp == 0 {
		clear(r.table)
		r.stamp = 1
	}
}

// link appends an entry to those of an object.
func (r *rest) link(n *node, e entry) {
	e.next = none
	at := int32(len(r.entries))
	r.entries = append(r.entries, e)
	if n.first == none {
		n.first = at
	} else {
		r.entries[n.last].next = at
	}
	n.last = at
}

// add appends a member that stands for no node, in place of an earlier one of
// its name.
func (r *rest) add(n *node, key, name, text []byte) {
	at := int32(len(r.entries))
	r.link(n, entry{key: key, name: name, text: text})
	if 2*len(r.entries) > len(r.table) {
		r.grow()
	}
	s := r.find(n, name)
	if s.stamp == r.stamp {
		r.entries[s.entry].dead = true
	}
	*s = slot{stamp: r.stamp, entry: at, in: n}
}

// find returns the slot of a name in an object: the one that has it, or the
// free one where it belongs.
func (r *rest) find(n *node, name []byte) *slot {
	mask := uint64(len(r.table) - 1)
	for i := maphash.Bytes(r.seed, name) & mask; ; i = (i + 1) & mask {
		s := &r.table[i]
		if s.stamp != r.stamp || s.in == n && bytes.Equal(r.entries[s.entry].name, name) {
			return s
		}
	}
}

// grow makes a table of twice the size.
func (r *rest) grow() {
	if r.table == nil {
		r.seed = maphash.MakeSeed() // per process: the names are the producer's
	}
	old := r.table
	r.table = make([]slot, max(64, 2*len(old)))
	for _, s := range old {
		if s.stamp == r.stamp {
			*r.find(s.in, r.entries[s.entry].name) = s
		}
	}
}

// AppendRest appends an object of the members that no column takes, after
// Decode and after the elements of all lists were decoded. It returns nil when
// there are none.
//
// Keys and values are those of the text, byte for byte. An object that columns
// reach into stays, under its name, with what they left of it; if that is
// nothing, it is not there. A list of structs is there as a whole when one of
// its elements has a member that no field takes.
func (o *Object) AppendRest(a *Arena) ([]byte, Reason) {
	if !o.root.keep {
		return nil, ""
	}
	n := len(a.b)
	a.b = o.rest.object(a.b, &o.root)
	text := a.since(n)
	switch {
	case len(text) == 0:
		return nil, ""
	case !readable(text, o.s.flags):
		return nil, BadText
	}
	return text, ""
}

// object appends the entries of a node as an object, or nothing.
func (r *rest) object(dst []byte, n *node) []byte {
	start := len(dst)
	dst = append(dst, '{')
	for i := n.first; i != none; i = r.entries[i].next {
		e := &r.entries[i]
		if e.dead || e.node != nil && (e.stamp != e.node.stamp || e.node.list && !e.nested && !e.node.spilled) {
			continue
		}
		before := len(dst)
		if before > start+1 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, e.key...), ':')
		if !e.nested {
			dst = append(dst, e.text...)
			continue
		}
		value := len(dst)
		if dst = r.object(dst, e.node); len(dst) == value {
			dst = dst[:before]
		}
	}
	if len(dst) == start+1 {
		return dst[:start]
	}
	return append(dst, '}')
}
