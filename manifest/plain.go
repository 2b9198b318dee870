package manifest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// The types below are those of heads and lists without the methods that keep
// unknown members. Each such method makes encoding/json read and check its
// bytes again, level by level: a head of 30 KB took milliseconds, which is the
// start of a process with thousands of partitions. Nearly all heads have no
// unknown member. They are encoded and decoded in one go by these types; the
// methods are for the rest, and say what is right.
type (
	plainFile File
	plainPlan Plan
	plainRef  ListRef

	rangeFields RangeRecord // Data and Dead are those of plainRange
	plainRange  struct {
		rangeFields
		Data []plainFile `json:"data,omitempty"`
		Dead []plainFile `json:"dead,omitempty"`
	}

	plainHead = headForm[plainPlan, plainRange, plainRef]
	plainList = listForm[plainRange, plainRef]
)

// each converts the elements of a slice; nil stays nil. It returns false if f
// does for one of them.
func each[A, B any](all []A, f func(a A) (B, bool)) ([]B, bool) {
	if all == nil {
		return nil, true
	}
	to := make([]B, len(all))
	for i, a := range all {
		b, ok := f(a)
		if !ok {
			return nil, false
		}
		to[i] = b
	}
	return to, true
}

func toPlainFile(f File) (plainFile, bool)  { return plainFile(f), len(f.unknown) == 0 }
func toPlainRef(r ListRef) (plainRef, bool) { return plainRef(r), len(r.unknown) == 0 }

func toPlainRange(r RangeRecord) (p plainRange, ok bool) {
	data, ok1 := each(r.Data, toPlainFile)
	dead, ok2 := each(r.Dead, toPlainFile)
	return plainRange{rangeFields(r), data, dead}, ok1 && ok2 && len(r.unknown) == 0
}

func fromPlainFile(p plainFile) (File, bool)  { return File(p), true }
func fromPlainRef(p plainRef) (ListRef, bool) { return ListRef(p), true }

func fromPlainRange(p plainRange) (RangeRecord, bool) {
	r := RangeRecord(p.rangeFields)
	r.Data, _ = each(p.Data, fromPlainFile)
	r.Dead, _ = each(p.Dead, fromPlainFile)
	return r, true
}

// toPlainHead returns h in the form without methods, if that has place for all
// of it.
func toPlainHead(h Head) (plainHead, bool) {
	ranges, ok1 := each(h.Ranges, toPlainRange)
	sealed, ok2 := each(h.Sealed, toPlainRef)
	ok3 := h.Pending == nil || len(h.Pending.unknown) == 0
	return newHeadForm(h, (*plainPlan)(h.Pending), ranges, sealed), ok1 && ok2 && ok3 && len(h.unknown) == 0
}

// fromPlainHead decodes a head that has no unknown members.
func fromPlainHead(body []byte) (headJSON, bool) {
	var p plainHead
	if json.Unmarshal(body, &p) != nil || checkMajor(p.Format) != nil || !headShape.holds(body) {
		return headJSON{}, false
	}
	j := headJSON{headFields: p.headFields, Pending: (*Plan)(p.Pending), headTail: p.headTail}
	j.Ranges, _ = each(p.Ranges, fromPlainRange)
	j.Sealed, _ = each(p.Sealed, fromPlainRef)
	return j, true
}

// encodeList returns the stored form of l.
func encodeList(l list) ([]byte, error) {
	ranges, ok1 := each(l.Ranges, toPlainRange)
	refs, ok2 := each(l.Lists, toPlainRef)
	if !ok1 || !ok2 {
		return json.Marshal(l)
	}
	return json.Marshal(plainList{l.listFields, ranges, refs})
}

// parseList reads the stored form of a list.
func parseList(body []byte) (l list, err error) {
	l, ok := fromPlainList(body)
	if ok {
		return l, nil
	}
	if err := checkFormat(body); err != nil {
		return list{}, err
	}
	if err := json.Unmarshal(body, &l); err != nil {
		return list{}, fmt.Errorf("%w: %w", ErrDamage, err)
	}
	return l, nil
}

