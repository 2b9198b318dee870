// Package wirefault is an http.RoundTripper that does to requests of the S3
// protocol what networks, proxies and stores do on a bad day. It goes under the
// real SDKs, as the Transport of a driver, and is for tests only.
//
// A [Transport] asks its Pick about every request and meets it with one [Kind]
// of fault. [Seeded] picks by chance, [Script] by order. What happened is
// counted, so that a test can tell that it met each kind.
package wirefault

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
)

// Kind is a kind of fault. "" is none.
type Kind string

// The kinds of faults. All but the last three are answers to any request; see
// [Kind.Suits].
const (
	LostAnswer   Kind = "answer lost"          // the request arrives and takes effect, no answer comes
	ResetRequest Kind = "reset in request"     // the connection breaks in the middle of the request's body
	ResetAnswer  Kind = "reset in answer"      // it breaks in the middle of the answer's body; the request took effect
	Stall        Kind = "stall"                // the request does not arrive, and nothing comes back until the caller gives up
	StallAnswer  Kind = "stall in answer"      // half of the answer's body comes, and then nothing
	Late         Kind = "late"                 // the caller gives up first, then the request arrives and takes effect
	Internal     Kind = "500"                  // InternalError; did not arrive
	Arrived500   Kind = "500 though written"   // InternalError; took effect
	SlowDown     Kind = "503"                  // SlowDown; did not arrive
	Expired      Kind = "403 expired"          // ExpiredToken; did not arrive
	Conflict     Kind = "409"                  // ConditionalRequestConflict to a conditional PUT; did not arrive
	NotMet       Kind = "412 for nothing"      // PreconditionFailed to a conditional PUT; did not arrive, the condition may hold
	OwnConflict  Kind = "412 after own write"  // PreconditionFailed to a conditional PUT that took effect
	FalseOK      Kind = "200 with an error"    // a PUT that did not arrive, InternalError in the body of a 200
	FalseOKDone  Kind = "200 with error, done" // the same, though it took effect
	WrongByte    Kind = "wrong byte"           // one bit of the body of an object is wrong
	Shorter      Kind = "shorter body"         // its last bytes are missing, and the length says so
	Longer       Kind = "longer body"          // there are more, and the length says so
)

// Kinds are all kinds of faults.
var Kinds = []Kind{
	LostAnswer, ResetRequest, ResetAnswer, Stall, StallAnswer, Late, Internal, Arrived500, SlowDown, Expired,
	Conflict, NotMet, OwnConflict, FalseOK, FalseOKDone, WrongByte, Shorter, Longer,
}

// Suits reports whether a request can meet the fault.
func (k Kind) Suits(r *http.Request) bool {
	put := r.Method == http.MethodPut
	switch k {
	case ResetRequest:
		return put && r.ContentLength > 1
	case Conflict, NotMet, OwnConflict:
		return put && (r.Header.Get("If-Match") != "" || r.Header.Get("If-None-Match") != "")
	case FalseOK, FalseOKDone, Late:
		return put
	case WrongByte, Shorter, Longer:
		return r.Method == http.MethodGet && !r.URL.Query().Has("list-type")
	case ResetAnswer, StallAnswer:
		return r.Method == http.MethodGet
	}
	return true
}

// Pick names the fault that a request meets, "" for none. n counts requests
// from 1. The calls come one by one. A fault that does not suit is none.
type Pick func(n int, r *http.Request) Kind

// Script meets the first requests that match with the given faults, in order,
// and no other one. A nil match is every request.
func Script(match func(*http.Request) bool, kinds ...Kind) Pick {
	return func(_ int, r *http.Request) Kind {
		if len(kinds) == 0 || match != nil && !match(r) {
			return ""
		}
		k := kinds[0]
		kinds = kinds[1:]
		return k
	}
}

// Seeded meets a part of the requests, between 0 and 1, with faults of the
// given kinds that suit, all as likely.
func Seeded(seed uint64, part float64, kinds ...Kind) Pick {
	random := rand.New(rand.NewPCG(seed, seed))
	return func(_ int, r *http.Request) Kind {
		if random.Float64() >= part {
			return ""
		}
		var fit []Kind
		for _, k := range kinds {
			if k.Suits(r) {
				fit = append(fit, k)
			}
		}
		if len(fit) == 0 {
			return ""
		}
		return fit[random.IntN(len(fit))]
	}
}

// Transport carries requests to Next and meets them with faults.
type Transport struct {
	Next http.RoundTripper // nil is http.DefaultTransport
	Pick Pick              // nil is no fault

	mu       sync.Mutex
	requests int
	methods  map[string]int
	met      map[Kind]int
	late     sync.WaitGroup
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	k := t.pick(r)
	return t.meet(r, k)
}

func (t *Transport) pick(r *http.Request) Kind {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.met == nil {
		t.met, t.methods = map[Kind]int{}, map[string]int{}
	}
	t.requests++
	t.methods[r.Method]++
	if t.Pick == nil {
		return ""
	}
	k := t.Pick(t.requests, r)
	if k == "" || !k.Suits(r) {
		return ""
	}
	t.met[k]++
	return k
}

// Requests returns how many requests there were, with their faults or without.
func (t *Transport) Requests() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.requests
}

// Method returns how many requests there were of one method.
func (t *Transport) Method(m string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.methods[m]
}

// Met returns how often each fault was met.
func (t *Transport) Met() map[Kind]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.met)
}

// Wait returns when every late request has arrived.
func (t *Transport) Wait() { t.late.Wait() }
