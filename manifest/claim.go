package manifest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/lakeweir/lakeweir/internal/backoff"
	"github.com/lakeweir/lakeweir/record"
	"github.com/lakeweir/lakeweir/store"
)

// Claimant says who claims a partition, and what for. Table, Identity and First
// are required.
type Claimant struct {
	Table     string
	Partition int32
	Identity  record.Identity // of the log, as the brokers say now

	// First returns where a partition begins that has no head yet. It is
	// asked once in the life of a generation.
	First func(ctx context.Context) (int64, error)

	// Check looks at the head that is about to be claimed, before anything is
	// written. An error ends the claim.
	Check func(ctx context.Context, h Head) error

	// Census is shared by the claims of one table in a process. Nil is one for
	// this claim alone.
	Census *Census

	Host, Software string       // for people who read the head
	Log            *slog.Logger // state changes and retries; nil discards

	// Failed is told of each try at the head that failed and is made again, at
	// the claim and at every later change. Nil tells nobody.
	Failed func(err error)

	reset bool // begin a new generation
}

// Claim makes the caller the writer of a partition and fences the one before
// it: from here on nobody of an older epoch can change the head. A Pending plan
// in the head is to be finished before anything else.
//
// Losing a race, also that of the first creation, is no error: Claim reads
// again and decides anew. It returns ErrIdentity when the head was written for
// another log, ErrDamage when a partition without a head has files already.
func Claim(ctx context.Context, s store.Store, c Claimant) (*Log, error) {
	l := &Log{store: s, log: c.Log, partition: c.Partition, failed: c.Failed}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	owner := Owner{ID: newRandom() + newRandom(), Host: c.Host, Software: c.Software}
	var pause backoff.Pause
	for {
		err := l.claim(ctx, c, owner)
		switch {
		case err == nil:
			return l, nil
		case ctx.Err() != nil || !errors.Is(err, errAgain):
			return nil, fmt.Errorf("claim %s/%d: %w", c.Table, c.Partition, err)
		}
		l.tell(err)
		l.log.Log(ctx, pause.Level(), "claim again", "table", c.Table, "partition", c.Partition, "error", err)
		if err := pause.Wait(ctx); err != nil {
			return nil, fmt.Errorf("claim %s/%d: %w", c.Table, c.Partition, err)
		}
	}
}

// errAgain marks an outcome that is settled by reading the head once more.
var errAgain = errors.New("the head has to be read again")

// claim tries once. Its own success with a lost answer is met at the next try,
// as a head of this owner.
func (l *Log) claim(ctx context.Context, c Claimant, owner Owner) error {
	h, etag, err := readHead(ctx, l.store, c.Partition)
	var cond store.Cond
	var lists []sealedList
	switch {
	case errors.Is(err, store.ErrNotExist):
		if h, err = newHead(ctx, l.store, c); err != nil {
			return err
		}
		cond = store.IfAbsent()
	case errors.Is(err, ErrDamage) || errors.Is(err, ErrFormat):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", errAgain, err)
	case h.Owner.ID == owner.ID:
		l.head, l.etag = h, etag
		return nil
	case c.reset:
		if h, lists, err = c.nextGeneration(ctx, h); err != nil {
			return err
		}
		cond = store.IfMatch(etag)
	default:
		if err := c.admit(ctx, h); err != nil {
			return err
		}
		if h.Identity.Topic == (record.TopicID{}) { // the brokers did not tell it before
			h.Identity.Topic = c.Identity.Topic
		}
		cond = store.IfMatch(etag)
	}
	h.Version++
	h.Epoch++
	h.Owner = owner
	if err := l.putLists(ctx, lists); err != nil {
		return err
	}
	return l.put(ctx, h, cond)
}

