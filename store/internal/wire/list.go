package wire

import (
	"fmt"
	"strings"

	"github.com/lakeweir/lakeweir/store"
)

// Lister checks what a store lists: some ignore where to begin, and some (S3
// directory buckets) have another order.
type Lister struct {
	Place         Place
	Prefix, After string
	last          string
}

// Key returns the key of a listed object name, and whether it was asked for.
// Objects with names that no key can have were put there by others; they are
// left out.
func (l *Lister) Key(name string) (key string, ok bool, err error) {
	key, ok = strings.CutPrefix(name, l.Place.Prefix)
	if !ok || !strings.HasPrefix(key, l.Prefix) {
		return "", false, fmt.Errorf("the store lists %q under the prefix %q", name, l.Place.Prefix+l.Prefix)
	}
	if l.last != "" && name <= l.last {
		return "", false, fmt.Errorf("the store lists %q after %q, not in the order of bytes: use a general purpose bucket", name, l.last)
	}
	l.last = name
	return key, key > l.After && store.CheckKey(key) == nil, nil
}

// StartAfter is the object name to list from.
func (l *Lister) StartAfter() string {
	if l.After == "" {
		return ""
	}
	return l.Place.Prefix + l.After
}
