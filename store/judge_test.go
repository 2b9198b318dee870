package store

import (
	"errors"
	"strings"
	"testing"
)

// What is said of a race, from the answers to its writers and the body that
// stayed.
func TestJudge(t *testing.T) {
	lost := errors.New("connection reset")
	no := ErrConflict
	f := func(errs []error, body, want string) {
		t.Helper()
		err := judge(errs, body, "If-Match")
		if want == "" {
			if err != nil {
				t.Errorf("%v, %q: got %v, want it to be right", errs, body, err)
			}
			return
		}
		if !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "If-Match") {
			t.Errorf("%v, %q: got %v, want %q", errs, body, err, want)
		}
	}
	// One wins, and its body stays.
	f([]error{no, nil, no}, "writer 1", "")
	// The answer to the winner was lost, or it lost a second one too.
	f([]error{no, lost, no}, "writer 1", "")
	f([]error{lost, lost, no}, "writer 0", "")
	// The winner was told of a conflict with its own first try.
	f([]error{no, no, no}, "writer 2", "")
	// Two were told that they won.
	f([]error{nil, nil, no}, "writer 1", "2 of 3 writers")
	// Another's body stays.
	f([]error{no, nil, no}, "writer 0", `told writer 1 of a race under If-Match that it won, and holds "writer 0"`)
	f([]error{nil, lost, no}, "writer 1", `told writer 0`)
	// The write of the winner is gone.
	f([]error{no, nil, no}, "begin", `and holds "begin"`)
	f([]error{no, nil, no}, "", `and holds ""`)
	// Nobody wins.
	f([]error{no, no, no}, "begin", "none of 3 writers")
	// Nobody wins, and of one nothing is known: that is no fault of the store.
	if err := judge([]error{no, lost, no}, "begin", "If-Match"); !errors.Is(err, lost) || errors.Is(err, ErrUnsafe) {
		t.Errorf("got %v, want %v", err, lost)
	}
}

// A report is as good as its worst check.
func TestReportErr(t *testing.T) {
	f := func(want string, checks ...ProbeCheck) {
		t.Helper()
		err := Report{Checks: checks}.Err()
		if want == "" {
			if err != nil {
				t.Errorf("got %v", err)
			}
			return
		}
		if !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	good, remark := ProbeCheck{Name: "a", OK: true}, ProbeCheck{Name: "b", OK: true, Detail: "it could not"}
	f("")
	// A remark is no failure.
	f("", good, remark)
	// The first failure is told.
	f("let it through", good, ProbeCheck{Name: "c", Detail: "let it through"}, ProbeCheck{Name: "d", Detail: "later"})
}
