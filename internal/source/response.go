package source

import (
	"slices"
	"time"
)

// slot is one partition in a fetch request.
type slot struct {
	topic     string
	partition int32
	epoch     int32 // leader epoch that the reader knows; -1 unknown
	offset    int64
	maxBytes  int32
}

// fetch is a request to the one broker that leads all its slots. Slots of one
// topic are neighbours; the broker fills them in order until maxBytes.
type fetch struct {
	slots     []slot
	maxBytes  int32
	maxWait   time.Duration
	committed bool
}

// encode writes Fetch v4 to v11, without a fetch session.
func (f *fetch) encode(b []byte, v int16) []byte {
	b = appendInt32(b, -1) // replica: a consumer
	b = appendInt32(b, int32(f.maxWait.Milliseconds()))
	b = appendInt32(b, 1) // MinBytes: 0 would answer at once, for ever
	b = appendInt32(b, f.maxBytes)
	b = appendBool(b, f.committed)
	if v >= 7 {
		b = appendInt32(b, 0)  // session
		b = appendInt32(b, -1) // epoch: sessionless
	}
	b = f.appendTopics(b, v)
	if v >= 7 {
		b = appendInt32(b, 0) // forgotten topics
	}
	if v >= 11 {
		b = appendString(b, "", false) // rack
	}
	return b
}

func (f *fetch) appendTopics(b []byte, v int16) []byte {
	topics := int32(0)
	for i := range f.slots {
		if i == 0 || f.slots[i].topic != f.slots[i-1].topic {
			topics++
		}
	}
	b = appendInt32(b, topics)
	for i := 0; i < len(f.slots); {
		n := i
		for n < len(f.slots) && f.slots[n].topic == f.slots[i].topic {
			n++
		}
		b = appendString(b, f.slots[i].topic, false)
		b = appendInt32(b, int32(n-i))
		for ; i < n; i++ {
			b = f.slots[i].append(b, v)
		}
	}
	return b
}

func (s *slot) append(b []byte, v int16) []byte {
	b = appendInt32(b, s.partition)
	if v >= 9 {
		b = appendInt32(b, s.epoch)
	}
	b = appendInt64(b, s.offset)
	if v >= 5 {
		b = appendInt64(b, -1) // log start: for followers
	}
	return appendInt32(b, s.maxBytes)
}

// fetched is what a broker answered for one partition.
type fetched struct {
	topic     string
	partition int32
	code      int16
	high      int64 // high watermark
	stable    int64 // last stable offset; -1 when it was not asked for
	start     int64 // of the log; -1 below v5
	aborted   []aborted
	records   []byte // whole batches, perhaps a partial one at the end
}

// decodeFetch reads a Fetch response v4 to v11. The records of a partition go
// straight into memory of their own, so one slow partition does not keep a
// response alive.
func decodeFetch(d *decoder, v int16) ([]fetched, error) {
	d.int32() // throttle: the broker delays the answer itself
	if v >= 7 {
		if code := d.code(); code != 0 {
			d.skip(d.left)
			return nil, codeError(code)
		}
		d.int32() // session
	}
	var out []fetched
	for nt := d.count(false, 6); nt > 0 && d.err == nil; nt-- {
		topic := d.string(false)
		np := d.count(false, 26)
		for out = slices.Grow(out, np); np > 0 && d.err == nil; np-- {
			f := decodeSlot(d, v)
			f.topic = topic
			out = append(out, f)
		}
	}
	return out, d.err
}

func decodeSlot(d *decoder, v int16) fetched {
	f := fetched{partition: d.int32(), code: d.code(), high: d.int64(), stable: d.int64(), start: -1}
	if v >= 5 {
		f.start = d.int64()
	}
	n := d.count(false, 16)
	if n > 0 {
		f.aborted = make([]aborted, 0, n)
	}
	for range n {
		f.aborted = append(f.aborted, aborted{producer: d.int64(), first: d.int64()})
	}
	if v >= 11 {
		d.int32() // preferred replica
	}
	if n := d.int32(); n > 0 {
		f.records = d.bytes(int(n))
	}
	return f
}
