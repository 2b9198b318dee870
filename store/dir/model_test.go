package dir

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// listing returns the keys of a list, and its error.
func listing(t *testing.T, s store.Store, prefix, after string) ([]string, error) {
	t.Helper()
	var keys []string
	for i, err := range s.List(t.Context(), prefix, after) {
		if err != nil {
			return keys, err
		}
		keys = append(keys, i.Key)
	}
	return keys, nil
}

// letters are those around "/" in the order of bytes, where walking folder by
// folder goes wrong, and some that take more than one.
var letters = []string{"a", "b", "A", "-", ".x", "0", " ", "!", "~", "%2F", "=", "é", "東", "\u00a0"}

func randomKey(r *rand.Rand) string {
	var segments []string
	for range 1 + r.IntN(3) {
		segment := ""
		for range 1 + r.IntN(2) {
			segment += letters[r.IntN(len(letters))]
		}
		segments = append(segments, segment)
	}
	return strings.Join(segments, "/")
}

// Keys with odd names are listed as a store in memory lists them: in the order
// of their bytes, whatever folders they lie in, under any prefix and after any
// key.
func TestListModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	s, model := open(t, t.TempDir()), &memory.Store{}
	var keys []string
	for range 60 {
		key := randomKey(r)
		if _, err := s.Put(t.Context(), key, []byte(key), store.IfAbsent()); err != nil {
			continue // there already, or a folder of another
		}
		if _, err := model.Put(t.Context(), key, []byte(key), store.IfAbsent()); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if len(keys) < 10 {
		t.Fatalf("only %d keys were written", len(keys))
	}
	for range 300 {
		prefix, after := "", ""
		if key := keys[r.IntN(len(keys))]; r.IntN(3) > 0 {
			prefix = key[:r.IntN(len(key)+1)] // also within a letter
		}
		switch r.IntN(3) {
		case 0:
			after = keys[r.IntN(len(keys))]
		case 1:
			after = randomKey(r)
		}
		got, err := listing(t, s, prefix, after)
		want, _ := listing(t, model, prefix, after)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("list %q after %q: got %q, err %v, want %q", prefix, after, got, err, want)
		}
	}
}

// Whatever one process does, another that has the directory open sees, and the
// two never disagree with a store in memory about what a condition meets.
func TestModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	root, model := t.TempDir(), &memory.Store{}
	stores := []*Store{open(t, root), open(t, root)}
	stores[1].named = true
	keys := []string{"a", "d/b", "d/e/c", "d/e/f"}
	etags := map[string][2]string{} // of the directory and of the model, at a read
	for range 400 {
		s, key := stores[r.IntN(2)], keys[r.IntN(len(keys))]
		a, b := store.IfAbsent(), store.IfAbsent()
		switch r.IntN(4) {
		case 0:
			a, b = store.IfMatch(etags[key][0]), store.IfMatch(etags[key][1])
		case 1:
			a, b = store.Blind(), store.Blind()
		case 2:
			if err := errors.Join(s.Delete(t.Context(), key), model.Delete(t.Context(), key)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		body := []byte{byte(r.IntN(3))} // so that an old ETag comes back
		_, errA := s.Put(t.Context(), key, body, a)
		_, errB := model.Put(t.Context(), key, body, b)
		if errors.Is(errA, store.ErrConflict) != errors.Is(errB, store.ErrConflict) || errors.Is(errB, store.ErrConflict) == (errA == nil) {
			t.Fatalf("put %s: err %v, want %v", key, errA, errB)
		}
		gotA, errA := stores[r.IntN(2)].Get(t.Context(), key, store.Span{})
		gotB, errB := model.Get(t.Context(), key, store.Span{})
		if (errA == nil) != (errB == nil) || string(gotA.Body) != string(gotB.Body) {
			t.Fatalf("get %s: %q, err %v, want %q, %v", key, gotA.Body, errA, gotB.Body, errB)
		}
		if r.IntN(2) == 0 {
			etags[key] = [2]string{gotA.ETag, gotB.ETag}
		}
	}
}