// putLists writes lists that the next head is going to name.
func (l *Log) putLists(ctx context.Context, lists []sealedList) error {
	for _, s := range lists {
		if _, err := l.store.Put(ctx, s.key, s.body, store.IfAbsent()); err != nil {
			return fmt.Errorf("write list %s: %w: %w", s.key, errAgain, err)
		}
	}
	return nil
}

// put writes h under cond. Any error but that of the context is errAgain.
func (l *Log) put(ctx context.Context, h Head, cond store.Cond) error {
	body, err := EncodeHead(h)
	if err != nil {
		return err
	}
	if err := h.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrChange, err)
	}
	info, err := l.store.Put(ctx, h.HeadKey(), body, cond)
	if err != nil {
		return fmt.Errorf("write head %s: %w: %w", h.HeadKey(), errAgain, err)
	}
	l.head, l.etag = h, info.ETag
	return nil
}

// admit says whether the head that is there may be claimed.
func (c Claimant) admit(ctx context.Context, h Head) error {
	if h.Table != c.Table {
		return fmt.Errorf("%w: the head is of table %q", ErrDamage, h.Table)
	}
	if err := sameLog(h.Identity, c.Identity); err != nil {
		return err
	}
	if c.Check == nil {
		return nil
	}
	return c.Check(ctx, h)
}

// sameLog compares the identity in a head with what the brokers say. A broker
// without topic ids (the zero id) cannot tell, and is not an error.
func sameLog(head, now record.Identity) error {
	const advice = "; `lakeweir reset` starts a new generation of the table with this log"
	if head.Cluster != now.Cluster {
		return fmt.Errorf("%w: the head was written for cluster %q, the brokers are of %q%s", ErrIdentity, head.Cluster, now.Cluster, advice)
	}
	none := record.TopicID{}
	if head.Topic != now.Topic && head.Topic != none && now.Topic != none {
		return fmt.Errorf("%w: the topic was deleted and created again (id %x, now %x)%s", ErrIdentity, head.Topic, now.Topic, advice)
	}
	return nil
}

// newHead returns the head of a partition that has none, not yet claimed.
func newHead(ctx context.Context, s store.Store, c Claimant) (Head, error) {
	if c.Partition < 0 || c.Partition > maxPartition {
		return Head{}, fmt.Errorf("partition %d: names have five digits for it", c.Partition)
	}
	if c.Census == nil {
		c.Census = NewCensus(s)
	}
	if err := unused(ctx, s, c.Census, c.Partition); err != nil {
		return Head{}, err
	}
	first, err := c.First(ctx)
	if err != nil {
		return Head{}, fmt.Errorf("find where to begin: %w", err)
	}
	return Head{Partition: Partition{ID: c.Partition}, Table: c.Table, Identity: c.Identity, LeaderEpoch: -1, First: first, Next: first}, nil
}

// unused returns ErrDamage if the store holds anything of a partition that has
// no head: a lost head must not read the topic again over its own files.
func unused(ctx context.Context, s store.Store, c *Census, partition int32) error {
	lost := func(key string) error {
		// Whoever won the race of the first creation may have written already.
		_, err := s.Stat(ctx, Partition{ID: partition}.HeadKey())
		switch {
		case err == nil:
			return fmt.Errorf("%w: another claim made it", errAgain)
		case !errors.Is(err, store.ErrNotExist):
			return fmt.Errorf("%w: %w", errAgain, err)
		}
		return fmt.Errorf("%w: partition %d has no head but there is %s: restore the head (manifest/%05d.json) from a backup or a bucket version, or rebuild it from the files; or write to an empty prefix", ErrDamage, partition, key, partition)
	}
	info, err := first(s.List(ctx, Partition{ID: partition}.listPrefix(), ""))
	if err == nil {
		return lost(info.Key)
	}
	if !errors.Is(err, errNone) {
		return fmt.Errorf("list sealed lists: %w: %w", errAgain, err)
	}
	key, err := c.file(ctx, partition)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errAgain, err)
	case key != "":
		return lost(key)
	}
	return nil
}
