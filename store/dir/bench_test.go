package dir

import (
	"fmt"
	"testing"

	"github.com/lakeweir/lakeweir/store"
)

// BenchmarkPut is the price of a durable write of 4 KiB.
func BenchmarkPut(b *testing.B) {
	f := func(name string, cond func(n int, last store.Info) (string, store.Cond)) {
		b.Run(name, func(b *testing.B) {
			s, err := New(b.Context(), Config{Root: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			last, err := s.Put(b.Context(), "head", nil, store.Blind())
			if err != nil {
				b.Fatal(err)
			}
			body := make([]byte, 4096)
			for n := 0; b.Loop(); n++ {
				copy(body, fmt.Sprint(n))
				key, cond := cond(n, last)
				if last, err = s.Put(b.Context(), key, body, cond); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	f("IfAbsent", func(n int, _ store.Info) (string, store.Cond) { return fmt.Sprintf("data/%d", n), store.IfAbsent() })
	f("IfMatch", func(_ int, last store.Info) (string, store.Cond) { return "head", store.IfMatch(last.ETag) })
	f("Blind", func(int, store.Info) (string, store.Cond) { return "head", store.Blind() })
}
