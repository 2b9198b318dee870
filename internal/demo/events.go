package demo

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/lakeweir/lakeweir/testdata"
)

// Partitions is how many partitions the topic of the demo has.
const Partitions = 4

// badShare is how many events there are for each one that cannot be parsed.
const badShare = 50

// event is one record to send. One without an id cannot be parsed: it must
// become a dead letter.
type event struct {
	partition int32
	id        string
	value     []byte
}

// events yields n events, the same for every seed alike: the earthquakes in
// their order, over and over under new ids, and among them some that are spoiled.
func events(seed uint64, n int) iter.Seq[event] {
	lines := bytes.Split(bytes.TrimSpace(testdata.Earthquakes), []byte("\n"))
	return func(yield func(event) bool) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		for i := range n {
			e := rename(lines[i%len(lines)], i/len(lines))
			e.partition = int32(i % Partitions)
			if rnd.IntN(badShare) == 0 {
				e = spoil(e, rnd)
			}
			if !yield(e) {
				return
			}
		}
	}
}

// idMember is how the id begins in a line; the last one is that of the event.
var idMember = []byte(`"id":"`)

// rename returns the event of a line in the given round: from the second on its
// id gets the round as a suffix, so that no two are the same.
func rename(line []byte, round int) event {
	at := bytes.LastIndex(line, idMember) + len(idMember)
	end := at + bytes.IndexByte(line[at:], '"')
	id := string(line[at:end])
	if round == 0 {
		return event{id: id, value: line}
	}
	id = fmt.Sprintf("%s-%d", id, round)
	return event{id: id, value: splice(line, at, end, id)}
}

// splice returns b with [from, to) replaced.
func splice(b []byte, from, to int, with string) []byte {
	out := make([]byte, 0, len(b)+len(with))
	return append(append(append(out, b[:from]...), with...), b[to:]...)
}

// spoil makes an event one that no table of this schema can take.
func spoil(e event, rnd *rand.Rand) event {
	v := e.value
	switch rnd.IntN(5) {
	case 0: // cut off on the way
		v = v[:1+rnd.IntN(len(v)-1)]
	case 1:
		v = []byte{}
	case 2: // text where a number is declared
		v = bytes.Replace(v, []byte(`"mag":`), []byte(`"mag":"strong","was":`), 1)
	case 3: // no id, which is required
		v = bytes.Replace(v, append([]byte(`,`), append(idMember, e.id...)...), []byte(`,"name":"`+e.id), 1)
	case 4: // something follows
		v = splice(v, len(v), len(v), " }")
	}
	return event{partition: e.partition, value: v}
}
