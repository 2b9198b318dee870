package manifest

import "fmt"

// chain follows ranges in the order of their offsets.
type chain struct {
	generation int
	next       int64
	totals     Totals
}

// link adds a range, which has to begin where the one before it ended. A later
// generation begins anywhere.
func (c *chain) link(r Range, generation int, t Totals) error {
	switch {
	case r.Next <= r.Start:
		return fmt.Errorf("%w: range %s is empty", ErrDamage, r)
	case generation < c.generation:
		return fmt.Errorf("%w: range %s of generation %d follows generation %d", ErrDamage, r, generation, c.generation)
	case generation == c.generation && r.Start != c.next:
		return fmt.Errorf("%w: range %s does not begin at %d, where the one before it ends", ErrDamage, r, c.next)
	}
	c.generation, c.next, c.totals = generation, r.Next, c.totals.Add(t)
	if c.totals.Bytes < 0 || c.totals.Sum() < 0 {
		return fmt.Errorf("%w: totals up to range %s are beyond 63 bits", ErrDamage, r)
	}
	return nil
}

// linkList adds the ranges below a reference.
func (c *chain) linkList(r ListRef) error {
	if r.Start < 0 || r.Level < 0 || r.Level > maxLevel || !isRandom(r.Random) {
		return fmt.Errorf("%w: list of level %d, range %s, random part %q", ErrDamage, r.Level, r.Range, r.Random)
	}
	if t := r.Totals; t.Sum() != r.Len() || !t.within(r.Len()) || min(t.Ranges, t.Files, t.Bytes) < 0 {
		return fmt.Errorf("%w: list of range %s has totals that its ranges cannot have", ErrDamage, r.Range)
	}
	return c.link(r.Range, r.Generation, r.Totals)
}

// Validate returns ErrDamage unless h keeps the invariants of a head: ranges
// are contiguous from First to Next, counts sum up, a plan begins at Next.
// Lists that it refers to are not read.
func (h Head) Validate() error {
	if h.ID < 0 || h.ID > maxPartition || h.Generation < 0 || h.Table == "" {
		return fmt.Errorf("%w: head of table %q partition %d generation %d", ErrDamage, h.Table, h.ID, h.Generation)
	}
	if h.First < 0 || h.Next < h.First || h.Version == 0 || h.Epoch == 0 || h.Owner.ID == "" {
		return fmt.Errorf("%w: first offset %d, next %d, version %d, epoch %d, owner %q", ErrDamage, h.First, h.Next, h.Version, h.Epoch, h.Owner.ID)
	}
	end, err := h.follow()
	if err != nil {
		return err
	}
	if end.totals != h.Totals {
		return fmt.Errorf("%w: totals are not the sum of ranges and lists", ErrDamage)
	}
	if p := h.Pending; p != nil {
		return h.validatePlan(*p)
	}
	return nil
}

// follow goes through lists and ranges and returns where they end.
func (h Head) follow() (chain, error) {
	at := chain{generation: -1}
	for _, r := range h.Sealed {
		if err := at.linkList(r); err != nil {
			return at, err
		}
	}
	for _, r := range h.Ranges {
		if err := at.link(r.Range, r.Generation, r.Totals()); err != nil {
			return at, err
		}
		if err := r.Validate(); err != nil {
			return at, fmt.Errorf("%w: %w", ErrDamage, err)
		}
	}
	if first, ok := h.firstPublished(); ok && first != h.First {
		return at, fmt.Errorf("%w: ranges of generation %d begin at %d, not at first offset %d", ErrDamage, h.Generation, first, h.First)
	}
	if at.generation > h.Generation {
		return at, fmt.Errorf("%w: ranges of generation %d in a head of %d", ErrDamage, at.generation, h.Generation)
	}
	end := h.First
	if at.generation == h.Generation {
		end = at.next
	}
	if end != h.Next {
		return at, fmt.Errorf("%w: ranges end at %d, next offset is %d", ErrDamage, end, h.Next)
	}
	return at, nil
}

// firstPublished returns the start of the first range of the generation.
func (h Head) firstPublished() (int64, bool) {
	for _, r := range h.Sealed {
		if r.Generation == h.Generation {
			return r.Start, true
		}
	}
	for _, r := range h.Ranges {
		if r.Generation == h.Generation {
			return r.Start, true
		}
	}
	return 0, false
}

// validatePlan checks that a plan is one that h can hold.
func (h Head) validatePlan(p Plan) error {
	if err := p.Range.Validate(); err != nil {
		return fmt.Errorf("%w: plan: %w", ErrDamage, err)
	}
	if p.Start != h.Next || p.Attempt < 0 || len(p.Keys) == 0 && p.Attempt == 0 {
		return fmt.Errorf("%w: plan of %s attempt %d with %d keys at next offset %d", ErrDamage, p.Range, p.Attempt, len(p.Keys), h.Next)
	}
	seen := map[string]bool{}
	for i, key := range append(p.Keys[:len(p.Keys):len(p.Keys)], p.Superseded...) {
		n, _, err := Parse(key)
		if err != nil {
			return fmt.Errorf("%w: plan: %w", ErrDamage, err)
		}
		mine := i < len(p.Keys)
		if n.Range != p.Range || n.Partition != h.Partition || mine != (n.Attempt == p.Attempt) || seen[key] {
			return fmt.Errorf("%w: plan of %s attempt %d names %s", ErrDamage, p.Range, p.Attempt, key)
		}
		seen[key] = true
	}
	return nil
}

// checkChange returns ErrChange unless a writer may turn old into h: only a
// claim changes epoch, owner, generation, identity and first offset, versions
// go up by one, and what is published stays.
func checkChange(old, h Head) error {
	switch {
	case h.Version != old.Version+1:
		return fmt.Errorf("%w: version %d follows %d", ErrChange, h.Version, old.Version)
	case h.Epoch != old.Epoch || h.Owner != old.Owner:
		return fmt.Errorf("%w: epoch %d of %s, not a claim", ErrChange, h.Epoch, h.Owner.ID)
	case h.Partition != old.Partition || h.Table != old.Table || h.Identity != old.Identity || h.First != old.First:
		return fmt.Errorf("%w: generation, identity or first offset", ErrChange)
	case h.Next < old.Next || h.Totals.Rows < old.Totals.Rows || h.Totals.Files < old.Totals.Files:
		return fmt.Errorf("%w: next offset %d was %d", ErrChange, h.Next, old.Next)
	}
	return nil
}
