package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrUnsafe is returned by Probe for a store in which two writers can both
// believe that they wrote an object, or in which one does not see what another
// wrote.
var ErrUnsafe = errors.New("the store is not safe for several writers: use another store, " +
	"or set single_writer: true if no second writer can ever run")

// Report is what Probe found, check by check in the order they were made.
type Report struct {
	Checks []ProbeCheck
}

// ProbeCheck is one thing that a store must do.
type ProbeCheck struct {
	Name   string // what must hold
	OK     bool
	Detail string // what happened instead; or, if OK, a remark; may be empty
}

// The races are short but wide: stores that are right for one request at a time
// were seen to fail with 32 of them.
const (
	probeKeys    = 4
	probeWriters = 16
)

// Probe tries on the real store whether conditional writes hold, one at a time
// and in races, and whether reads and lists see completed writes. It sends
// about 200 small requests, more if some fail, writes under .lakeweir-probe-<random>/ of s, which
// no table uses, and removes that at the end.
//
// It returns ErrUnsafe if the store ignored a condition or did not show a
// write, with a sentence that says which, and another error if the store could
// not be used at all. The report holds the checks that were made in any case.
func Probe(ctx context.Context, s Store) (report Report, err error) {
	prefix := ".lakeweir-probe-" + strings.ToLower(rand.Text()[:16]) + "/"
	p := &probe{ctx: ctx, root: Sub(s, prefix)}
	defer func() {
		if errClean := p.clean(); errClean != nil {
			// A sink needs no permission to delete, so this is a remark.
			report.Checks = append(report.Checks, ProbeCheck{
				Name: "the probe removes what it wrote", OK: true,
				Detail: fmt.Sprintf("it could not, see %s: %v", prefix, errClean),
			})
		}
	}()
	for _, c := range []struct {
		name string
		run  func() (string, error)
	}{
		{"an object is created once (If-None-Match: *)", p.createOnce},
		{"one of many racing creates wins", p.raceCreate},
		{"an object is changed only as it was read (If-Match)", p.changeRead},
		{"If-Match creates nothing", p.matchMissing},
		{"one of many racing changes wins", p.raceChange},
		{"a read sees the last write", p.readLast},
		{"a list sees every write, in order", p.list},
		{"the store keeps a SHA-256", p.checksum},
	} {
		detail, err := p.persist(c.run)
		report.Checks = append(report.Checks, ProbeCheck{Name: c.name, OK: err == nil, Detail: detailOf(detail, err)})
		if err != nil && !errors.Is(err, ErrUnsafe) {
			return report, fmt.Errorf("probe: %w", err)
		}
	}
	return report, report.Err()
}

// A store that fails one call in ten must not end a start, so a check whose
// outcome is unknown is made again, under other names: what a lost write does
// later spoils no other try.
const (
	probeTries = 10
	probePause = 50 * time.Millisecond // doubles, up to probeMost
	probeMost  = time.Second
)

// persist makes a check until its outcome is known. The verdict that a store is
// unsafe is final, but for a refusal, which may be a conflict for nothing.
func (p *probe) persist(check func() (string, error)) (detail string, err error) {
	for try, pause := 1, probePause; ; try, pause = try+1, min(2*pause, probeMost) {
		p.tries++
		p.at = fmt.Sprintf("%d/", p.tries)
		p.s = Sub(p.root, p.at)
		detail, err = check()
		if err == nil || errors.Is(err, ErrUnsafe) && err != errRefused {
			return detail, err
		}
		if try == probeTries {
			return detail, err
		}
		select {
		case <-time.After(pause):
		case <-p.ctx.Done():
			return detail, err
		}
	}
}

// errRefused is the verdict on a store that lets nobody change an object.
const errRefused = unsafeError("the store refused If-Match with the ETag that it had given")

func detailOf(detail string, err error) string {
	var u unsafeError
	switch {
	case errors.As(err, &u):
		return string(u)
	case err != nil:
		return err.Error()
	}
	return detail
}

// Err returns ErrUnsafe with the first check that failed, or nil.
func (r Report) Err() error {
	for _, c := range r.Checks {
		if !c.OK {
			return fmt.Errorf("probe: %s: %w", c.Detail, ErrUnsafe)
		}
	}
	return nil
}

// unsafeError says what a store did that makes it unsafe.
type unsafeError string

func (e unsafeError) Error() string { return string(e) }

// Is makes an unsafeError an ErrUnsafe.
func (e unsafeError) Is(target error) bool { return target == ErrUnsafe }

func unsafef(format string, args ...any) error { return unsafeError(fmt.Sprintf(format, args...)) }

type probe struct {
	ctx   context.Context
	root  Store
	s     Store  // of one try of a check
	at    string // its prefix in root
	tries int    // of all checks

	mu    sync.Mutex
	wrote map[string]bool // keys that may be there
}

func (p *probe) put(key, body string, cond Cond) (Info, error) {
	i, err := p.s.Put(p.ctx, key, []byte(body), cond)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wrote == nil {
		p.wrote = map[string]bool{}
	}
	// After a first failure the store is taken for out of reach: no use in
	// waiting for it again to remove what is not there.
	if err == nil || isUnknown(err) && len(p.wrote) > 0 {
		p.wrote[p.at+key] = true
	}
	return i, err
}

