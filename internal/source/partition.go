package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lakeweir/lakeweir/record"
)

// maxTries is how often a batch whose bytes are damaged is fetched again: the
// damage may be on the way, or on one replica.
const maxTries = 3

// Partition is one partition for as long as it is assigned. Seek and Read
// belong to one goroutine; the other methods may be called by any.
type Partition struct {
	key
	session *session
	router  *router
	member  *member         // nil without a group
	ctx     context.Context // of the assignment
	ready   chan struct{}

	state // under router.mu

	pos    int64 // of the next batch handed out
	placed bool
	cur    chunk // being read
	tries  int   // at pos
}

// Topic returns the topic's name.
func (p *Partition) Topic() string { return p.topic }

// Late reports whether the partition appeared after Run began. All of a late
// one is new: whatever is in it came while its topic was being read.
func (p *Partition) Late() bool { return p.session.late(p.key) }

// ID returns the number of the partition in its topic.
func (p *Partition) ID() int32 { return p.partition }

func (p *Partition) notify() {
	select {
	case p.ready <- struct{}{}:
	default:
	}
}

// Seek makes offset the position of the next Read. Whether the log holds it
// shows in that Read.
func (p *Partition) Seek(ctx context.Context, offset int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if offset < 0 {
		return fmt.Errorf("seek %s: offset %d is negative", p.key, offset)
	}
	p.pos, p.placed, p.tries = offset, true, 0
	p.unload()
	p.router.reset(p, offset)
	return nil
}

// unload drops the chunk being read.
func (p *Partition) unload() {
	if p.cur.charge > 0 {
		p.router.c.Room.Release(p.cur.charge)
	}
	p.cur = chunk{}
}

// close gives back all memory. The partition is not to be used afterwards.
func (p *Partition) close() {
	p.unload()
	p.router.detach(p)
}

// Read returns the next batch; it blocks until there is one. The batch begins
// at the position and the position moves to its Next, so the batches of one
// Seek are contiguous. One without records only moves the position: over
// transaction markers, aborted records or what compaction removed.
//
// The batch's Size is charged to Room; the caller releases it. A cancelled ctx
// loses nothing. An *OutOfRangeError means that the log does not hold the
// position; any other error but ctx's names the offset that cannot be read.
// Both are final until the next Seek.
func (p *Partition) Read(ctx context.Context) (*record.Batch, error) {
	if !p.placed {
		return nil, fmt.Errorf("read %s: %w", p.key, ErrNoPosition)
	}
	for {
		if err := p.alive(ctx); err != nil {
			return nil, err
		}
		b, err := p.step()
		if b != nil {
			p.tries = 0
			return b, nil
		}
		if err == nil {
			if err = p.load(); errors.Is(err, errEmpty) {
				select {
				case <-p.ready:
				case <-ctx.Done():
				case <-p.ctx.Done():
				}
				continue
			}
		}
		if err != nil {
			if err = p.recover(ctx, err); err != nil {
				return nil, err
			}
		}
	}
}

func (p *Partition) alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.ctx.Err()
}

// errEmpty means that nothing has been fetched yet.
var errEmpty = errors.New("nothing fetched")

// load takes the next chunk from the queue.
func (p *Partition) load() error {
	c, ok, err := p.router.pop(p)
	if err != nil {
		return err
	}
	if !ok {
		return errEmpty
	}
	p.cur = c
	return nil
}

// step returns the next batch of the chunk being read, nil at its end.
func (p *Partition) step() (*record.Batch, error) {
	for p.cur.at < len(p.cur.raw) {
		raw := p.cur.raw[p.cur.at:]
		h, err := parseHeader(raw)
		if err != nil {
			return nil, p.bad(h, err)
		}
		if h.last < p.pos {
			p.cur.filter.reach(h.last)
			if h.control() {
				p.end(h, raw)
			}
			p.cur.at += h.size
			continue
		}
		b, err := p.batch(h, raw)
		if err != nil {
			return nil, p.bad(h, err)
		}
		p.router.c.Room.Take(b.Size())
		p.pos = b.Next
		if p.cur.at += h.size; p.cur.at == len(p.cur.raw) {
			p.unload()
		}
		return b, nil
	}
	p.unload()
	return nil, nil
}

