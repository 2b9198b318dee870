// Package metered is a store.Store around another that counts its calls, by
// operation and outcome, and how long they take.
package metered

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/lakeweir/lakeweir/internal/latency"
	"github.com/lakeweir/lakeweir/store"
)

// Operation is a method of store.Store.
type Operation int

// The methods of store.Store.
const (
	Get Operation = iota
	Stat
	Put
	List
	Delete
	Operations // how many there are
)

// String returns the name of the operation in lower case.
func (o Operation) String() string {
	return [...]string{"get", "stat", "put", "list", "delete"}[o]
}

// Outcome is what a call came to. It says what to look at: the store, the
// network, the rights of this user, or nothing at all.
type Outcome int

// The outcomes. Conflict and Absent are answers that the protocol expects.
const (
	OK          Outcome = iota
	Conflict            // the condition of a Put does not hold (store.ErrConflict)
	Absent              // no object has the key (store.ErrNotExist)
	Throttled           // the store asks for fewer calls: HTTP 429 or 503
	Unavailable         // the store fails (HTTP 500 and above), or no whole answer came
	Denied              // HTTP 401 or 403
	Timeout             // no answer within the deadline of the call
	Canceled            // the caller gave up: a shutdown or a rebalance
	Other
	Outcomes // how many there are
)

// String returns the name of the outcome in lower case.
func (o Outcome) String() string {
	return [...]string{"ok", "conflict", "absent", "throttled", "unavailable", "denied", "timeout", "canceled", "other"}[o]
}

// Calls are the calls of one operation.
type Calls struct {
	Outcomes [Outcomes]uint64
	Latency  latency.Histogram // all outcomes; of a list, the time to its first object
}

// Meter is a store.Store that counts. Wrap makes one.
type Meter struct {
	inner store.Store

	mu    sync.Mutex
	calls [Operations]Calls
}

// Wrap returns s with a count of its calls. One call of a driver may be
// several requests on the wire, since SDKs try again by themselves.
func Wrap(s store.Store) *Meter { return &Meter{inner: s} }

// Calls returns what was counted, by Operation.
func (m *Meter) Calls() [Operations]Calls {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

func (m *Meter) count(ctx context.Context, op Operation, took time.Duration, err error) {
	o := OutcomeOf(ctx, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[op].Outcomes[o]++
	m.calls[op].Latency.Observe(took)
}

// Get implements store.Store.
func (m *Meter) Get(ctx context.Context, key string, span store.Span) (store.Object, error) {
	begin := time.Now()
	o, err := m.inner.Get(ctx, key, span)
	m.count(ctx, Get, time.Since(begin), err)
	return o, err
}

// Stat implements store.Store.
func (m *Meter) Stat(ctx context.Context, key string) (store.Info, error) {
	begin := time.Now()
	i, err := m.inner.Stat(ctx, key)
	m.count(ctx, Stat, time.Since(begin), err)
	return i, err
}

// Put implements store.Store.
func (m *Meter) Put(ctx context.Context, key string, body []byte, cond store.Cond) (store.Info, error) {
	begin := time.Now()
	i, err := m.inner.Put(ctx, key, body, cond)
	m.count(ctx, Put, time.Since(begin), err)
	return i, err
}

// List implements store.Store. It counts as one call, when it ends. What its
// reader does between two objects is not the store's time, so only the first
// object is waited for.
func (m *Meter) List(ctx context.Context, prefix, after string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		begin, took := time.Now(), time.Duration(-1)
		var failed error
		for i, err := range m.inner.List(ctx, prefix, after) {
			if took < 0 {
				took = time.Since(begin)
			}
			failed = err
			if !yield(i, err) {
				break
			}
		}
		if took < 0 {
			took = time.Since(begin)
		}
		m.count(ctx, List, took, failed)
	}
}

// Delete implements store.Store.
func (m *Meter) Delete(ctx context.Context, key string) error {
	begin := time.Now()
	err := m.inner.Delete(ctx, key)
	m.count(ctx, Delete, time.Since(begin), err)
	return err
}

// answered is an error of a driver that knows the status of HTTP; 0 is no
// whole answer.
type answered interface{ HTTPStatus() int }

// late is an error that knows whether a deadline was the reason, as net.Error.
type late interface{ Timeout() bool }

// OutcomeOf sorts the error of a call that was made under ctx.
func OutcomeOf(ctx context.Context, err error) Outcome {
	var answer answered
	var l late
	switch {
	case err == nil:
		return OK
	case errors.Is(err, store.ErrConflict):
		return Conflict
	case errors.Is(err, store.ErrNotExist):
		return Absent
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return Canceled
	case errors.As(err, &l) && l.Timeout():
		return Timeout
	case errors.As(err, &answer):
		return byStatus(answer.HTTPStatus())
	}
	return Other
}

func byStatus(status int) Outcome {
	switch {
	case status == 429 || status == 503:
		return Throttled
	case status == 401 || status == 403:
		return Denied
	case status == 0 || status >= 500:
		return Unavailable
	}
	return Other
}
