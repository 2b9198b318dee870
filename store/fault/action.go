package fault

import (
	"context"
)

// Action is how a call is met. The zero Action lets it pass. The parts take
// effect in the order of the fields.
type Action struct {
	// Before runs before the call reaches the store and may take its time. An
	// error is the answer, and the call never reaches the store.
	Before func(ctx context.Context) error

	// Late is given the call in place of the store, and the answer is ErrLost
	// at once: it arrives when arrive is called, as a request does that waited
	// in the network while its sender gave up. arrive returns the answer that
	// nobody waits for; the body of a Put must not be changed until then. Calls
	// that change nothing are only lost, and Late does not run for them.
	Late func(arrive func() error)

	// After runs when the store has answered. What it returns is the answer.
	After func(err error) error

	// Dies ends the process with this call: its answer and that of every later
	// call is ErrDead.
	Dies bool
}

// Before is the death of the process before the call reaches the store.
func Before() Action { return Action{Before: always(ErrDead), Dies: true} }

// After is the death of the process after the call took effect.
func After() Action { return Action{Dies: true} }

// Lost lets the call take effect and loses its answer; the process goes on.
func Lost() Action {
	return Action{After: func(error) error { return ErrLost }}
}

// Fail answers err for the store, which the call never reaches; the process
// goes on.
func Fail(err error) Action { return Action{Before: always(err)} }

func always(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// Pause sends to reached, unless it is nil, and then holds the call until
// resume is closed or gives a value: a process that is stopped for an hour. A
// cancelled context does not wake it, since a stopped process sees none.
func Pause(reached chan<- struct{}, resume <-chan struct{}) Action {
	return Action{Before: func(context.Context) error {
		if reached != nil {
			reached <- struct{}{}
		}
		<-resume
		return nil
	}}
}

// AtCall lets the n-th call, counted from 1, be met by a, and every other pass.
func AtCall(n int64, a Action) Script {
	return func(_ context.Context, c Call) Action {
		if c.N == n {
			return a
		}
		return Action{}
	}
}

// BeforeNth runs do before the k-th call, counted from 1, that match holds for.
func BeforeNth(k int64, match func(Call) bool, do func()) Script {
	var seen int64
	return func(_ context.Context, c Call) Action {
		if !match(c) {
			return Action{}
		}
		if seen++; seen != k {
			return Action{}
		}
		return Action{Before: func(context.Context) error { do(); return nil }}
	}
}
