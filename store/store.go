// Package store defines the object store that everything durable lives in: a
// flat map from key to bytes, with conditional writes.
//
// Keys are relative to where a Store was opened, separated by "/", and sort as
// bytes. [Sub] opens a folder of a Store, for example the root of one table.
package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"iter"
	"time"
)

// Errors of a Store, wrapped with the key that they concern. After a Put that
// returned any other error it is unknown whether the object was written.
var (
	// ErrNotExist is returned when no object has the key.
	ErrNotExist = errors.New("object does not exist")

	// ErrConflict is returned by Put when its condition does not hold. This
	// call did not write the object; an earlier try of it, whose answer was
	// lost, may have.
	ErrConflict = errors.New("object is not as the condition says")

	// ErrDamaged is returned by Get when a body is not the one that was
	// written: it was changed on its way, twice, or where it lies.
	ErrDamaged = errors.New("the body is not as it was written (look for a faulty proxy, disk or memory)")

	// ErrCond is returned by Put for the zero Cond: a forgotten condition must
	// not become an unconditional write.
	ErrCond = errors.New("put without a condition: say store.IfAbsent, store.IfMatch or store.Blind")
)

// Store is an object store. Reads and lists see every completed write.
// Implementations are safe for concurrent use by several goroutines and, but
// for the one in memory, by several processes.
type Store interface {
	// Get returns an object, or the part of its body that span names, or ErrNotExist.
	Get(ctx context.Context, key string, span Span) (Object, error)

	// Stat returns what is known of an object without its body, or ErrNotExist.
	// SHA256 is nil when the store does not keep one.
	Stat(ctx context.Context, key string) (Info, error)

	// Put writes the whole object if cond holds, else it returns ErrConflict.
	// No reader ever sees a part of it. It sends the SHA-256 of the body along
	// where the store checks one. It does not retry under IfMatch.
	Put(ctx context.Context, key string, body []byte, cond Cond) (Info, error)

	// List yields the objects whose keys begin with prefix and sort after
	// after, in key order. It ends with the first error.
	List(ctx context.Context, prefix, after string) iter.Seq2[Info, error]

	// Delete removes an object. Removing one that is not there is no error.
	Delete(ctx context.Context, key string) error
}

// Info describes an object.
type Info struct {
	Key      string
	Size     int64
	ETag     string             // opaque; changes with the body, but may return with it
	SHA256   *[sha256.Size]byte // nil when unknown; never set by List
	Modified time.Time          // for people only: nothing may depend on a clock
}

// Object is an object and the bytes that were asked for.
type Object struct {
	Info
	Body []byte
}

// Span is a part of a body. The zero Span is all of it.
type Span struct {
	Offset int64 // of the first byte; negative counts from the end
	Length int64 // 0 is up to the end
}

// Cond is the condition of a Put. The zero Cond is refused with ErrCond.
type Cond struct {
	kind condKind
	etag string
}

type condKind int8

const (
	condNone condKind = iota
	condAbsent
	condMatch
	condBlind
)

// IfAbsent holds when no object has the key: for what is created once.
func IfAbsent() Cond { return Cond{kind: condAbsent} }

// IfMatch holds when the object is there and still has the ETag: for heads.
func IfMatch(etag string) Cond { return Cond{kind: condMatch, etag: etag} }

// Blind always holds: for files without rows at names that no one may publish
// any more, and for stores whose operator rules out a second writer.
func Blind() Cond { return Cond{kind: condBlind} }

// Absent reports whether c is IfAbsent.
func (c Cond) Absent() bool { return c.kind == condAbsent }

// ETag returns the ETag of an IfMatch condition, and whether c is one.
func (c Cond) ETag() (string, bool) { return c.etag, c.kind == condMatch }

// Err returns ErrCond for the zero Cond.
func (c Cond) Err() error {
	if c.kind == condNone {
		return ErrCond
	}
	return nil
}

// Holds reports whether c holds for an object with the ETag, or, when exists
// is false, for one that is not there.
func (c Cond) Holds(etag string, exists bool) bool {
	switch c.kind {
	case condAbsent:
		return !exists
	case condMatch:
		return exists && etag == c.etag
	default:
		return c.kind == condBlind
	}
}
