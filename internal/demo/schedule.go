package demo

import (
	"math/rand/v2"
	"time"
)

// incident is what happens to one sink before the next one follows it.
type incident struct {
	step    Step
	nth     int           // at which time it gets to the step
	after   time.Duration // Anytime: so long after it was started
	overlap bool          // another sink claims the same partitions meanwhile
	pause   bool          // it is not killed but stopped at step, until another has taken over
	cut     cut           // of this sink
	other   cut           // of the one beside it, or that takes over
}

// cut says how a sink cuts batches and lays them out.
type cut struct {
	rows   int64
	snappy bool
}

// maxNth bounds how often a sink gets to its step before it is held there. A
// sink that is not disturbed gets there at least as often as it has partitions.
const maxNth = Partitions

// randomWithin bounds the life of a sink that is killed at a random moment.
const randomWithin = 900 * time.Millisecond

// incidents returns a schedule with so many kills, the same for every seed
// alike. The first five kills cover every named step once; of the others each
// second one comes at a random moment. Pauses come on top: one, and one more
// for every six kills. Then the order is shuffled.
func incidents(seed uint64, records, kills int) []incident {
	rnd := rand.New(rand.NewPCG(seed, 2))
	var all []incident
	for i := range kills {
		in := incident{step: Anytime, overlap: contends && i%3 == 1}
		if i < len(named) || i%2 == 0 {
			in.step = named[i%len(named)]
		}
		all = append(all, in)
	}
	if contends {
		for range 1 + kills/6 {
			all = append(all, incident{step: Writing, pause: true})
		}
	}
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	share := max(records/Partitions/shares(all), 1)
	last := cut{}
	for i := range all {
		all[i].fill(rnd, share, last)
		last = all[i].last()
	}
	return all
}

// fill draws what is left open. A sink never cuts as the one before it did: one
// that did not heed a plan would make other files of the same records. And the
// one that takes over from a stopped sink has another layout: it has to plan the
// range of that sink again under new names.
func (in *incident) fill(rnd *rand.Rand, share int, last cut) {
	in.nth = 1 + rnd.IntN(maxNth)
	in.after = time.Duration(rnd.Int64N(int64(randomWithin)))
	in.cut = draw(rnd, share, last)
	in.other = draw(rnd, share, in.cut)
	if in.pause {
		in.nth, in.other.snappy = 1, !in.cut.snappy
	}
}

// last returns how the last sink of an incident cuts.
func (in incident) last() cut {
	if in.overlap || in.pause {
		return in.other
	}
	return in.cut
}

// draw returns a cut that is not that of the sink before: an eighth to six
// eighths of what a partition gets per share.
func draw(rnd *rand.Rand, share int, before cut) cut {
	c := cut{snappy: rnd.IntN(2) == 0}
	for {
		eighths := int64(1 + rnd.IntN(6))
		c.rows = max(int64(share)*eighths/8, 1+eighths)
		if c.rows != before.rows {
			return c
		}
	}
}

// shares returns into how many shares the events are divided: one for each
// incident, another one if a second sink has a part in it, and the last.
func shares(all []incident) int {
	n := len(all) + 1
	for _, in := range all {
		if in.pause || in.overlap {
			n++
		}
	}
	return n
}
