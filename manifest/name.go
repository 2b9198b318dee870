package manifest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/lakeweir/lakeweir/store"
)

// ErrName is returned for a key that does not have the form of its kind.
var ErrName = errors.New("not a name of this protocol")

// Name is what the key of a data file or of a dead-letter file says. Numbers
// have a fixed width, so names of a partition sort as their offsets do.
type Name struct {
	Partition
	Range
	Attempt int    // > 0 when the range was planned again; such names have "-a<attempt>"
	Random  string // 16 hex digits, on outputs of maintenance only
	Hive    string // "day=2026-01-31/hour=07": directories of a data file, already escaped; may be empty
}

// Data returns the key of the data file.
func (n Name) Data() string {
	if n.Hive != "" {
		return "data/" + n.Hive + "/" + n.base()
	}
	return "data/" + n.base()
}

// Dead returns the key of the dead-letter file. Dead letters are not partitioned.
func (n Name) Dead() string { return "dead/" + n.base() }

func (n Name) base() string {
	var b strings.Builder
	if n.Generation > 0 {
		fmt.Fprintf(&b, "g%04d-", n.Generation)
	}
	fmt.Fprintf(&b, "%05d-%020d-%020d", n.ID, n.Start, n.Next)
	if n.Attempt > 0 {
		fmt.Fprintf(&b, "-a%d", n.Attempt)
	}
	if n.Random != "" {
		b.WriteString("-" + n.Random)
	}
	return b.String() + ".parquet"
}

// Validate returns an error if the name has no key that parses back to it.
func (n Name) Validate() error {
	if n.ID < 0 || n.ID > maxPartition {
		return fmt.Errorf("partition %d has more than five digits: %w", n.ID, ErrName)
	}
	if n.Generation < 0 || n.Generation > 9999 {
		return fmt.Errorf("generation %d has more than four digits: %w", n.Generation, ErrName)
	}
	if n.Attempt < 0 {
		return fmt.Errorf("attempt %d: %w", n.Attempt, ErrName)
	}
	if n.Random != "" && !isRandom(n.Random) {
		return fmt.Errorf("random part %q is not 16 hex digits: %w", n.Random, ErrName)
	}
	if err := n.Range.Validate(); err != nil {
		return err
	}
	return validateHive(n.Hive)
}

// ParseData reads the key of a data file.
func ParseData(key string) (Name, error) {
	rest, ok := strings.CutPrefix(key, "data/")
	if !ok {
		return Name{}, fmt.Errorf("%q is not under data/: %w", key, ErrName)
	}
	hive := ""
	if i := strings.LastIndexByte(rest, '/'); i >= 0 {
		if i == 0 {
			return Name{}, fmt.Errorf("%q has an empty directory: %w", key, ErrName)
		}
		hive, rest = rest[:i], rest[i+1:]
	}
	return parseBase(key, rest, hive)
}

// ParseDead reads the key of a dead-letter file.
func ParseDead(key string) (Name, error) {
	rest, ok := strings.CutPrefix(key, "dead/")
	if !ok {
		return Name{}, fmt.Errorf("%q is not under dead/: %w", key, ErrName)
	}
	return parseBase(key, rest, "")
}

// Parse reads the key of a data file or of a dead-letter file.
func Parse(key string) (n Name, dead bool, err error) {
	if strings.HasPrefix(key, "dead/") {
		n, err = ParseDead(key)
		return n, true, err
	}
	n, err = ParseData(key)
	return n, false, err
}

func parseBase(key, base, hive string) (Name, error) {
	bad := func(what string) (Name, error) { return Name{}, fmt.Errorf("%q: %s: %w", key, what, ErrName) }
	base, ok := strings.CutSuffix(base, ".parquet")
	if !ok {
		return bad("does not end in .parquet")
	}
	parts := strings.Split(base, "-")
	n := Name{Hive: hive}
	if digits, ok := strings.CutPrefix(parts[0], "g"); ok {
		g, err := parseDigits(digits, 4)
		if err != nil || g == 0 {
			return bad("generation")
		}
		n.Generation, parts = int(g), parts[1:]
	}
	if len(parts) < 3 {
		return bad("has too few parts")
	}
	id, err := parseDigits(parts[0], 5)
	if err != nil {
		return bad("partition")
	}
	n.ID = int32(id)
	if n.Start, err = parseDigits(parts[1], 20); err != nil {
		return bad("start")
	}
	if n.Next, err = parseDigits(parts[2], 20); err != nil {
		return bad("next")
	}
	if err := n.parseTail(parts[3:]); err != nil {
		return bad(err.Error())
	}
	if err := errors.Join(n.Validate(), store.CheckKey(key)); err != nil {
		return bad(err.Error())
	}
	return n, nil
}

// parseTail reads the parts that names have only when they need them.
func (n *Name) parseTail(parts []string) error {
	if len(parts) > 0 && strings.HasPrefix(parts[0], "a") && !isRandom(parts[0]) {
		digits := parts[0][1:]
		a, err := strconv.ParseInt(digits, 10, 31)
		if err != nil || a < 1 || digits[0] == '0' || digits[0] == '+' {
			return errors.New("attempt")
		}
		n.Attempt, parts = int(a), parts[1:]
	}
	if len(parts) > 0 {
		if !isRandom(parts[0]) {
			return errors.New("random part")
		}
		n.Random, parts = parts[0], parts[1:]
	}
	if len(parts) > 0 {
		return errors.New("has too many parts")
	}
	return nil
}

// parseDigits reads a number of exactly width decimal digits.
func parseDigits(s string, width int) (int64, error) {
	if len(s) != width || strings.Trim(s, "0123456789") != "" {
		return 0, ErrName
	}
	return strconv.ParseInt(s, 10, 64)
}

func isRandom(s string) bool {
	return len(s) == 16 && strings.Trim(s, "0123456789abcdef") == ""
}

// hiveValue are the characters of an escaped value. Upper case letters are
// escaped too (and stand in the escapes), so that values which differ in case
// only do not meet on a file system that folds it.
const hiveValue = "abcdefghijklmnopqrstuvwxyz0123456789._-+:%ABCDEF"

// validateHive checks that each directory is key=value and needs no escape.
func validateHive(hive string) error {
	if hive == "" {
		return nil
	}
	if err := store.CheckKey(hive); err != nil {
		return fmt.Errorf("%w: %w", err, ErrName)
	}
	for dir := range strings.SplitSeq(hive, "/") {
		k, v, ok := strings.Cut(dir, "=")
		if !ok || k == "" || v == "" || strings.ContainsAny(k, "%. ") || strings.Trim(v, hiveValue) != "" {
			return fmt.Errorf("directory %q is not key=value in escaped form: %w", dir, ErrName)
		}
	}
	return nil
}
