package wire

import "fmt"

// answer is an error that keeps the status of HTTP beside its text, for who
// counts the outcomes of calls.
type answer struct {
	error
	status int // 0 when no whole answer came
}

// HTTPStatus returns the status of the answer, 0 when no whole one came.
func (a answer) HTTPStatus() int { return a.status }

func (a answer) Unwrap() error { return a.error }

// expired is the error of a call whose deadline has passed.
type expired struct{ error }

// Timeout is true, as of a net.Error.
func (expired) Timeout() bool { return true }

func (e expired) Unwrap() error { return e.error }

// answered marks an error with the status that it came with.
func answered(status int, format string, args ...any) error {
	return answer{fmt.Errorf(format, args...), status}
}
