package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// unknownFields are the members of a JSON object that this version does not
// know. A newer minor version wrote them; they are written back verbatim.
type unknownFields map[string]json.RawMessage

// decodeWith decodes data into known, a pointer to a struct, and returns the
// members that have no field there.
func decodeWith(data []byte, known any) (unknownFields, error) {
	if err := json.Unmarshal(data, known); err != nil {
		return nil, err
	}
	var all unknownFields
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	names := memberNames(reflect.TypeOf(known).Elem())
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return names[name] })
	for name := range all {
		for ours := range names {
			if strings.EqualFold(name, ours) { // encoding/json took it for ours
				return nil, fmt.Errorf("member %q differs from %q in case only", name, ours)
			}
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// encodeWith encodes known with the unknown members behind its own, sorted.
func encodeWith(known any, unknown unknownFields) ([]byte, error) {
	body, err := json.Marshal(known)
	if err != nil || len(unknown) == 0 {
		return body, err
	}
	body = body[:len(body)-1]
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		if len(body) > 1 {
			body = append(body, ',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		body = append(append(append(body, key...), ':'), unknown[name]...)
	}
	return append(body, '}'), nil
}

var memberCache sync.Map // reflect.Type -> map[string]bool

// memberNames returns the JSON names of the fields of a struct, embedded ones included.
func memberNames(t reflect.Type) map[string]bool {
	if names, ok := memberCache.Load(t); ok {
		return names.(map[string]bool)
	}
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" {
			names[name] = true
		}
	}
	memberCache.Store(t, names)
	return names
}
