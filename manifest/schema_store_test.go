package manifest

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/fault"
	"github.com/lakeweir/lakeweir/store/memory"
)

// wantSchema is a schema of one int32 column for each name.
func wantSchema(t *testing.T, columns ...string) Schema {
	t.Helper()
	var cols []Column
	for _, c := range columns {
		cols = append(cols, Column{Name: c, Type: Int32})
	}
	s, err := NewSchema(declared(cols...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseSchemaKey(t *testing.T) {
	f := func(key string, want int) {
		t.Helper()
		got, err := ParseSchemaKey(key)
		if got != want || (err == nil) != (want > 0) || err != nil && !errors.Is(err, ErrName) {
			t.Errorf("%q is version %d, %v", key, got, err)
		}
	}
	f(SchemaKey(1), 1)
	f(SchemaKey(1234567890), 1234567890)
	// Other widths, signs, folders and endings.
	f("schema/0000000000.json", 0)
	f("schema/1.json", 0)
	f("schema/+000000001.json", 0)
	f("schema/0000000001", 0)
	f("schemas/0000000001.json", 0)
}

func TestEnsureSchema(t *testing.T) {
	s := &memory.Store{}
	f := func(want Schema, version int, ids ...int) {
		t.Helper()
		got, err := EnsureSchema(t.Context(), s, want)
		if err != nil {
			t.Fatal(err)
		}
		var have []int
		for _, c := range got.Columns[:len(ids)] {
			have = append(have, c.ID)
		}
		if got.Version != version || !reflect.DeepEqual(have, ids) {
			t.Errorf("version %d with ids %v, want %d with %v", got.Version, have, version, ids)
		}
		stored, err := ReadSchema(t.Context(), s, version)
		if err != nil || !reflect.DeepEqual(stored, got) {
			t.Errorf("stored is %+v, %v\nwant %+v", stored, err, got)
		}
	}
	f(wantSchema(t, "a"), 1, 1)
	// The same again, whatever version it thinks it is.
	again := wantSchema(t, "a")
	again.Version = 9
	f(again, 1, 1)
	// A new column has a new id.
	f(wantSchema(t, "b", "a"), 2, 8, 1)
	// An earlier content is found again.
	f(wantSchema(t, "a"), 1, 1)
}

// Many processes at once end with one object and the same schema.
func TestEnsureSchemaRace(t *testing.T) {
	s := &memory.Store{}
	if _, err := EnsureSchema(t.Context(), s, wantSchema(t, "old")); err != nil {
		t.Fatal(err)
	}
	var all [16]Schema
	var wg sync.WaitGroup
	for i := range all {
		want := wantSchema(t, []string{"a", "b"}[i%2])
		wg.Go(func() {
			got, err := EnsureSchema(t.Context(), s, want)
			if err != nil {
				t.Error(err)
			}
			all[i] = got
		})
	}
	wg.Wait()
	for i := range all {
		if !reflect.DeepEqual(all[i], all[i%2]) {
			t.Errorf("schema %d is %+v\nwant %+v", i, all[i], all[i%2])
		}
	}
	schemas, err := readSchemas(t.Context(), s)
	if err != nil || len(schemas) != 3 {
		t.Errorf("%d schemas, %v; want the old one and two", len(schemas), err)
	}
	if a, b := all[0].Columns[0].ID, all[1].Columns[0].ID; a == b {
		t.Errorf("two columns have the id %d", a)
	}
}

// isPut finds the writes of a schema.
func isPut(c fault.Call) bool { return c.Op == fault.Put }

func TestEnsureSchemaUnknownOutcome(t *testing.T) {
	f := func(name string, a fault.Action, wantErr bool) {
		t.Run(name, func(t *testing.T) {
			inner := &memory.Store{}
			hit := false
			s := fault.Wrap(inner, func(_ context.Context, c fault.Call) fault.Action {
				if hit || !isPut(c) {
					return fault.Action{}
				}
				hit = true
				return a
			})
			got, err := EnsureSchema(t.Context(), s, wantSchema(t, "a"))
			if !hit {
				t.Fatal("no write was seen")
			}
			if wantErr != (err != nil) {
				t.Fatalf("error %v", err)
			}
			if err == nil && got.Version != 1 {
				t.Errorf("version %d", got.Version)
			}
		})
	}
	// Written, but the answer is lost: it is found by reading.
	f("lost answer", fault.Lost(), false)
	// Not written: the error says why.
	f("failed", fault.Fail(errors.New("disk full")), true)
}

// A store in which a race is always lost ends with an error, not in a loop.
func TestEnsureSchemaGivesUp(t *testing.T) {
	s := fault.Wrap(&memory.Store{}, func(_ context.Context, c fault.Call) fault.Action {
		if isPut(c) {
			return fault.Fail(store.ErrConflict)
		}
		return fault.Action{}
	})
	if _, err := EnsureSchema(t.Context(), s, wantSchema(t, "a")); !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "gave up") {
		t.Errorf("error %v", err)
	}
}

func TestReadSchemaErrors(t *testing.T) {
	s := &memory.Store{}
	put := func(key, body string) {
		t.Helper()
		if _, err := s.Put(t.Context(), key, []byte(body), store.Blind()); err != nil {
			t.Fatal(err)
		}
	}
	f := func(version int, want error) {
		t.Helper()
		if _, err := ReadSchema(t.Context(), s, version); !errors.Is(err, want) || !strings.Contains(err.Error(), SchemaKey(version)) {
			t.Errorf("version %d: error %v, want %v", version, err, want)
		}
	}
	f(1, store.ErrNotExist)
	put(SchemaKey(2), `{"format":"2.0"}`)
	f(2, ErrFormat)
	put(SchemaKey(3), `{"format":"1.0"}`)
	f(3, ErrDamage)
	// An object under the key of another.
	body, err := EncodeSchema(wantSchema(t, "a"))
	if err != nil {
		t.Fatal(err)
	}
	put(SchemaKey(4), string(body))
	f(4, ErrDamage)
	// Nothing is created beside an object that is not understood.
	if _, err := EnsureSchema(t.Context(), s, wantSchema(t, "a")); !errors.Is(err, ErrFormat) {
		t.Errorf("error %v, want %v", err, ErrFormat)
	}
}

// Objects with other names are passed over.
func TestEnsureSchemaBesideOtherObjects(t *testing.T) {
	s := &memory.Store{}
	for _, key := range []string{"schema/.DS_Store", "schema/9.json", "schema/0000000009.json.bak"} {
		if _, err := s.Put(t.Context(), key, []byte("x"), store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := EnsureSchema(t.Context(), s, wantSchema(t, "a")); err != nil || got.Version != 1 {
		t.Errorf("version %d, %v", got.Version, err)
	}
}
