package settings

import (
	"fmt"
	"strconv"
	"time"
)

// Start says where a partition begins that has no head yet. The zero Start is
// the beginning of the log.
type Start struct {
	Latest bool
	Offset *int64
	Time   time.Time // zero is none
}

// String returns the form that ParseStart reads.
func (s Start) String() string {
	switch {
	case s.Latest:
		return "latest"
	case s.Offset != nil:
		return strconv.FormatInt(*s.Offset, 10)
	case !s.Time.IsZero():
		return s.Time.UTC().Format(time.RFC3339Nano)
	}
	return "earliest"
}

// ParseStart reads earliest, latest, an offset, or a time: RFC 3339, or a date,
// which is its midnight in UTC.
func ParseStart(t string) (Start, error) {
	switch t {
	case "earliest":
		return Start{}, nil
	case "latest":
		return Start{Latest: true}, nil
	}
	if n, err := strconv.ParseInt(t, 10, 64); err == nil && n >= 0 {
		return Start{Offset: &n}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, t); err == nil && at.Unix() > 0 {
			return Start{Time: at}, nil
		}
	}
	return Start{}, fmt.Errorf("%q is not earliest, latest, an offset, or a time such as 2026-01-31T00:00:00Z", t)
}

func start(p *Start) value {
	return value{
		kind: "start", get: func() string { return p.String() },
		set: func(t string) error {
			s, err := ParseStart(t)
			if err == nil {
				*p = s
			}
			return err
		},
	}
}
