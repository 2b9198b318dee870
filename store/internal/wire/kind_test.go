package wire

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/store"
)

// What an error was is still known under its text: who counts outcomes does
// not read the words.
func TestKinds(t *testing.T) {
	p := Place{Driver: "s3", Bucket: "b"}
	status := func(c Call, f Failure, want int) {
		t.Helper()
		var got interface{ HTTPStatus() int }
		err := p.Explain(t.Context(), t.Context(), c, f)
		if !errors.As(err, &got) || got.HTTPStatus() != want {
			t.Errorf("%v: want status %d", err, want)
		}
	}
	get := Call{Op: "get", Key: "k"}
	// With advice, and without.
	status(get, Failure{Status: 503, Code: "SlowDown"}, 503)
	status(get, Failure{Status: 403, Code: "AccessDenied"}, 403)
	status(get, Failure{Status: 418}, 418)
	// No answer came at all.
	status(get, Failure{Err: io.ErrUnexpectedEOF}, 0)

	// The answers that the protocol expects have no status: they are no faults.
	var got interface{ HTTPStatus() int }
	put := Call{Op: "put", Key: "k", Cond: store.IfAbsent()}
	if err := p.Explain(t.Context(), t.Context(), put, Failure{Status: 412}); errors.As(err, &got) || !errors.Is(err, store.ErrConflict) {
		t.Errorf("conflict: %v", err)
	}
}

// A call that took too long is told from one whose caller gave up.
func TestExpired(t *testing.T) {
	p := Place{Driver: "s3", Bucket: "b"}
	call, d := Start(t.Context(), time.Nanosecond, 0)
	defer d.Stop()
	<-call.Done()
	var late interface{ Timeout() bool }
	err := p.Explain(t.Context(), call, Call{Op: "put", Key: "k"}, Failure{Err: call.Err()})
	if !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("deadline: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	err = p.Explain(gone, gone, Call{Op: "put", Key: "k"}, Failure{Err: gone.Err()})
	if !errors.Is(err, context.Canceled) || errors.As(err, &late) && late.Timeout() {
		t.Errorf("given up: %v", err)
	}
}

// A body that broke off is no whole answer.
func TestBadBodyKind(t *testing.T) {
	var got interface{ HTTPStatus() int }
	err := Place{Driver: "s3", Bucket: "b"}.BadBody(t.Context(), t.Context(), Call{Op: "get", Key: "k"}, io.ErrUnexpectedEOF)
	if !errors.As(err, &got) || got.HTTPStatus() != 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}
