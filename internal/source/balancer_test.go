package source

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segmentio/kafka-go"
)

// team is a group of balancers that rebalance together.
type team struct {
	t          *testing.T
	partitions []kafka.Partition
	topics     []string
	generation int32
	members    map[string]*balancer
	owner      map[key]string
}

func newTeam(t *testing.T, partitions int, topics ...string) *team {
	m := &team{t: t, topics: topics, members: map[string]*balancer{}, owner: map[key]string{}}
	for _, topic := range topics {
		for i := range partitions {
			m.partitions = append(m.partitions, kafka.Partition{Topic: topic, ID: i})
		}
	}
	return m
}

// rebalance assigns anew, checks the shares, and returns how many partitions
// changed hands between members that are there.
func (m *team) rebalance() (moved int) {
	m.t.Helper()
	m.generation++
	var list []kafka.GroupMember
	for name, b := range m.members {
		data, err := b.UserData()
		if err != nil {
			m.t.Fatal(err)
		}
		list = append(list, kafka.GroupMember{ID: "id-" + name, Topics: m.topics, UserData: data})
	}
	out := new(balancer).AssignGroups(list, m.partitions)
	owner := map[key]string{}
	least, most := len(m.partitions), 0
	for name, b := range m.members {
		var keys []key
		for topic, ids := range out["id-"+name] {
			for _, id := range ids {
				k := key{topic, int32(id)}
				if owner[k] != "" {
					m.t.Fatalf("%s is assigned twice", k)
				}
				owner[k] = name
				keys = append(keys, k)
				if was := m.owner[k]; was != "" && was != name && m.members[was] != nil {
					moved++
				}
			}
		}
		least, most = min(least, len(keys)), max(most, len(keys))
		b.own(m.generation, keys)
	}
	if len(owner) != len(m.partitions) || most-least > 1 {
		m.t.Fatalf("%d of %d partitions assigned, shares from %d to %d", len(owner), len(m.partitions), least, most)
	}
	m.owner = owner
	return moved
}

func (m *team) join(name string) { m.members[name] = &balancer{name: name} }

func TestBalance(t *testing.T) {
	m := newTeam(t, 12, "a", "b")
	m.join("one")
	if n := m.rebalance(); n != 0 {
		t.Errorf("first: %d moved", n)
	}
	// A second member gets half, and nothing else moves.
	m.join("two")
	if n := m.rebalance(); n != 12 {
		t.Errorf("second member: %d moved, want 12", n)
	}
	// A third gets 8, 4 from each.
	m.join("three")
	if n := m.rebalance(); n != 8 {
		t.Errorf("third member: %d moved, want 8", n)
	}
	// Nothing changes: nothing moves.
	if n := m.rebalance(); n != 0 {
		t.Errorf("no change: %d moved", n)
	}
	// One leaves: only what it had moves.
	delete(m.members, "two")
	if n := m.rebalance(); n != 0 {
		t.Errorf("one left: %d of the others' partitions moved", n)
	}
	// More members than partitions: some have none.
	for i := range 30 {
		m.join(fmt.Sprint("m", i))
	}
	m.rebalance()
}

// A member that restarts under its name gets back most of what it had, though
// it tells no claims.
func TestBalanceReturns(t *testing.T) {
	m := newTeam(t, 60, "t")
	for _, name := range []string{"a", "b", "c"} {
		m.join(name)
	}
	m.rebalance()
	before := m.owner
	m.join("b") // the same name, a new process, before anyone else took over
	m.rebalance()
	same := 0
	for k, name := range before {
		if name == "b" && m.owner[k] == "b" {
			same++
		}
	}
	if same != 20 {
		t.Errorf("%d of 20 partitions came back", same)
	}
}

// Any sequence of joins and leaves keeps shares equal, and moves no more than
// shares demand.
func TestBalanceRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		m := newTeam(t, rnd.IntN(40)+1, "t", "u")
		for step := range 12 {
			had := map[string]int{}
			for _, name := range m.owner {
				had[name]++
			}
			if len(m.members) > 1 && rnd.IntN(3) == 0 {
				for name := range m.members {
					delete(m.members, name)
					break
				}
			} else {
				m.join(fmt.Sprint("m", step))
			}
			// What members have above the smaller share may have to move.
			bound, each := 0, len(m.partitions)/len(m.members)
			for name := range m.members {
				bound += max(0, had[name]-each)
			}
			if moved := m.rebalance(); moved > bound {
				t.Fatalf("%d moved, at most %d had to", moved, bound)
			}
		}
	}
}

// Of two claims of one partition the newer generation's holds, and claims of
// partitions that are gone or topics not wanted are void.
func TestBalanceClaims(t *testing.T) {
	member := func(name string, generation int32, topics []string, keys ...key) kafka.GroupMember {
		return kafka.GroupMember{ID: name, Topics: topics, UserData: encodeMember(name, claims{generation, keys})}
	}
	parts := []kafka.Partition{{Topic: "t", ID: 0}, {Topic: "t", ID: 1}}
	both := []string{"t"}
	out := new(balancer).AssignGroups([]kafka.GroupMember{
		member("old", 3, both, key{"t", 0}, key{"t", 9}), member("new", 4, both, key{"t", 0}),
	}, parts)
	if !slices.Equal(out["new"]["t"], []int{0}) || !slices.Equal(out["old"]["t"], []int{1}) {
		t.Errorf("got %v", out)
	}
	// Only one member wants the topic.
	out = new(balancer).AssignGroups([]kafka.GroupMember{
		member("a", 1, []string{"u"}, key{"t", 0}), member("b", 1, both),
	}, parts)
	if len(out["a"]["t"]) != 0 || len(out["b"]["t"]) != 2 {
		t.Errorf("got %v", out)
	}
	// Data of another software: a member all the same.
	out = new(balancer).AssignGroups([]kafka.GroupMember{
		{ID: "x", Topics: both, UserData: []byte{0xff, 0xff, 1}}, {ID: "y", Topics: both},
	}, parts)
	if len(out["x"]["t"]) != 1 || len(out["y"]["t"]) != 1 {
		t.Errorf("got %v", out)
	}
}
