package manifest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lakeweir/lakeweir/store"
)

// ParseSchemaKey returns the version that the key of a schema object names.
func ParseSchemaKey(key string) (int, error) {
	rest, ok := strings.CutPrefix(key, "schema/")
	digits, ok2 := strings.CutSuffix(rest, ".json")
	version, err := parseDigits(digits, 10)
	if !ok || !ok2 || err != nil || version < 1 {
		return 0, fmt.Errorf("%q is not the key of a schema: %w", key, ErrName)
	}
	return int(version), nil
}

// EncodeSchema returns the object that SchemaKey names, which must be valid.
func EncodeSchema(s Schema) ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// DecodeSchema reads a schema object. It returns ErrFormat for one of another
// major format, else ErrDamage for one that is not valid. Members that it does
// not know are passed over: the object is never written again.
func DecodeSchema(body []byte) (Schema, error) {
	if err := checkFormat(body); err != nil {
		return Schema{}, fmt.Errorf("decode schema: %w", err)
	}
	var s Schema
	if err := json.Unmarshal(body, &s); err != nil {
		return Schema{}, fmt.Errorf("%w: decode schema: %w", ErrDamage, err)
	}
	if err := s.Validate(); err != nil {
		return Schema{}, fmt.Errorf("%w: %w", ErrDamage, err)
	}
	return s, nil
}

// SameContent reports whether files of a and b look the same but for field
// ids. Versions do not count.
func SameContent(a, b Schema) bool {
	plain := func(s Schema) []byte {
		s = s.clone()
		s.Version = 0
		number(s.Columns, func(Column, string) int { return 0 }, "")
		body, _ := json.Marshal(s) // of strings and numbers: it cannot fail
		return body
	}
	return bytes.Equal(plain(a), plain(b))
}

// ReadSchema returns a version of the schema of the table whose root s is.
func ReadSchema(ctx context.Context, s store.Store, version int) (Schema, error) {
	key := SchemaKey(version)
	o, err := s.Get(ctx, key, store.Span{})
	if err != nil {
		return Schema{}, fmt.Errorf("read schema: %w", err)
	}
	sc, err := DecodeSchema(o.Body)
	if err != nil {
		return Schema{}, fmt.Errorf("%s: %w", key, err)
	}
	if sc.Version != version {
		return Schema{}, fmt.Errorf("%w: %s says that it is version %d", ErrDamage, key, sc.Version)
	}
	return sc, nil
}

// schemaTries bounds how often EnsureSchema loses a race, or does not learn
// what became of a write, before it gives up.
const schemaTries = 50

// EnsureSchema returns the newest schema of a table that has the content of
// want, and creates it as the next version if there is none. Field ids go on
// from the earlier versions. Any number of processes may call it at once: a
// version is created once, and they end with equal schemas.
func EnsureSchema(ctx context.Context, s store.Store, want Schema) (Schema, error) {
	var last error
	for range schemaTries {
		prev, err := readSchemas(ctx, s)
		if err != nil {
			return Schema{}, err
		}
		want.Version = 1
		for _, p := range prev {
			want.Version = p.Version + 1
		}
		for i := len(prev) - 1; i >= 0; i-- {
			if SameContent(prev[i], want) {
				return prev[i], nil
			}
		}
		next := want.Inherit(prev)
		body, err := EncodeSchema(next)
		if err != nil {
			return Schema{}, err
		}
		if _, err = s.Put(ctx, SchemaKey(next.Version), body, store.IfAbsent()); err == nil {
			return next, nil
		}
		if ctx.Err() != nil {
			return Schema{}, fmt.Errorf("create schema: %w", context.Cause(ctx))
		}
		// Someone else was first, or the answer was lost: what is there now
		// tells.
		last = err
		if !errors.Is(err, store.ErrConflict) {
			if _, err := s.Stat(ctx, SchemaKey(next.Version)); errors.Is(err, store.ErrNotExist) {
				return Schema{}, fmt.Errorf("create schema: %w", last)
			}
		}
	}
	return Schema{}, fmt.Errorf("create schema: gave up after %d tries: %w", schemaTries, last)
}

// readSchemas returns all versions, oldest first.
func readSchemas(ctx context.Context, s store.Store) ([]Schema, error) {
	var all []Schema
	for info, err := range s.List(ctx, "schema/", "") {
		if err != nil {
			return nil, fmt.Errorf("list schemas: %w", err)
		}
		version, err := ParseSchemaKey(info.Key)
		if err != nil {
			continue // not ours, and no schema can be created under its key
		}
		sc, err := ReadSchema(ctx, s, version)
		if err != nil {
			return nil, err
		}
		all = append(all, sc)
	}
	return all, nil
}
