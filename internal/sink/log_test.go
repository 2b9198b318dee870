package sink

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/writer"
)

// What the source says keeps its words, and gets the meaning that a writer
// acts on.
func TestMeaning(t *testing.T) {
	f := func(err, want error) {
		t.Helper()
		got := meaning(err)
		if !errors.Is(got, err) || want != nil && !errors.Is(got, want) {
			t.Errorf("%v: got %v, want also %v", err, got, want)
		}
		for _, other := range []error{writer.ErrNoLog, writer.ErrNoAnswer, writer.ErrOutOfRange} {
			if other != want && errors.Is(got, other) {
				t.Errorf("%v: got %v", err, got)
			}
		}
	}
	f(nil, nil)
	f(errors.New("denied"), nil)
	f(fmt.Errorf("read quakes/0: %w", source.ErrNoTopic), writer.ErrNoLog)
	f(fmt.Errorf("ask for the log end: %w", source.ErrNoAnswer), writer.ErrNoAnswer)
	f(&source.OutOfRangeError{Topic: "quakes"}, writer.ErrOutOfRange)
}
