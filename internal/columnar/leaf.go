package columnar

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/format"
)

// form is what all files of a schema have the same of a leaf column.
type form struct {
	path           []string
	kind           parquet.Type    // compares, and makes the index of pages
	encoding       format.Encoding // PLAIN, RLE_DICTIONARY or DELTA_BINARY_PACKED
	codec          compress.Codec
	width          int // bytes of a value; 0 for those with a length of their own
	maxRep, maxDef uint8
	bounded        bool

	// Sizes in memory at which a page ends, and at which a dictionary gives way
	// to plain values.
	pageBytes, dictionaryBytes int
}

// leaf is a leaf column of a row group that is being written: the open page,
// whose values can be taken back, and the pages before it.
//
// Values go straight into the bytes that PLAIN makes of them. That, no value
// with its levels and its kind in between, is what makes a column cheap.
type leaf struct {
	form  *form
	open  content
	mark  mark        // what there was before the row
	dict  *dictionary // nil in a column without one
	rows  int         // of the open page, when it was looked at last
	taken int         // values of it by then
	chunk chunk
}

// content is what an open page holds.
type content struct {
	reps, defs []byte  // levels, if leveled; else every value is there, and is a row
	leveled    bool    // so from the first null on, and always in a list
	plain      []byte  // values that are not null, as PLAIN has them, a bool in a byte
	index      []int32 // or where in the dictionary they are
	values     int     // nulls included
	nulls      int
}

// mark is how much there was of the contents of a page. It has no pointers:
// it is set for every column of every row.
type mark struct{ values, nulls, plain, index, entries int }

func newLeaf(f *form) leaf {
	l := leaf{form: f, chunk: chunk{index: f.kind.NewColumnIndexer(parquet.DefaultColumnIndexSizeLimit)}}
	if f.encoding == format.RLEDictionary {
		l.dict = newDictionary(f.width)
	}
	l.restart()
	return l
}

// begin says that a row begins: undo goes back to here.
func (l *leaf) begin() {
	l.mark.values, l.mark.nulls = l.open.values, l.open.nulls
	l.mark.plain, l.mark.index = len(l.open.plain), len(l.open.index)
	if l.dict != nil {
		l.mark.entries = l.dict.len()
	}
}

// undo takes back what came since begin.
func (l *leaf) undo() {
	over := l.open.values - l.mark.values
	if l.form.maxRep > 0 {
		l.open.reps = l.open.reps[:len(l.open.reps)-over]
	}
	if l.open.leveled {
		l.open.defs = l.open.defs[:len(l.open.defs)-over]
	}
	l.open.values, l.open.nulls = l.mark.values, l.mark.nulls
	l.open.plain, l.open.index = l.open.plain[:l.mark.plain], l.open.index[:l.mark.index]
	if l.dict != nil {
		l.dict.cut(l.mark.entries)
	}
}

// level adds the levels of a value.
func (l *leaf) level(rep, def uint8) {
	l.open.values++
	l.open.defs = append(l.open.defs, def)
	if l.form.maxRep > 0 {
		l.open.reps = append(l.open.reps, rep)
	}
}

// null adds that from a definition level on nothing is there.
func (l *leaf) null(rep, def uint8) {
	if !l.open.leveled {
		l.makeLevels()
	}
	l.level(rep, def)
	l.open.nulls++
}

// makeLevels adds the levels of the values until now, which are all there.
func (l *leaf) makeLevels() {
	o := &l.open
	o.leveled = true
	o.defs = slices.Grow(o.defs[:0], o.values)[:o.values]
	for i := range o.defs {
		o.defs[i] = l.form.maxDef
	}
}

// present adds the levels of a value that is there.
func (l *leaf) present(rep uint8) {
	if !l.open.leveled {
		l.open.values++
		return
	}
	l.level(rep, l.form.maxDef)
}

// inDictionary reports whether a value is to go into the dictionary.
func (l *leaf) inDictionary() bool { return l.dict != nil && !l.dict.full }

// overfull reports whether the dictionary is too large to go on.
func (l *leaf) overfull() bool { return l.inDictionary() && l.dict.size() > l.form.dictionaryBytes }

func (l *leaf) putBool(v bool, rep uint8) {
	l.present(rep)
	b := byte(0)
	if v {
		b = 1
	}
	l.open.plain = append(l.open.plain, b)
}

func (l *leaf) putInt32(v int32, rep uint8) {
	l.present(rep)
	if l.inDictionary() {
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], uint32(v))
		l.open.index = append(l.open.index, l.dict.of(b[:]))
		return
	}
	l.open.plain = binary.LittleEndian.AppendUint32(l.open.plain, uint32(v))
}

func (l *leaf) putInt64(v int64, rep uint8) {
	l.present(rep)
	if l.inDictionary() {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(v))
		l.open.index = append(l.open.index, l.dict.of(b[:]))
		return
	}
	l.open.plain = binary.LittleEndian.AppendUint64(l.open.plain, uint64(v))
}

func (l *leaf) putDouble(v float64, rep uint8) { l.putInt64(int64(math.Float64bits(v)), rep) }

// putBytes adds a value of a length of its own, or of the width of the column.
func (l *leaf) putBytes(v []byte, rep uint8) {
	l.present(rep)
	if l.inDictionary() {
		l.open.index = append(l.open.index, l.dict.of(v))
		return
	}
	if l.form.width == 0 {
		l.open.plain = binary.LittleEndian.AppendUint32(l.open.plain, uint32(len(v)))
	}
	l.open.plain = append(l.open.plain, v...)
}

func (l *leaf) putText(v string, rep uint8) {
	l.putBytes(unsafe.Slice(unsafe.StringData(v), len(v)), rep)
}

// newRows returns how many rows came since step was called last.
func (l *leaf) newRows() (n int) {
	if l.form.maxRep == 0 {
		return l.open.values - l.taken
	}
	for _, rep := range l.open.reps[l.taken:] {
		if rep == 0 {
			n++
		}
	}
	return n
}

// step says that n rows are whole and stay. It closes the page if that is
// large enough.
func (l *leaf) step(n int, s *scratch) error {
	l.rows, l.taken = l.rows+n, l.open.values
	if size := max(len(l.open.plain), 4*len(l.open.index)); size < l.form.pageBytes && !l.overfull() {
		return nil
	}
	return l.closePage(s)
}

// restart empties the open page.
func (l *leaf) restart() {
	o := &l.open
	o.reps, o.defs, o.plain, o.index = o.reps[:0], o.defs[:0], o.plain[:0], o.index[:0]
	o.values, o.nulls, l.rows, l.taken = 0, 0, 0, 0
	o.leveled = l.form.maxRep > 0
}
