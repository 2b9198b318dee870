package demo

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// A sink without an order, or with one that makes no sense, ends.
func TestSinkWithoutOrder(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		err := Sink(t.Context(), strings.NewReader(in), io.Discard, io.Discard, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("order %q: %v", in, err)
		}
	}
	f("", "started by the demo only")
	f("go\n", "read the order")
}

// A place that cannot be opened is told to the parent.
func TestSinkWithoutPlace(t *testing.T) {
	var out strings.Builder
	no := errors.New("no such bucket")
	err := Sink(t.Context(), strings.NewReader("{}\n"), &out, io.Discard, func(context.Context) (Place, error) { return Place{}, no })
	if !errors.Is(err, no) || !strings.Contains(out.String(), `"kind":"ended","error":"no such bucket"`) {
		t.Errorf("error %v, said %s", err, &out)
	}
}

// The end of its input is the end of a sink: it does not outlive its parent.
func TestSinkEndsWithItsParent(t *testing.T) {
	broker, err := startBroker()
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	o := order{Brokers: broker.ListenAddrs()}
	o.Dir = t.TempDir()
	var out strings.Builder
	// The topic does not exist, and no word follows the order.
	in := strings.NewReader(`{"topic":"none","rows":10,"age":1000000,"dir":"` + strings.ReplaceAll(o.Dir, `\`, `\\`) + `","brokers":["` + o.Brokers[0] + `"]}` + "\n")
	_ = Sink(t.Context(), in, &out, io.Discard, nil) // whether the end or the missing topic is seen first
	if s := out.String(); !strings.Contains(s, `"ready"`) || !strings.Contains(s, `"ended"`) {
		t.Errorf("said %s", s)
	}
}

// The tail of a log is its last line, however much was logged.
func TestTail(t *testing.T) {
	var log tail
	for range 1000 {
		if n, err := log.Write([]byte("a line of a log\n")); n != 16 || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := log.Write([]byte("the last one\n")); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); got != "the last one" {
		t.Errorf("tail %q", got)
	}
	if n := log.buf.Len(); n > tailBytes {
		t.Errorf("%d bytes are kept", n)
	}
}
