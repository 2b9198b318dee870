package settings

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value gets and sets a setting in text form, which is the same in the file,
// in the environment and in flags.
type value struct {
	kind string // for help texts
	get  func() string
	set  func(string) error
}

// String returns the value in the form that set takes.
func (v value) String() string { return v.get() }

func text(p *string) value {
	return value{kind: "text", get: func() string { return *p }, set: func(t string) error { *p = t; return nil }}
}

func choice(p *string, of ...string) value {
	return value{
		kind: "choice", get: func() string { return *p },
		set: func(t string) error {
			if !slices.Contains(of, t) {
				of := slices.DeleteFunc(slices.Clone(of), func(s string) bool { return s == "" })
				return fmt.Errorf("%q is not one of %s", t, strings.Join(of, ", "))
			}
			*p = t
			return nil
		},
	}
}

func boolean(p *bool) value {
	return value{
		kind: "bool", get: func() string { return strconv.FormatBool(*p) },
		set: func(t string) (err error) { *p, err = parseBool(t); return err },
	}
}

// optional is a boolean that decides by itself when it is not set.
func optional(p **bool) value {
	return value{
		kind: "bool",
		get: func() string {
			if *p == nil {
				return "auto"
			}
			return strconv.FormatBool(**p)
		},
		set: func(t string) error {
			if t == "auto" {
				*p = nil
				return nil
			}
			b, err := parseBool(t)
			if err == nil {
				*p = &b
			}
			return err
		},
	}
}

func parseBool(t string) (bool, error) {
	switch strings.ToLower(t) {
	case "true", "on", "yes":
		return true, nil
	case "false", "off", "no":
		return false, nil
	}
	return false, fmt.Errorf("%q is not true or false", t)
}

func integer(p *int64) value {
	return value{
		kind: "number", get: func() string { return strconv.FormatInt(*p, 10) },
		set: func(t string) error {
			n, err := strconv.ParseInt(strings.ReplaceAll(t, "_", ""), 10, 64)
			if err != nil || n < 0 {
				return fmt.Errorf("%q is not a whole number", t)
			}
			*p = n
			return nil
		},
	}
}

// ratio is a share, from 0 to 1.
func ratio(p *float64) value {
	return value{
		kind: "share", get: func() string { return strconv.FormatFloat(*p, 'g', -1, 64) },
		set: func(t string) error {
			f, err := strconv.ParseFloat(t, 64)
			if err != nil || !(f >= 0 && f <= 1) { // NaN is neither
				return fmt.Errorf("%q is not a share from 0 to 1, such as 0.05", t)
			}
			*p = f
			return nil
		},
	}
}

// topic is the name of a topic, or empty.
func topic(p *string) value {
	return value{
		kind: "topic", get: func() string { return *p },
		set: func(t string) error {
			if t != "" {
				if err := CheckTopic(t); err != nil {
					return err
				}
			}
			*p = t
			return nil
		},
	}
}

func size(p *int64) value {
	return value{
		kind: "size", get: func() string { return FormatSize(*p) },
		set: func(t string) (err error) {
			n, err := ParseSize(t)
			if err == nil {
				*p = n
			}
			return err
		},
	}
}

func duration(p *time.Duration) value {
	return value{
		kind: "duration", get: func() string { return formatDuration(*p) },
		set: func(t string) error {
			d, err := time.ParseDuration(t)
			if err != nil || d <= 0 {
				return fmt.Errorf("%q is not a duration such as 500ms, 60s or 5m", t)
			}
			*p = d
			return nil
		},
	}
}

// formatDuration leaves out the units that are zero: 1m, not 1m0s.
func formatDuration(d time.Duration) string {
	t := d.String()
	if strings.HasSuffix(t, "m0s") {
		t = t[:len(t)-2]
	}
	if strings.HasSuffix(t, "h0m") {
		t = t[:len(t)-2]
	}
	return t
}

func list(p *[]string) value {
	return value{
		kind: "list", get: func() string { return strings.Join(*p, ",") },
		set: func(t string) error {
			items, err := splitList(t)
			if err == nil {
				*p = items
			}
			return err
		},
	}
}

// splitList splits at commas. Empty text is an empty list.
func splitList(t string) ([]string, error) {
	if strings.TrimSpace(t) == "" {
		return nil, nil
	}
	var items []string
	for item := range strings.SplitSeq(t, ",") {
		if item = strings.TrimSpace(item); item == "" {
			return nil, fmt.Errorf("%q has an empty item", t)
		}
		items = append(items, item)
	}
	return items, nil
}

func partitions(p *map[string][]int32) value {
	return value{
		kind: "partitions", get: func() string { return formatPartitions(*p) },
		set: func(t string) error {
			m, err := parsePartitions(t)
			if err == nil {
				*p = m
			}
			return err
		},
	}
}

// formatPartitions writes quakes=0,1;orders=2.
func formatPartitions(m map[string][]int32) string {
	var parts []string
	for _, topic := range slices.Sorted(maps.Keys(m)) {
		var ids []string
		for _, id := range m[topic] {
			ids = append(ids, strconv.Itoa(int(id)))
		}
		parts = append(parts, topic+"="+strings.Join(ids, ","))
	}
	return strings.Join(parts, ";")
}

// parsePartitions reads what formatPartitions writes.
func parsePartitions(t string) (map[string][]int32, error) {
	if strings.TrimSpace(t) == "" {
		return nil, nil
	}
	m := map[string][]int32{}
	for part := range strings.SplitSeq(t, ";") {
		topic, ids, ok := strings.Cut(part, "=")
		topic = strings.TrimSpace(topic)
		if _, twice := m[topic]; !ok || topic == "" || twice {
			return nil, fmt.Errorf("%q is not topic=0,1", part)
		}
		items, err := splitList(ids)
		if err != nil || len(items) == 0 {
			return nil, fmt.Errorf("%q names no partitions of topic %s", part, topic)
		}
		for _, item := range items {
			id, err := strconv.ParseInt(item, 10, 32)
			if err != nil || id < 0 || slices.Contains(m[topic], int32(id)) {
				return nil, fmt.Errorf("%q is not a partition, or is named twice", item)
			}
			m[topic] = append(m[topic], int32(id))
		}
	}
	return m, nil
}

// Size units: binary ones as the file's examples have them, decimal ones too.
var units = []struct {
	name string
	size int64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"kB", 1e3},
	{"KB", 1e3},
	{"B", 1},
}

// ParseSize reads a number of bytes: 128MiB, 1GB, 4096.
func ParseSize(t string) (int64, error) {
	bad := fmt.Errorf("%q is not a size such as 128MiB", t)
	number, unit := strings.TrimSpace(t), int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(number, "_", ""), 10, 64)
	if err != nil || n < 0 || strings.HasPrefix(number, "+") {
		return 0, bad
	}
	if n > (1<<62)/unit {
		return 0, bad
	}
	return n * unit, nil
}

// FormatSize writes a number of bytes in the largest binary unit that fits it
// exactly.
func FormatSize(n int64) string {
	for _, u := range units[:4] {
		if n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
