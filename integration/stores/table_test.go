package stores_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/integration/gateway"
	"github.com/lakeweir/lakeweir/internal/tabletest"
	"github.com/lakeweir/lakeweir/internal/wirefault"
	"github.com/lakeweir/lakeweir/store"
)

// patience is how long a call may take when some stall; the gateway needs some
// milliseconds.
const patience = time.Second

// records is the length of a log. Each three commits of it meet some ten faults.
const records = 150

// The real writer on a real server, with both SDKs, where three of ten requests
// meet a fault of any kind: every row once, every file as it was recorded
// (B07, B42).
func TestTableOnABadStore(t *testing.T) {
	for seed := range uint64(3) {
		each(t, func(t *testing.T, open func(*testing.T, place) store.Store) {
			t.Parallel()
			b := bucket(t)
			bad := &wirefault.Transport{Pick: wirefault.Seeded(seed, 0.3, wirefault.Kinds...)}
			s := open(t, place{bucket: b, secret: gateway.SecretKey, transport: bad, timeout: patience})
			if err := tabletest.Write(t.Context(), s, &tabletest.Log{N: records, Wide: 1}); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			bad.Wait()
			met := 0
			for _, n := range bad.Met() {
				met += n
			}
			t.Logf("seed %d: %d requests met %d faults: %v", seed, bad.Requests(), met, bad.Met())
			if met < 10 {
				t.Errorf("seed %d: %d faults", seed, met)
			}
			plain := open(t, place{bucket: b, secret: gateway.SecretKey})
			tabletest.Whole(t, plain, records)
			if n := bad.Method(http.MethodPost); n > 0 {
				t.Errorf("%d POST requests: an upload in parts", n) // (B44)
			}
		})
	}
}
