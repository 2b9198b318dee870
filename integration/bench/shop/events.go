// Package shop makes the events that the benchmarks send: those of a shop, the
// same ones every time.
package shop

import (
	"bufio"
	"math/rand/v2"
	"os"
	"strconv"
	"time"
)

// Events makes JSON events of a shop: about 390 bytes each, with an id, a time,
// numbers, texts of few and of many values, a nested object and a list. The
// same seed gives the same events.
type Events struct {
	random *rand.Rand
	millis int64
	buf    []byte
}

// New returns a maker that starts at the first event.
func New() *Events {
	return &Events{
		random: rand.New(rand.NewPCG(7, 11)),
		millis: time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC).UnixMilli(),
	}
}

var (
	kinds     = []string{"page_view", "page_view", "page_view", "page_view", "click", "click", "add_to_cart", "remove_from_cart", "checkout", "purchase", "search", "login"}
	countries = []string{"DE", "US", "GB", "FR", "PL", "NL", "ES", "IT", "SE", "BR", "IN", "JP", "AU", "CA", "MX", "TR"}
	systems   = []string{"iOS", "Android", "Windows", "macOS", "Linux"}
	versions  = []string{"17.4.1", "17.5", "14", "13", "11", "10.0.19045", "14.5", "6.8"}
	shelves   = []string{"shoes", "electronics", "garden", "books", "toys", "kitchen", "sports", "beauty"}
	referrers = []string{`"https://www.google.com/"`, `"https://news.example.org/a/"`, `"https://t.example/x"`, "null", "null"}
)

func (e *Events) one(of []string) string { return of[e.random.IntN(len(of))] }

func (e *Events) hex(digits int) {
	const hex = "0123456789abcdef"
	for n := e.random.Uint64(); digits > 0; digits-- {
		e.buf = append(e.buf, hex[n&15])
		n >>= 4
	}
}

func (e *Events) text(parts ...string) {
	for _, p := range parts {
		e.buf = append(e.buf, p...)
	}
}

func (e *Events) number(least, below int) {
	e.buf = strconv.AppendInt(e.buf, int64(least+e.random.IntN(below-least)), 10)
}

// Next returns an event, which is good until the next call.
func (e *Events) Next() []byte {
	e.millis += int64(e.random.IntN(3))
	e.buf = e.buf[:0]
	e.text(`{"event_id":"`)
	for i, digits := range []int{8, 4, 4, 4, 12} {
		if i > 0 {
			e.text("-")
		}
		e.hex(digits)
	}
	e.text(`","event_time":"`)
	e.buf = time.UnixMilli(e.millis).UTC().AppendFormat(e.buf, "2006-01-02T15:04:05.000Z")
	e.text(`","user_id":`)
	e.number(100_000_000, 200_000_000)
	e.text(`,"event_type":"`, e.one(kinds), `","url":"https://shop.example.com/`, e.one(shelves), `/item-`)
	e.number(1, 200_000)
	if e.random.IntN(2) == 0 {
		e.text(`?utm_source=mail&utm_campaign=c`)
		e.number(1, 500)
	}
	e.text(`","country":"`, e.one(countries), `","price":`)
	e.number(1, 500)
	e.text(".")
	e.number(10, 100)
	e.text(`,"quantity":`)
	e.number(1, 10)
	e.text(`,"session_id":"s-`)
	e.hex(16)
	e.text(`","device":{"os":"`, e.one(systems), `","version":"`, e.one(versions), `","model":"Model-T`)
	e.number(100, 160)
	e.text(`"},"tags":[`)
	for i := range e.random.IntN(5) {
		if i > 0 {
			e.text(",")
		}
		e.text(`"tag_`)
		e.number(10, 50)
		e.text(`"`)
	}
	e.text(`],"referrer":`, e.one(referrers), `}`)
	return e.buf
}

// Columns are the twelve members of the events as columns, as settings have them.
const Columns = `
      - {name: event_id, path: event_id, type: uuid}
      - {name: event_time, path: event_time, type: timestamp}
      - {name: user_id, path: user_id, type: int64}
      - {name: event_type, path: event_type, type: string, encoding: dictionary}
      - {name: url, path: url, type: string}
      - {name: country, path: country, type: string, encoding: dictionary}
      - {name: price, path: price, type: double}
      - {name: quantity, path: quantity, type: int32}
      - {name: session_id, path: session_id, type: string}
      - name: device
        path: device
        type: struct
        fields:
          - {name: os, path: os, type: string, encoding: dictionary}
          - {name: version, path: version, type: string, encoding: dictionary}
          - {name: model, path: model, type: string, encoding: dictionary}
      - {name: tags, path: tags, type: list, element: {type: string, encoding: dictionary}}
      - {name: referrer, path: referrer, type: string, encoding: dictionary}
`

// Write writes n events to a file, one a line.
func Write(path string, n int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w, e := bufio.NewWriterSize(f, 1<<20), New()
	for range n {
		if _, err := w.Write(append(e.Next(), '\n')); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
