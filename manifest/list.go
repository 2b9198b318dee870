package manifest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/lakeweir/lakeweir/store"
)

// ListName is what the key of a sealed list says.
type ListName struct {
	Partition int32
	Level     int
	Range
	Random string // 16 hex digits: two lists of one range never share a key
}

// Key returns the key of the list.
func (n ListName) Key() string {
	return fmt.Sprintf("%s%d-%020d-%020d-%s.json", Partition{ID: n.Partition}.listPrefix(), n.Level, n.Start, n.Next, n.Random)
}

// ParseListName reads the key of a sealed list.
func ParseListName(key string) (ListName, error) {
	bad := fmt.Errorf("%q is not the key of a sealed list: %w", key, ErrName)
	rest, ok := strings.CutPrefix(key, "manifest/")
	folder, base, ok2 := strings.Cut(rest, "/")
	base, ok3 := strings.CutSuffix(base, ".json")
	parts := strings.Split(base, "-")
	if !ok || !ok2 || !ok3 || len(parts) != 4 || !isRandom(parts[3]) {
		return ListName{}, bad
	}
	id, err := parseDigits(folder, 5)
	level, err2 := strconv.ParseInt(parts[0], 10, 8)
	start, err3 := parseDigits(parts[1], 20)
	next, err4 := parseDigits(parts[2], 20)
	n := ListName{Partition: int32(id), Level: int(level), Range: Range{Start: start, Next: next}, Random: parts[3]}
	if errors.Join(err, err2, err3, err4, n.Range.Validate()) != nil || n.Level < 0 || n.Level > maxLevel || n.Key() != key {
		return ListName{}, bad
	}
	return n, nil
}

// ListRef refers to a sealed list from a head, or from a list of the next level.
type ListRef struct {
	Level      int `json:"level"`
	Generation int `json:"generation,omitempty"`
	Range
	Random string `json:"random"`
	Totals Totals `json:"totals"` // of all ranges below it

	unknown unknownFields
}

// Key returns the key of the list, given the partition that it belongs to.
func (r ListRef) Key(partition int32) string {
	return ListName{Partition: partition, Level: r.Level, Range: r.Range, Random: r.Random}.Key()
}

// MarshalJSON is json.Marshaler; it keeps members that this version does not know.
func (r ListRef) MarshalJSON() ([]byte, error) {
	type plain ListRef
	return encodeWith(plain(r), r.unknown)
}

// UnmarshalJSON is json.Unmarshaler.
func (r *ListRef) UnmarshalJSON(data []byte) (err error) {
	type plain ListRef
	r.unknown, err = decodeWith(data, (*plain)(r))
	return err
}

// list is a sealed list: range records at level 0, references to lists of the
// level below otherwise. It is written once and never changed.
type list = listForm[RangeRecord, ListRef]

type listForm[R, S any] struct {
	listFields
	Ranges []R `json:"ranges,omitempty"`
	Lists  []S `json:"lists,omitempty"`
}

type listFields struct {
	Format    string `json:"format"`
	Table     string `json:"table"`
	Partition int32  `json:"partition"`
	Level     int    `json:"level"`
}

// decodeList reads the body of the list that ref refers to, and checks that it
// is the one: its parts are contiguous, span the range and sum to the totals.
func decodeList(body []byte, ref ListRef) (list, error) {
	l, err := parseList(body)
	if err != nil {
		return list{}, err
	}
	if l.Level != ref.Level || (l.Level == 0) != (len(l.Lists) == 0) {
		return list{}, fmt.Errorf("%w: list of level %d where level %d is referred to", ErrDamage, l.Level, ref.Level)
	}
	if len(l.Ranges) > 0 && len(l.Lists) > 0 {
		return list{}, fmt.Errorf("%w: list of level %d holds ranges and lists", ErrDamage, l.Level)
	}
	at := chain{generation: ref.Generation, next: ref.Start}
	for _, r := range l.Ranges {
		if err := at.link(r.Range, r.Generation, r.Totals()); err != nil {
			return list{}, err
		}
		if err := r.Validate(); err != nil {
			return list{}, fmt.Errorf("%w: %w", ErrDamage, err)
		}
	}
	for _, r := range l.Lists {
		if r.Level != l.Level-1 {
			return list{}, fmt.Errorf("%w: list of level %d refers to one of level %d", ErrDamage, l.Level, r.Level)
		}
		if err := at.linkList(r); err != nil {
			return list{}, err
		}
	}
	if at.next != ref.Next || at.totals != ref.Totals || at.generation != ref.Generation {
		return list{}, fmt.Errorf("%w: list does not hold range %s with the totals that are recorded", ErrDamage, ref.Range)
	}
	return l, nil
}

// readList gets the list that ref refers to.
func readList(ctx context.Context, s store.Store, partition int32, ref ListRef) (list, error) {
	key := ref.Key(partition)
	o, err := s.Get(ctx, key, store.Span{})
	if err != nil {
		return list{}, fmt.Errorf("read list %s: %w", key, err)
	}
	l, err := decodeList(o.Body, ref)
	if err != nil {
		return list{}, fmt.Errorf("list %s: %w", key, err)
	}
	if l.Partition != partition {
		return list{}, fmt.Errorf("%w: list %s is of partition %d", ErrDamage, key, l.Partition)
	}
	return l, nil
}

// newRandom returns the random part of a name: 64 bits in hex.
func newRandom() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
