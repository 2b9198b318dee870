package manifest

import (
	"fmt"
	"strings"
)

// Partition is one partition of a table, and which generation of its log.
type Partition struct {
	ID         int32 // 0 to 99999: names have five digits for it
	Generation int   // 0; one more with every explicit reset
}

// maxPartition is the largest id that fits five digits.
const maxPartition = 99999

// HeadKey is the key of the head, the only object of a partition that changes.
func (p Partition) HeadKey() string { return fmt.Sprintf("manifest/%05d.json", p.ID) }

// ParseHeadKey returns the partition id that a head key names.
func ParseHeadKey(key string) (int32, error) {
	rest, ok := strings.CutPrefix(key, "manifest/")
	digits, ok2 := strings.CutSuffix(rest, ".json")
	id, err := parseDigits(digits, 5)
	if !ok || !ok2 || err != nil {
		return 0, fmt.Errorf("%q is not the key of a head: %w", key, ErrName)
	}
	return int32(id), nil
}

// listPrefix is where the sealed lists of the partition are.
func (p Partition) listPrefix() string { return fmt.Sprintf("manifest/%05d/", p.ID) }
