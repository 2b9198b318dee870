package store

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// The races are short but wide: stores that are right for one request at a time
// were seen to fail with 32 of them.
const (
	probeKeys    = 2
	probeWriters = 16
)

// trial is one try of a check, under names of its own.
type trial struct {
	*probe
	s  Store
	at string // its prefix in root
}

func (t *trial) put(key, body string, cond Cond) (Info, error) {
	i, err := t.s.Put(t.ctx, key, []byte(body), cond)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wrote == nil {
		t.wrote = map[string]bool{}
	}
	// After a first failure the store is taken for out of reach: no use in
	// waiting for it again to remove what is not there.
	if err == nil || isUnknown(err) && len(t.wrote) > 0 {
		t.wrote[t.at+key] = true
	}
	return i, err
}

// begin makes an object that a check changes afterwards. It is created and not
// just put: a client that hears no answer sends its PUT again, and the first
// one may arrive when the check is over it. It would bring the body back, and
// the ETag that stores make of it, and a second change of what was read were
// right.
func (t *trial) begin(key, body string) (Info, error) {
	i, err := t.put(key, body, IfAbsent())
	if errors.Is(err, ErrConflict) { // with its own first try: nobody else knows the name
		return t.s.Stat(t.ctx, key)
	}
	return i, err
}

// refused makes a write that must be refused and looks whether it was.
func (t *trial) refused(key string, cond Cond, what, stays string) error {
	_, err := t.put(key, "refused", cond)
	if err != nil && !errors.Is(err, ErrConflict) {
		return err
	}
	took := err == nil
	o, err := t.s.Get(t.ctx, key, Span{})
	switch {
	case err != nil && !errors.Is(err, ErrNotExist):
		return err
	case string(o.Body) != stays:
		return unsafef("%s, and the object became %q", what, o.Body)
	case took:
		return unsafef("%s, without an error", what)
	}
	return nil
}

func (t *trial) createOnce() (string, error) {
	if _, err := t.put("once", "first", IfAbsent()); err != nil {
		return "", err
	}
	return "", t.refused("once", IfAbsent(), "the store ignored If-None-Match: * and let an object be created twice", "first")
}

func (t *trial) changeRead() (string, error) {
	stale, err := t.begin("head", "1")
	if err != nil {
		return "", err
	}
	if _, err := t.put("head", "2", IfMatch(stale.ETag)); err != nil {
		if errors.Is(err, ErrConflict) {
			return "", errRefused
		}
		return "", err
	}
	return "", t.refused("head", IfMatch(stale.ETag), "the store ignored If-Match and let a stale write through", "2")
}

func (t *trial) matchMissing() (string, error) {
	i, err := t.put("etag", "x", Blind())
	if err != nil {
		return "", err
	}
	return "", t.refused("missing", IfMatch(i.ETag), "the store let If-Match create an object that was not there", "")
}

func (t *trial) raceCreate() (string, error) {
	for n := range probeKeys {
		if err := t.race(fmt.Sprintf("create-%d", n), IfAbsent()); err != nil {
			return "", err
		}
	}
	return "", nil
}

func (t *trial) raceChange() (string, error) {
	for n := range probeKeys {
		key := fmt.Sprintf("change-%d", n)
		i, err := t.begin(key, "begin")
		if err != nil {
			return "", err
		}
		if err := t.race(key, IfMatch(i.ETag)); err != nil {
			return "", err
		}
	}
	return "", nil
}

// race lets many writers put under one condition at the same time. One may win,
// and what it wrote must stay.
func (t *trial) race(key string, cond Cond) error {
	errs := make([]error, probeWriters)
	var start, end sync.WaitGroup
	start.Add(1)
	for w := range errs {
		end.Go(func() {
			start.Wait()
			_, errs[w] = t.put(key, fmt.Sprint("writer ", w), cond)
		})
	}
	start.Done()
	end.Wait()
	o, err := t.s.Get(t.ctx, key, Span{})
	if err != nil && !errors.Is(err, ErrNotExist) {
		return err
	}
	return judge(errs, string(o.Body), condName(cond))
}

// judge says whether the writers of a race, by number, and the body that stayed
// fit together.
func judge(errs []error, body, cond string) error {
	won, winners, stays := -1, 0, -1
	for w, err := range errs {
		if err == nil {
			won = w
			winners++
		}
		if body == fmt.Sprint("writer ", w) {
			stays = w
		}
	}
	switch {
	case winners > 1:
		return unsafef("%d of %d writers that raced under %s were all told that they won", winners, len(errs), cond)
	case winners == 1 && stays != won:
		return unsafef("the store told writer %d of a race under %s that it won, and holds %q", won, cond, body)
	case winners == 1 || stays >= 0: // the answer to the winner was lost, or not
		return nil
	}
	if unknown := slices.IndexFunc(errs, isUnknown); unknown >= 0 {
		return errs[unknown]
	}
	return unsafef("none of %d writers that raced under %s won", len(errs), cond)
}

func isUnknown(err error) bool { return err != nil && !errors.Is(err, ErrConflict) }

func condName(c Cond) string {
	if c.Absent() {
		return "If-None-Match: *"
	}
	return "If-Match"
}

// reads is how often the checks of reads and lists look; a stale read is rare.
const reads = 4

func (t *trial) readLast() (string, error) {
	i, err := t.begin("read", "begin")
	for n := range reads {
		want := fmt.Sprint(n)
		if err != nil {
			return "", err
		}
		if i, err = t.put("read", want, IfMatch(i.ETag)); errors.Is(err, ErrConflict) {
			return "", errRefused
		} else if err != nil {
			return "", err
		}
		o, err := t.s.Get(t.ctx, "read", Span{})
		if err != nil && !errors.Is(err, ErrNotExist) {
			return "", err
		}
		if string(o.Body) != want {
			return "", unsafef("a read after a completed write gave %q, not %q", o.Body, want)
		}
	}
	return "", nil
}

func (t *trial) list() (string, error) {
	var want []string
	for n := range reads {
		key := fmt.Sprintf("list/%d", n)
		if _, err := t.put(key, "", IfAbsent()); err != nil {
			return "", err
		}
		want = append(want, key)
		got, err := t.keys("list/", "")
		if err != nil {
			return "", err
		}
		if !slices.Equal(got, want) {
			return "", unsafef("a list after completed writes gave %q, not %q", got, want)
		}
	}
	got, err := t.keys("list/", want[2])
	if err != nil {
		return "", err
	}
	if !slices.Equal(got, want[3:]) {
		return "", unsafef("a list after %s gave %q, not %q", want[2], got, want[3:])
	}
	return "", nil
}

func (t *trial) keys(prefix, after string) ([]string, error) {
	var keys []string
	for i, err := range t.s.List(t.ctx, prefix, after) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, i.Key)
	}
	return keys, nil
}

// checksum is a remark only: without it equality costs a read.
func (t *trial) checksum() (string, error) {
	if _, err := t.put("sum", "sum", Blind()); err != nil {
		return "", err
	}
	i, err := t.s.Stat(t.ctx, "sum")
	if err == nil && i.SHA256 == nil {
		return "it does not: objects are compared by reading them", nil
	}
	return "", err
}
