// Package turns lets many goroutines share the answer to one question.
//
// Thousands of partitions ask the same of a broker or a store, at a start all
// at once: which topic is this, which files are there. Each needs an answer
// that is no older than its question, so an answer cannot be kept. But all
// that ask while one question is on its way can be answered by the next.
package turns

import (
	"context"
	"sync"
)

// Question is one question that is asked again and again. The zero value is
// ready. Answers are shared: who gets one must not change it.
type Question[T any] struct {
	mu   sync.Mutex
	turn chan struct{} // room for the one that asks
	next *answer[T]    // the one that is not asked for yet
}

// answer is given to all that waited for it.
type answer[T any] struct {
	done  chan struct{} // closed when the rest is set
	value T
	err   error
}

// Ask returns what ask answers to one of the callers, in a call that begins
// after this one did. At most one such call runs at a time. If the caller that
// asks for the others is given up, they get the error of its context.
func (q *Question[T]) Ask(ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	mine, first := q.join()
	if first {
		q.take(ctx, mine, ask)
	}
	select {
	case <-mine.done:
		return mine.value, mine.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// join returns the answer to wait for. The first to wait for it has to ask.
func (q *Question[T]) join() (a *answer[T], first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.turn == nil {
		q.turn = make(chan struct{}, 1)
	}
	if q.next == nil {
		q.next, first = &answer[T]{done: make(chan struct{})}, true
	}
	return q.next, first
}

// take asks for a when the question before it is answered.
func (q *Question[T]) take(ctx context.Context, a *answer[T], ask func(context.Context) (T, error)) {
	defer close(a.done)
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	q.mu.Lock()
	q.next = nil // from here on a caller is too late for this one
	q.mu.Unlock()
	if a.err == nil {
		a.value, a.err = ask(ctx)
	}
}