// end tells the filter of a marker below the position, as well as it can be
// read.
func (p *Partition) end(h header, raw []byte) {
	if b, err := p.parse(h, raw, h.base); err == nil && b.Len() > 0 {
		p.cur.filter.marker(h.producer, b.At(0).Key)
	}
}

// batch makes a batch of records, or an empty one of what is not delivered.
func (p *Partition) batch(h header, raw []byte) (*record.Batch, error) {
	if err := h.check(raw); err != nil {
		return nil, err
	}
	f := &p.cur.filter
	f.reach(h.last)
	if h.control() {
		b, err := p.parse(h, raw, h.base)
		if err != nil {
			return nil, err
		}
		if b.Len() > 0 {
			f.marker(h.producer, b.At(0).Key)
		}
		return p.nothing(h), nil
	}
	if f.drops(h) {
		return p.nothing(h), nil
	}
	return p.parse(h, raw, p.pos)
}

func (p *Partition) parse(h header, raw []byte, from int64) (*record.Batch, error) {
	c := codecPool.Get().(*codecs)
	defer codecPool.Put(c)
	return h.decode(raw, from, c, int(p.router.c.BatchBytes))
}

// nothing is a batch that only accounts for offsets.
func (p *Partition) nothing(h header) *record.Batch {
	b := record.NewBatch(p.pos, nil)
	b.LeaderEpoch, b.Next = h.epoch, h.next()
	return b
}

// damage is an error of the bytes of a batch.
type damage struct {
	base int64
	err  error
}

func (d *damage) Error() string { return d.err.Error() }
func (d *damage) Unwrap() error { return d.err }

func (p *Partition) bad(h header, err error) error { return &damage{h.base, err} }

// final is an error that stays until the next Seek.
type final struct{ error }

// recover deals with what stopped the reading: nil means try again.
func (p *Partition) recover(ctx context.Context, err error) error {
	if f, ok := err.(final); ok {
		return f.error
	}
	if errors.Is(err, ErrOutOfRange) {
		return p.outOfRange(ctx)
	}
	var d *damage
	found := errors.As(err, &d)
	if found || errors.Is(err, errCRC) {
		if p.tries++; p.tries <= maxTries && again(err) {
			p.unload()
			p.router.reset(p, p.pos)
			sleep(ctx, 20*time.Millisecond<<p.tries)
			return nil
		}
	}
	if found {
		err = fmt.Errorf("read %s at offset %d, batch at offset %d: %w", p.key, p.pos, d.base, d.err)
	} else if errors.Is(err, errCRC) {
		err = fmt.Errorf("read %s at offset %d: the broker says: %w", p.key, p.pos, err)
	}
	p.stop(err)
	return err
}

// again reports damage that a second fetch may not show.
func again(err error) bool {
	return !errors.Is(err, errTooLarge) && !errors.Is(err, errCodec)
}

// stop makes err what every Read returns until the next Seek.
func (p *Partition) stop(err error) {
	p.unload()
	p.router.mu.Lock()
	p.router.drop(p)
	p.router.fail(p, final{err})
	p.router.mu.Unlock()
}

// outOfRange asks for the bounds of the log. A position inside them was
// refused by a leader that does not know better yet.
func (p *Partition) outOfRange(ctx context.Context) error {
	start, end, err := p.bounds(ctx, false)
	if err != nil {
		// The brokers went away meanwhile: fetch on, and be told again.
		p.router.c.Log.Debug("bounds not known", "partition", p.String(), "error", err)
		p.router.reset(p, p.pos)
		return p.alive(ctx)
	}
	if p.pos >= start && p.pos <= end {
		if p.tries++; p.tries <= maxTries {
			sleep(ctx, 20*time.Millisecond<<p.tries)
			p.router.reset(p, p.pos)
			return nil
		}
	}
	return &OutOfRangeError{Topic: p.topic, Partition: p.partition, Position: p.pos, Start: start, End: end}
}