// fromPlainList decodes a list that has no unknown members.
func fromPlainList(body []byte) (l list, ok bool) {
	var p plainList
	if json.Unmarshal(body, &p) != nil || checkMajor(p.Format) != nil || !listShape.holds(body) {
		return list{}, false
	}
	l.listFields = p.listFields
	l.Ranges, _ = each(p.Ranges, fromPlainRange)
	l.Lists, _ = each(p.Lists, fromPlainRef)
	return l, true
}

// sizeOf returns the bytes that elements take in a head.
func sizeOf[A, B any](all []A, plain func(a A) (B, bool)) (int, error) {
	var of any = all
	if p, ok := each(all, plain); ok {
		of = p
	}
	body, err := json.Marshal(of)
	return len(body), err
}

// shape is the members that objects of a kind may have, and the shapes of
// those members that are objects, or arrays of objects, of a kind themselves.
type shape struct {
	index map[string]int
	inner map[string]*shape
}

func newShape(t reflect.Type, inner map[string]*shape) *shape {
	s := &shape{index: map[string]int{}, inner: inner}
	for name := range memberNames(t) {
		s.index[name] = len(s.index)
	}
	return s
}

var (
	fileShape  = newShape(reflect.TypeFor[File](), nil)
	rangeShape = newShape(reflect.TypeFor[RangeRecord](), map[string]*shape{"data": fileShape, "dead": fileShape})
	refShape   = newShape(reflect.TypeFor[ListRef](), nil)
	planShape  = newShape(reflect.TypeFor[Plan](), nil)
	headShape  = newShape(reflect.TypeFor[headJSON](), map[string]*shape{"pending": planShape, "ranges": rangeShape, "sealed": refShape})
	listShape  = newShape(reflect.TypeFor[list](), map[string]*shape{"ranges": rangeShape, "lists": refShape})
)

// holds reports whether every object of body, which is valid JSON, has only
// members of its shape, each at most once and spelt exactly so.
func (s *shape) holds(body []byte) bool {
	w := walk{body: body}
	return w.value(s)
}

// walk is a place in valid JSON.
type walk struct {
	body []byte
	at   int
}

// next returns the next byte that is no space.
func (w *walk) next() byte {
	for strings.IndexByte(" \t\r\n", w.body[w.at]) >= 0 {
		w.at++
	}
	return w.body[w.at]
}

// value goes behind the value that is next.
func (w *walk) value(s *shape) bool {
	switch c := w.next(); {
	case c == '{' && s != nil:
		return w.object(s)
	case c == '[' && s != nil:
		return w.array(s)
	default:
		w.skip()
		return true
	}
}

func (w *walk) array(s *shape) bool {
	for w.at++; w.next() != ']'; {
		if w.body[w.at] == ',' {
			w.at++
		}
		if !w.value(s) {
			return false
		}
	}
	w.at++
	return true
}

func (w *walk) object(s *shape) bool {
	var seen uint64
	for w.at++; w.next() != '}'; {
		if w.body[w.at] == ',' {
			w.at++
			w.next()
		}
		from := w.at
		w.text()
		name := w.body[from+1 : w.at-1]
		i, ok := s.index[string(name)]
		if !ok || seen&(1<<i) != 0 {
			return false
		}
		seen |= 1 << i
		w.next() // the colon
		w.at++
		if !w.value(s.inner[string(name)]) {
			return false
		}
	}
	w.at++
	return true
}

// text goes behind the string that is next.
func (w *walk) text() {
	for w.at++; w.body[w.at] != '"'; w.at++ {
		if w.body[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
}

// skip goes behind the value that is next, whatever is in it.
func (w *walk) skip() {
	for depth := 0; w.at < len(w.body); {
		switch w.body[w.at] {
		case '"':
			w.text()
			if depth == 0 {
				return
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return // of what a number or a word lies in
			}
			if depth--; depth == 0 {
				w.at++
				return
			}
		case ',':
			if depth == 0 {
				return
			}
		}
		w.at++
	}
}
