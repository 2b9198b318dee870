package simulation

import (
	"math/rand/v2"
	"time"
)

// mood is what a seed does often, seldom, or not at all. Histories in which all
// happens all the time do not get far; what takes a long way to come about is
// found by those that leave most of it out.
type mood struct {
	fault   int // one write in so many meets a fault; 0 is none
	kinds   [verdicts]int
	actions []action // with the weights of the seed
	bare    bool     // the store keeps no hashes
}

// action is something that the driver does.
type action struct {
	weight int
	do     func(*world)
}

// proceedWeight is that of letting a call go; the other actions have less than
// half of it.
const proceedWeight = 720

var actions = []action{
	{80, (*world).idle},
	{60, (*world).grow},
	{30, (*world).land},
	{20, (*world).move},
	{20, (*world).bounce},
	{20, (*world).crash},
	{30, (*world).pause},
	{8, (*world).drain},
	{12, (*world).compact},
	{6, (*world).retain},
	{10, (*world).lead},
	{6, (*world).truncate},
	{2, (*world).jump},
	{2, (*world).recreate},
	{4, (*world).operate},
	{4, (*world).outage},
}

func newMood(random *rand.Rand) mood {
	m := mood{fault: []int{0, 3, 5, 5, 10, 40}[random.IntN(6)], bare: random.IntN(4) == 0}
	for v := pass + 1; v < verdicts; v++ {
		m.kinds[v] = []int{0, 1, 1, 4}[random.IntN(4)]
	}
	for _, a := range actions {
		a.weight *= []int{0, 1, 1, 2, 4}[random.IntN(5)]
		m.actions = append(m.actions, a)
	}
	m.actions = append(m.actions, action{proceedWeight * []int{1, 2, 4}[random.IntN(3)], (*world).proceed})
	return m
}

// act does one thing.
func (w *world) act() {
	w.down, w.mute = max(w.down-1, 0), max(w.mute-1, 0)
	sum := 0
	for _, a := range w.mood.actions {
		sum += a.weight
	}
	n := w.random.IntN(sum)
	for _, a := range w.mood.actions {
		if n -= a.weight; n < 0 {
			a.do(w)
			return
		}
	}
}

// verdict decides on a call.
func (w *world) verdict(c *call) verdict {
	put := c.kind == "put" || c.kind == "head"
	switch c.kind {
	case "put", "head", "get", "stat", "list", "delete":
		if w.down > 0 {
			return refuse
		}
	case "read", "bounds", "identity", "epoch":
		if w.mute > 0 {
			return refuse
		}
	}
	rate := w.mood.fault
	if !put { // those that change nothing are many
		rate *= 4
	}
	if rate == 0 || w.random.IntN(rate) > 0 {
		return pass
	}
	v := w.kind()
	if v == pass || put || v == stall {
		return v
	}
	return refuse
}

// kind picks a kind of fault; pass in a seed that has none.
func (w *world) kind() verdict {
	sum := 0
	for _, n := range w.mood.kinds {
		sum += n
	}
	if sum == 0 {
		return pass
	}
	n := w.random.IntN(sum)
	v := pass
	for n -= w.mood.kinds[v]; n >= 0; n -= w.mood.kinds[v] {
		v++
	}
	return v
}

// idle lets time go by.
func (w *world) idle() {
	w.pass([]time.Duration{20 * time.Millisecond, 200 * time.Millisecond, time.Second, 5 * time.Second, 70 * time.Second}[w.random.IntN(5)])
}

// jump is a clock that jumps.
func (w *world) jump() { w.pass(30 * 24 * time.Hour) }

// outage takes the store or the brokers away for some steps.
func (w *world) outage() {
	n := 1 + w.random.IntN(50)
	if w.random.IntN(2) == 0 {
		w.down = n
		w.step("outage", "of the store for %d steps", n)
	} else {
		w.mute = n
		w.step("outage", "of the brokers for %d steps", n)
	}
}

// operate is an operator who resets a partition, for a reason or for none.
func (w *world) operate() {
	id, _ := w.log()
	if w.stuck(id) || w.random.IntN(4) == 0 {
		w.reset(id)
	}
}
