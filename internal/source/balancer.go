package source

import (
	"bytes"
	"cmp"
	"hash/fnv"
	"slices"
	"sync"

	"github.com/segmentio/kafka-go"
)

// balancer assigns the partitions of a group so that as few as possible move
// and all members get equal shares, one more or less. Each member tells what it
// owns and a stable name. Owners keep their partitions up to their share; what
// is left goes to the member with the highest hash of name and partition
// (rendezvous hashing), so that a member that comes back under its name gets
// back most of what it had.
type balancer struct {
	name string
	// known returns partitions that there are, as well as this member knows;
	// nil is none. kafka-go tells of no partition at all when one of the topics
	// does not exist any more.
	known func() []key

	mu    sync.Mutex
	owned claims
}

// claims are the partitions that a member had in a generation.
type claims struct {
	generation int32
	keys       []key
}

// ProtocolName implements kafka.GroupBalancer. All members must share it.
func (*balancer) ProtocolName() string { return "lakeweir-sticky-1" }

// own notes what this member owns from now on.
func (b *balancer) own(generation int32, keys []key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owned = claims{generation, slices.Clone(keys)}
}

// UserData implements kafka.GroupBalancer: the name, and what is owned.
func (b *balancer) UserData() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return encodeMember(b.name, b.owned), nil
}

func encodeMember(name string, c claims) []byte {
	d := appendString(nil, name, false)
	d = appendInt32(d, c.generation)
	d = appendInt32(d, int32(len(c.keys)))
	for _, k := range c.keys {
		d = appendString(d, k.topic, false)
		d = appendInt32(d, k.partition)
	}
	return d
}

// decodeMember reads what encodeMember wrote. Anything else is a member of
// unknown name that owns nothing.
func decodeMember(data []byte) (name string, c claims) {
	d := &decoder{r: bytes.NewReader(data), left: len(data)}
	name, c.generation = d.string(false), d.int32()
	for n := d.count(false, 6); n > 0 && d.err == nil; n-- {
		c.keys = append(c.keys, key{d.string(false), d.int32()})
	}
	if d.err != nil {
		return "", claims{}
	}
	return name, c
}

// peer is a member while partitions are assigned.
type peer struct {
	id, name string
	topics   []string
	keys     []key
	share    int
}

func (p *peer) takes(topic string) bool { return slices.Contains(p.topics, topic) }

// AssignGroups implements kafka.GroupBalancer.
func (b *balancer) AssignGroups(members []kafka.GroupMember, partitions []kafka.Partition) kafka.GroupMemberAssignments {
	var all []key
	for _, p := range partitions {
		all = append(all, key{p.Topic, int32(p.ID)})
	}
	peers, claimed := readMembers(members)
	if b.known != nil {
		all = append(all, b.known()...)
	}
	slices.SortFunc(all, compareKeys)
	all = slices.DeleteFunc(slices.Compact(all), func(k key) bool {
		return !slices.ContainsFunc(peers, func(p *peer) bool { return p.takes(k.topic) })
	})
	free := keep(peers, claimed, all)
	for _, k := range free {
		if p := pick(peers, k); p != nil {
			p.keys = append(p.keys, k)
		}
	}
	out := kafka.GroupMemberAssignments{}
	for _, p := range peers {
		out[p.id] = map[string][]int{}
		for _, k := range p.keys {
			out[p.id][k.topic] = append(out[p.id][k.topic], int(k.partition))
		}
	}
	return out
}

// readMembers returns the members by name and id, and who owns what. Of two
// that claim one partition, the one of the newer generation is right.
func readMembers(members []kafka.GroupMember) ([]*peer, map[key]*peer) {
	var peers []*peer
	claimed := map[key]*peer{}
	since := map[key]int32{}
	for _, m := range members {
		name, c := decodeMember(m.UserData)
		p := &peer{id: m.ID, name: cmp.Or(name, m.ID), topics: m.Topics}
		peers = append(peers, p)
		for _, k := range c.keys {
			if g, ok := since[k]; p.takes(k.topic) && (!ok || c.generation > g) {
				claimed[k], since[k] = p, c.generation
			}
		}
	}
	slices.SortFunc(peers, func(a, b *peer) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
	})
	return peers, claimed
}

// keep leaves owners what they own, up to their share, and returns the rest in
// order. Whoever owns most is first to get a share that is one larger.
func keep(peers []*peer, claimed map[key]*peer, all []key) (free []key) {
	if len(peers) == 0 {
		return nil
	}
	for _, k := range all {
		if p := claimed[k]; p != nil {
			p.keys = append(p.keys, k)
		} else {
			free = append(free, k)
		}
	}
	byLoad := slices.Clone(peers)
	slices.SortStableFunc(byLoad, func(a, b *peer) int { return cmp.Compare(len(b.keys), len(a.keys)) })
	each, larger := len(all)/len(peers), len(all)%len(peers)
	for i, p := range byLoad {
		if p.share = each; i < larger {
			p.share++
		}
		if len(p.keys) > p.share {
			// The weakest by hash go: those another name is likelier to want.
			slices.SortFunc(p.keys, func(a, b key) int { return cmp.Compare(weight(p.name, b), weight(p.name, a)) })
			free = append(free, p.keys[p.share:]...)
			p.keys = p.keys[:p.share:p.share]
			slices.SortFunc(p.keys, compareKeys)
		}
	}
	slices.SortFunc(free, compareKeys)
	return free
}

// pick returns who gets a partition: the highest hash among those below their
// share, else (when not all members want all topics) the one with least.
func pick(peers []*peer, k key) *peer {
	var best, least *peer
	for _, p := range peers {
		if !p.takes(k.topic) {
			continue
		}
		if least == nil || len(p.keys) < len(least.keys) {
			least = p
		}
		if len(p.keys) < p.share && (best == nil || weight(p.name, k) > weight(best.name, k)) {
			best = p
		}
	}
	return cmp.Or(best, least)
}

// weight is the rendezvous hash of a member and a partition. FNV alone leaves
// the high bits of similar names alike, so its sum is mixed (the finalizer of
// MurmurHash3).
func weight(name string, k key) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name + "\x00" + k.String()))
	x := h.Sum64()
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
