package writer

import (
	"fmt"
	"iter"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

const (
	// recentRecords is how many of the last records Config.MaxDead looks at.
	recentRecords = 10_000
	// leastRecords is how many it wants to have seen: a few bad records at a
	// start are no reason to stop.
	leastRecords = 1_000
)

// recent are the last records of a partition, as dead or not. It is a value:
// a copy says what was so when it was made.
type recent struct {
	dead [(recentRecords + 63) / 64]uint64 // a ring of bits
	at   int                               // of the next record
	seen int                               // up to recentRecords
	n    int                               // of them, dead
}

// add notes a record.
func (r *recent) add(dead bool) {
	word, bit := &r.dead[r.at/64], uint64(1)<<(r.at%64)
	if r.seen < recentRecords {
		r.seen++
	} else if *word&bit != 0 {
		r.n--
	}
	*word &^= bit
	if dead {
		*word |= bit
		r.n++
	}
	r.at = (r.at + 1) % recentRecords
}

// exceeds reports whether more than a share of the records are dead.
func (r *recent) exceeds(share float64) bool {
	return r.seen >= leastRecords && float64(r.n) > share*float64(r.seen)
}

// tolerate counts the records of a range that is about to be planned, and
// returns ErrTooManyDead if at one of them too many were dead letters. It goes
// record by record, so that it does not matter where batches were cut. A range
// that is pending is only counted: its plan was made by one who knew the records
// before it, as a process that has just started does not.
func (s *session) tolerate(u *unit) error {
	if s.MaxDead == 0 || u.recent != nil {
		return nil
	}
	next, stop := iter.Pull2(s.deadOf(u))
	defer stop()
	l, err, more := next()
	now, why := s.recent, reasons{first: map[string]manifest.DeadLetter{}, n: map[string]int{}}
	for _, b := range u.job.Batches {
		for i := range b.Len() {
			if err != nil {
				return err
			}
			offset := b.At(i).Offset
			dead := more && l.Offset == offset
			if dead {
				why.add(l)
				l, err, more = next()
			}
			if now.add(dead); !u.pending && now.exceeds(s.MaxDead) {
				return fmt.Errorf("%w: at offset %d, %d of the last %d records are, more than the share of %v that dead_letter.max_ratio tolerates; %s. Nothing of offsets %s is published or set aside: correct the producer, or the columns of the topic, and start again; or raise dead_letter.max_ratio",
					ErrTooManyDead, offset, now.n, now.seen, s.MaxDead, why, u.job.Range)
			}
		}
	}
	if err != nil {
		return err
	}
	s.recent, u.recent = now, &now
	return nil
}

// remember keeps the records up to a published range over the sessions of its
// partition.
func (w *Writers) remember(s *session, r *recent) {
	if r != nil {
		w.recent.Store(place{s.Table, s.Partition}, r)
	}
}

// recall returns what was remembered last.
func (w *Writers) recall(s *session) recent {
	if r, ok := w.recent.Load(place{s.Table, s.Partition}); ok {
		return *r.(*recent)
	}
	return recent{}
}

// deadOf yields the dead letters of a range.
func (s *session) deadOf(u *unit) iter.Seq2[manifest.DeadLetter, error] {
	return func(yield func(manifest.DeadLetter, error) bool) {
		for _, f := range u.encoded.Record.Dead {
			for l, err := range s.dead.ReadDead(u.encoded.Bodies[f.Key]) {
				if err != nil {
					err = fmt.Errorf("%s: %w", f.Key, err)
				}
				if !yield(l, err) {
					return
				}
			}
		}
	}
}

// reasons counts dead letters by their reason.
type reasons struct {
	first map[string]manifest.DeadLetter
	n     map[string]int
	most  string
}

func (r *reasons) add(l manifest.DeadLetter) {
	if r.n[l.Reason]++; r.n[l.Reason] == 1 {
		r.first[l.Reason] = manifest.DeadLetter{Record: record.Record{Offset: l.Offset}, Detail: l.Detail}
	}
	if r.n[l.Reason] > r.n[r.most] {
		r.most = l.Reason
	}
}

// String tells of the commonest reason.
func (r reasons) String() string {
	if r.most == "" {
		return "none of them is in this range"
	}
	l := r.first[r.most]
	return fmt.Sprintf("the commonest reason is %s, first at offset %d (%s)", r.most, l.Offset, l.Detail)
}
