package writer

import (
	"context"
	"fmt"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// reader reads a Source, and first of all what was read of it before but not
// used: the rest of a batch that was split, or what an earlier session left.
type reader struct {
	source Source
	back   []*record.Batch // in order; the source goes on behind it
}

// seek begins at a position. What was put back is kept, and goes on from there
// when it begins there; its end is where the source is read on.
func (r *reader) seek(ctx context.Context, at int64) error {
	if n := len(r.back); n > 0 {
		at = r.back[n-1].Next
	}
	if err := r.source.Seek(ctx, at); err != nil {
		return fmt.Errorf("seek %d: %w", at, err)
	}
	return nil
}

// next returns the next batch.
func (r *reader) next(ctx context.Context) (*record.Batch, error) {
	if len(r.back) > 0 {
		b := r.back[0]
		r.back[0] = nil // else its records stay as long as the slice
		r.back = r.back[1:]
		return b, nil
	}
	return r.source.Read(ctx)
}

// unread puts b back in front.
func (r *reader) unread(b *record.Batch) {
	r.back = append([]*record.Batch{b}, r.back...)
}

// exactly reads the records of a range. The log must reach to its end. What was
// read is held until the range is whole.
func (r *reader) exactly(ctx context.Context, want manifest.Range, budget *Budget) (batches []*record.Batch, err error) {
	var held int64
	defer func() { budget.hold(-held) }()
	for at := want.Start; at < want.Next; {
		b, err := r.next(ctx)
		if err != nil {
			for i := len(batches) - 1; i >= 0; i-- {
				r.unread(batches[i])
			}
			return nil, fmt.Errorf("read %s again: at %d: %w", want, at, err)
		}
		if b.Next > want.Next {
			var rest *record.Batch
			b, rest = b.Split(want.Next)
			r.unread(rest)
		}
		batches, at = append(batches, b), b.Next
		held += b.Size()
		budget.hold(b.Size())
	}
	return batches, nil
}