// begin makes an object that a check changes afterwards. It is created and not
// just put: a client that hears no answer sends its PUT again, and the first
// one may arrive when the check is over it. It would bring the body back, and
// the ETag that stores make of it, and a second change of what was read were
// right.
func (p *probe) begin(key, body string) (Info, error) {
	i, err := p.put(key, body, IfAbsent())
	if errors.Is(err, ErrConflict) { // with its own first try: nobody else knows the name
		return p.s.Stat(p.ctx, key)
	}
	return i, err
}

// refused makes a write that must be refused and looks whether it was.
func (p *probe) refused(key string, cond Cond, what, stays string) error {
	_, err := p.put(key, "refused", cond)
	if err != nil && !errors.Is(err, ErrConflict) {
		return err
	}
	took := err == nil
	o, err := p.s.Get(p.ctx, key, Span{})
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

func (p *probe) createOnce() (string, error) {
	if _, err := p.put("once", "first", IfAbsent()); err != nil {
		return "", err
	}
	return "", p.refused("once", IfAbsent(), "the store ignored If-None-Match: * and let an object be created twice", "first")
}

func (p *probe) changeRead() (string, error) {
	stale, err := p.begin("head", "1")
	if err != nil {
		return "", err
	}
	if _, err := p.put("head", "2", IfMatch(stale.ETag)); err != nil {
		if errors.Is(err, ErrConflict) {
			return "", errRefused
		}
		return "", err
	}
	return "", p.refused("head", IfMatch(stale.ETag), "the store ignored If-Match and let a stale write through", "2")
}

func (p *probe) matchMissing() (string, error) {
	i, err := p.put("etag", "x", Blind())
	if err != nil {
		return "", err
	}
	return "", p.refused("missing", IfMatch(i.ETag), "the store let If-Match create an object that was not there", "")
}

func (p *probe) raceCreate() (string, error) {
	for n := range probeKeys {
		if err := p.race(fmt.Sprintf("create-%d", n), IfAbsent()); err != nil {
			return "", err
		}
	}
	return "", nil
}

func (p *probe) raceChange() (string, error) {
	for n := range probeKeys {
		key := fmt.Sprintf("change-%d", n)
		i, err := p.begin(key, "begin")
		if err != nil {
			return "", err
		}
		if err := p.race(key, IfMatch(i.ETag)); err != nil {
			return "", err
		}
	}
	return "", nil
}

// race lets many writers put under one condition at the same time. One may win,
// and what it wrote must stay.
func (p *probe) race(key string, cond Cond) error {
	errs := make([]error, probeWriters)
	var start, end sync.WaitGroup
	start.Add(1)
	for w := range errs {
		end.Go(func() {
			start.Wait()
			_, errs[w] = p.put(key, fmt.Sprint("writer ", w), cond)
		})
	}
	start.Done()
	end.Wait()
	o, err := p.s.Get(p.ctx, key, Span{})
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
const reads = 8

func (p *probe) readLast() (string, error) {
	i, err := p.begin("read", "begin")
	for n := range reads {
		want := fmt.Sprint(n)
		if err != nil {
			return "", err
		}
		if i, err = p.put("read", want, IfMatch(i.ETag)); errors.Is(err, ErrConflict) {
			return "", errRefused
		} else if err != nil {
			return "", err
		}
		o, err := p.s.Get(p.ctx, "read", Span{})
		if err != nil && !errors.Is(err, ErrNotExist) {
			return "", err
		}
		if string(o.Body) != want {
			return "", unsafef("a read after a completed write gave %q, not %q", o.Body, want)
		}
	}
	return "", nil
}

func (p *probe) list() (string, error) {
	var want []string
	for n := range reads {
		key := fmt.Sprintf("list/%d", n)
		if _, err := p.put(key, "", IfAbsent()); err != nil {
			return "", err
		}
		want = append(want, key)
		got, err := p.keys("list/", "")
		if err != nil {
			return "", err
		}
		if !slices.Equal(got, want) {
			return "", unsafef("a list after completed writes gave %q, not %q", got, want)
		}
	}
	got, err := p.keys("list/", want[2])
	if err != nil {
		return "", err
	}
	if !slices.Equal(got, want[3:]) {
		return "", unsafef("a list after %s gave %q, not %q", want[2], got, want[3:])
	}
	return "", nil
}

func (p *probe) keys(prefix, after string) ([]string, error) {
	var keys []string
	for i, err := range p.s.List(p.ctx, prefix, after) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, i.Key)
	}
	return keys, nil
}

// checksum is a remark only: without it equality costs a read.
func (p *probe) checksum() (string, error) {
	if _, err := p.put("sum", "sum", Blind()); err != nil {
		return "", err
	}
	i, err := p.s.Stat(p.ctx, "sum")
	if err == nil && i.SHA256 == nil {
		return "it does not: objects are compared by reading them", nil
	}
	return "", err
}

// clean removes everything, also when the context of the probe is over. It
// does not ask a list, which is one of the things in doubt.
func (p *probe) clean() error {
	for _, key := range slices.Sorted(maps.Keys(p.wrote)) {
		if err := p.root.Delete(context.WithoutCancel(p.ctx), key); err != nil {
			return err
		}
	}
	return nil
}
