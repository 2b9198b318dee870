package manifest

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/lakeweir/lakeweir/store"
)

// Read returns the head of a partition, or store.ErrNotExist when it has none.
// The store is the root of the table.
func Read(ctx context.Context, s store.Store, partition int32) (Head, error) {
	h, _, err := readHead(ctx, s, partition)
	return h, err
}

// readHead returns the head and the ETag that its body came with.
func readHead(ctx context.Context, s store.Store, partition int32) (Head, string, error) {
	key := Partition{ID: partition}.HeadKey()
	o, err := s.Get(ctx, key, store.Span{})
	if err != nil {
		return Head{}, "", fmt.Errorf("read head %s: %w", key, err)
	}
	h, err := DecodeHead(o.Body)
	if err != nil {
		return Head{}, "", fmt.Errorf("head %s: %w", key, err)
	}
	if h.ID != partition {
		return Head{}, "", fmt.Errorf("%w: head %s is of partition %d", ErrDamage, key, h.ID)
	}
	return h, o.ETag, nil
}

// Heads yields the heads of a table in the order of their partitions. An error
// of one head does not end the sequence; an error of the listing does.
func Heads(ctx context.Context, s store.Store) iter.Seq2[Head, error] {
	return func(yield func(Head, error) bool) {
		ids, err := Partitions(ctx, s)
		if err != nil {
			yield(Head{}, err)
			return
		}
		for _, id := range ids {
			if !yield(Read(ctx, s, id)) {
				return
			}
		}
	}
}

// page is how many keys of sealed lists are passed over before a listing is
// begun anew behind them: what S3 sends in one answer
// (https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html).
// Fewer would ask once for each partition of a large table, more would look
// through all lists of a large partition.
const page = 1000

// Partitions returns the ids of the partitions that have a head, ascending.
func Partitions(ctx context.Context, s store.Store) ([]int32, error) {
	var ids []int32
	for after, more := "", true; more; {
		var err error
		if ids, after, err = appendHeads(ctx, s, ids, after); err != nil {
			return nil, fmt.Errorf("list heads: %w", err)
		}
		more = after != ""
	}
	return ids, nil
}

// appendHeads adds the partitions whose heads are listed after a key. Unless it
// came to the end, it returns the key to go on behind.
func appendHeads(ctx context.Context, s store.Store, ids []int32, after string) ([]int32, string, error) {
	passed := 0
	for info, err := range s.List(ctx, "manifest/", after) {
		if err != nil {
			return nil, "", err
		}
		if id, err := ParseHeadKey(info.Key); err == nil {
			ids, passed = append(ids, id), 0
			continue
		}
		if passed++; passed < page {
			continue
		}
		if n, err := ParseListName(info.Key); err == nil {
			return ids, Partition{ID: n.Partition}.listPrefix() + "~", nil // behind its lists
		}
	}
	return ids, "", nil
}

var errNone = errors.New("no object")

// first returns the first object of a listing, or errNone.
func first(list iter.Seq2[store.Info, error]) (store.Info, error) {
	for info, err := range list {
		return info, err
	}
	return store.Info{}, errNone
}

// All yields every range that h has published, of all generations, oldest
// first. It ends with the first error. A list that is not there (store.ErrNotExist)
// means that h is old: read the head again; only if the new one still names
// that list is it damage.
func (h Head) All(ctx context.Context, s store.Store) iter.Seq2[RangeRecord, error] {
	return func(yield func(RangeRecord, error) bool) {
		for _, ref := range h.Sealed {
			if !h.walk(ctx, s, ref, yield) {
				return
			}
		}
		for _, r := range h.Ranges {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// walk yields the ranges below a reference. It returns false to stop.
func (h Head) walk(ctx context.Context, s store.Store, ref ListRef, yield func(RangeRecord, error) bool) bool {
	l, err := readList(ctx, s, h.ID, ref)
	if err != nil {
		yield(RangeRecord{}, err)
		return false
	}
	for _, r := range l.Ranges {
		if !yield(r, nil) {
			return false
		}
	}
	for _, below := range l.Lists {
		if !h.walk(ctx, s, below, yield) {
			return false
		}
	}
	return true
}

// Files yields the files with rows that h has published, oldest first.
func (h Head) Files(ctx context.Context, s store.Store) iter.Seq2[File, error] {
	return h.files(ctx, s, func(r RangeRecord) []File { return r.Data })
}

// DeadLetters yields the dead-letter files that h has published, oldest first.
func (h Head) DeadLetters(ctx context.Context, s store.Store) iter.Seq2[File, error] {
	return h.files(ctx, s, func(r RangeRecord) []File { return r.Dead })
}

func (h Head) files(ctx context.Context, s store.Store, of func(RangeRecord) []File) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		for r, err := range h.All(ctx, s) {
			if err != nil {
				yield(File{}, err)
				return
			}
			for _, f := range of(r) {
				if !yield(f, nil) {
					return
				}
			}
		}
	}
}
