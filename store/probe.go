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

// Probe tries on the real store whether conditional writes hold, one at a time
// and in races, and whether reads and lists see completed writes. It sends
// about 200 small requests, more if some fail, writes under .lakeweir-probe-<random>/ of s, which
// no table uses, and removes that at the end. A start waits for it, so checks
// are made side by side: it takes as long as about 15 requests do one by one.
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
	made := make([]ProbeCheck, len(checks))
	errs := make([]error, len(checks))
	check := func(n int) {
		detail, err := p.repeat(n)
		made[n], errs[n] = ProbeCheck{Name: checks[n].name, OK: err == nil, Detail: detailOf(detail, err)}, err
	}
	// A store that is out of reach is found out by one check, not by all at once.
	check(0)
	if errs[0] == nil || errors.Is(errs[0], ErrUnsafe) {
		var others sync.WaitGroup
		for n := 1; n < len(checks); n++ {
			others.Go(func() { check(n) })
		}
		others.Wait()
	}
	for n, err := range errs {
		report.Checks = append(report.Checks, made[n])
		if err != nil && !errors.Is(err, ErrUnsafe) {
			return report, fmt.Errorf("probe: %w", err)
		}
	}
	return report, report.Err()
}

// checks are all that are made, in the order of the report. Those that take many
// calls one after another are made several times side by side instead, with
// fewer calls each: that is quicker, and fewer calls must succeed in a row.
var checks = []struct {
	name  string
	times int
	run   func(*trial) (string, error)
}{
	{"an object is created once (If-None-Match: *)", 1, (*trial).createOnce},
	{"one of many racing creates wins", 2, (*trial).raceCreate},
	{"an object is changed only as it was read (If-Match)", 1, (*trial).changeRead},
	{"If-Match creates nothing", 1, (*trial).matchMissing},
	{"one of many racing changes wins", 2, (*trial).raceChange},
	{"a read sees the last write", 2, (*trial).readLast},
	{"a list sees every write, in order", 2, (*trial).list},
	{"the store keeps a SHA-256", 1, (*trial).checksum},
}

// repeat makes a check as often as it says, and returns the first error.
func (p *probe) repeat(number int) (detail string, err error) {
	c := checks[number]
	details, errs := make([]string, c.times), make([]error, c.times)
	var all sync.WaitGroup
	for n := range c.times {
		all.Go(func() { details[n], errs[n] = p.persist(fmt.Sprintf("%d-%d", number, n), c.run) })
	}
	all.Wait()
	for n, err := range errs {
		if err != nil {
			return details[n], err
		}
	}
	return details[0], nil
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
func (p *probe) persist(name string, check func(*trial) (string, error)) (detail string, err error) {
	for try, pause := 1, probePause; ; try, pause = try+1, min(2*pause, probeMost) {
		at := fmt.Sprintf("%s-%d/", name, try)
		detail, err = check(&trial{probe: p, s: Sub(p.root, at), at: at})
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
	ctx  context.Context
	root Store

	mu    sync.Mutex
	wrote map[string]bool // keys that may be there
}

// cleaners is how many objects are removed at the same time.
const cleaners = 16

// clean removes everything, also when the context of the probe is over. It
// does not ask a list, which is one of the things in doubt.
func (p *probe) clean() error {
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(p.wrote)), cleaners) {
		errs := make([]error, len(keys))
		var all sync.WaitGroup
		for n, key := range keys {
			all.Go(func() { errs[n] = p.root.Delete(context.WithoutCancel(p.ctx), key) })
		}
		all.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
	}
	return nil
}
