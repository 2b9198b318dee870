package manifest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/lakeweir/lakeweir/record"
)

// Format is the format of the objects that this package writes. Another major
// number is refused; members that a newer minor one added are kept as they are.
const Format = "1.0"

// Head is the state of one partition, and the only object of it that changes.
type Head struct {
	Partition
	Table       string          // name of the topic
	Identity    record.Identity // of the log that the offsets belong to
	LeaderEpoch int32           // of the last batch published; -1 when unknown
	Version     uint64          // one more with every change, so no two bodies are equal
	Epoch       uint64          // one more with every claim
	Owner       Owner           // who holds the claim
	First       int64           // where the first claim of this generation began
	Next        int64           // all of [First, Next) is published or accounted for
	Pending     *Plan           // what is being written; nil when nothing is
	Ranges      []RangeRecord   // the newest, oldest first
	Sealed      []ListRef       // lists with the ranges before them, oldest first
	Totals      Totals          // over all that is published, sealed or not
	Schema      int             // version of the schema of the next range; 0 before the first

	unknown unknownFields
}

// Owner tells who made a claim. ID is random per claim: two claims of one
// process differ. Host and Software are for people.
type Owner struct {
	ID       string `json:"id"`
	Host     string `json:"host,omitempty"`
	Software string `json:"software,omitempty"`
}

// headForm is the form in which a head is stored. What it is made of is either
// with the methods that keep unknown members, or without.
type headForm[P, R, S any] struct {
	headFields
	Pending *P  `json:"pending"`
	Ranges  []R `json:"ranges"`
	Sealed  []S `json:"sealed"`
	headTail
}

type headFields struct {
	Format      string `json:"format"`
	Table       string `json:"table"`
	Partition   int32  `json:"partition"`
	Generation  int    `json:"generation"`
	ClusterID   string `json:"cluster_id"`
	TopicID     string `json:"topic_id"`
	LeaderEpoch int32  `json:"leader_epoch"`
	Version     uint64 `json:"version"`
	Epoch       uint64 `json:"epoch"`
	Owner       Owner  `json:"owner"`
	First       int64  `json:"first_offset"`
	Next        int64  `json:"next_offset"`
}

type headTail struct {
	Totals Totals `json:"totals"`
	Schema int    `json:"schema"`
}

type headJSON = headForm[Plan, RangeRecord, ListRef]

func newHeadForm[P, R, S any](h Head, pending *P, ranges []R, sealed []S) headForm[P, R, S] {
	return headForm[P, R, S]{
		headFields: headFields{
			Format: Format, Table: h.Table, Partition: h.ID, Generation: h.Generation,
			ClusterID: h.Identity.Cluster, TopicID: hex.EncodeToString(h.Identity.Topic[:]),
			LeaderEpoch: h.LeaderEpoch, Version: h.Version, Epoch: h.Epoch, Owner: h.Owner,
			First: h.First, Next: h.Next,
		},
		Pending: pending, Ranges: ranges, Sealed: sealed,
		headTail: headTail{Totals: h.Totals, Schema: h.Schema},
	}
}

// EncodeHead returns the stored form of h.
func EncodeHead(h Head) ([]byte, error) {
	if p, ok := toPlainHead(h); ok {
		return json.Marshal(p)
	}
	return encodeWith(newHeadForm(h, h.Pending, h.Ranges, h.Sealed), h.unknown)
}

// DecodeHead reads the stored form of a head and validates it.
func DecodeHead(body []byte) (Head, error) {
	var unknown unknownFields
	j, plain := fromPlainHead(body)
	if !plain {
		err := checkFormat(body)
		if err != nil {
			return Head{}, err
		}
		if unknown, err = decodeWith(body, &j); err != nil {
			return Head{}, fmt.Errorf("%w: %w", ErrDamage, err)
		}
	}
	h := Head{
		Partition: Partition{ID: j.Partition, Generation: j.Generation}, Table: j.Table,
		Identity: record.Identity{Cluster: j.ClusterID}, LeaderEpoch: j.LeaderEpoch,
		Version: j.Version, Epoch: j.Epoch, Owner: j.Owner, First: j.First, Next: j.Next,
		Pending: j.Pending, Ranges: j.Ranges, Sealed: j.Sealed, Totals: j.Totals, Schema: j.Schema,
		unknown: unknown,
	}
	topic, err := hex.DecodeString(j.TopicID)
	if err != nil || len(topic) != len(h.Identity.Topic) {
		return Head{}, fmt.Errorf("%w: topic id %q does not have 32 hex digits", ErrDamage, j.TopicID)
	}
	copy(h.Identity.Topic[:], topic)
	if err := h.Validate(); err != nil {
		return Head{}, err
	}
	return h, nil
}

// checkFormat refuses an object of another major format before anything else
// of it is looked at.
func checkFormat(body []byte) error {
	var f struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return fmt.Errorf("%w: not a JSON object: %w", ErrDamage, err)
	}
	return checkMajor(f.Format)
}

func checkMajor(format string) error {
	major, _, ok := strings.Cut(format, ".")
	ours, _, _ := strings.Cut(Format, ".")
	if _, err := strconv.Atoi(major); err != nil || !ok {
		return fmt.Errorf("%w: format %q is not major.minor", ErrDamage, format)
	}
	if major != ours {
		return fmt.Errorf("%w: it is %s, this version knows %s.x: use a version of lakeweir that knows it", ErrFormat, format, ours)
	}
	return nil
}

// MarshalJSON is json.Marshaler; it keeps members that this version does not know.
func (f File) MarshalJSON() ([]byte, error) {
	type plain File
	return encodeWith(plain(f), f.unknown)
}

// UnmarshalJSON is json.Unmarshaler.
func (f *File) UnmarshalJSON(data []byte) (err error) {
	type plain File
	f.unknown, err = decodeWith(data, (*plain)(f))
	return err
}

// MarshalJSON is json.Marshaler; it keeps members that this version does not know.
func (r RangeRecord) MarshalJSON() ([]byte, error) {
	type plain RangeRecord
	return encodeWith(plain(r), r.unknown)
}

// UnmarshalJSON is json.Unmarshaler.
func (r *RangeRecord) UnmarshalJSON(data []byte) (err error) {
	type plain RangeRecord
	r.unknown, err = decodeWith(data, (*plain)(r))
	return err
}

// MarshalJSON is json.Marshaler; it keeps members that this version does not know.
func (p Plan) MarshalJSON() ([]byte, error) {
	type plain Plan
	return encodeWith(plain(p), p.unknown)
}

// UnmarshalJSON is json.Unmarshaler.
func (p *Plan) UnmarshalJSON(data []byte) (err error) {
	type plain Plan
	p.unknown, err = decodeWith(data, (*plain)(p))
	return err
}
