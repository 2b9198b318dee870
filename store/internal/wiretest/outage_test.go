package wiretest_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/internal/tabletest"
	"github.com/lakeweir/lakeweir/internal/wirefault"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/internal/fakes3"
	"github.com/lakeweir/lakeweir/writer"
)

// metered counts the requests of each minute from begin on.
type metered struct {
	next  http.RoundTripper
	begin time.Time
	mu    sync.Mutex
	by    map[int]int
}

func (m *metered) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	if d := time.Since(m.begin); d >= 0 {
		m.by[int(d/time.Minute)]++
	}
	m.mu.Unlock()
	return m.next.RoundTrip(r)
}

// between is a fault that every request meets for a time.
func between(kind wirefault.Kind, from, to time.Duration) wirefault.Pick {
	begin := time.Now()
	return func(int, *http.Request) wirefault.Kind {
		if d := time.Since(begin); d >= from && d < to {
			return kind
		}
		return ""
	}
}

// published waits until a head has a next offset, and returns when that was.
func published(t *testing.T, objects store.Store, next int64) time.Time {
	t.Helper()
	for {
		h, err := manifest.Read(t.Context(), objects, 0)
		if err == nil && h.Next >= next {
			return time.Now()
		}
		time.Sleep(100 * time.Millisecond) // of a clock that costs nothing
	}
}

// A store that fails for ten minutes, in any way, is asked a bounded number of
// times: pauses grow to 5 to 10 s, and each try is a PUT and a look, each sent
// up to three times. Meanwhile nothing is published and the memory that was
// given is all that is read. When the store is back the writer goes on by
// itself, under the same claim, within two pauses (B42).
func TestOutage(t *testing.T) {
	const from, lasts = 10 * time.Second, 10 * time.Minute
	f := func(kind wirefault.Kind, perMinute int, back time.Duration) {
		t.Helper()
		each(t, func(t *testing.T, open func(context.Context, http.RoundTripper) (store.Store, error)) {
			srv := &fakes3.Server{}
			meter := &metered{begin: time.Now().Add(from), by: map[int]int{}, next: &wirefault.Transport{
				Next: fakes3.Inside{Server: srv}, Pick: between(kind, from, from+lasts),
			}}
			s, err := open(t.Context(), meter)
			if err != nil {
				t.Fatal(err)
			}
			budget := writer.NewBudget(64<<10, 0)
			log := &tabletest.Log{N: 1 << 40, Wide: 100, Room: budget, Pause: 100 * time.Millisecond}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- run(ctx, s, log, budget) }()
			time.Sleep(from + lasts/2)
			before, held := log.Handed(), budget.Used()
			h, err := manifest.Read(t.Context(), &srv.Objects, 0)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(lasts / 2)
			if n := log.Handed() - before; n != 0 || held > 64<<10 {
				t.Errorf("%s: %d records were read in the second half of the outage, %d bytes are held", kind, n, held)
			}
			now, err := manifest.Read(t.Context(), &srv.Objects, 0)
			if err != nil || now.Version != h.Version {
				t.Errorf("%s: the head changed meanwhile: %d, %d, err %v", kind, h.Version, now.Version, err)
			}
			took := published(t, &srv.Objects, h.Next+1).Sub(meter.begin) - lasts
			after, err := manifest.Read(t.Context(), &srv.Objects, 0)
			if err != nil || after.Epoch != h.Epoch || took > back {
				t.Errorf("%s: went on after %v, epoch %d, was %d, err %v", kind, took, after.Epoch, h.Epoch, err)
			}
			cancel()
			<-done
			worst := 0
			for minute := 1; minute < 10; minute++ { // without the first, in which the pauses grow
				worst = max(worst, meter.by[minute])
			}
			if first := meter.by[0]; worst > perMinute || first > perMinute+60 || worst == 0 {
				t.Errorf("%s: %d requests in the first minute, then up to %d, want %d", kind, first, worst, perMinute)
			}
			t.Logf("%s: %d requests in the first minute, then up to %d; back after %v", kind, meter.by[0], worst, took)
		})
	}
	// Twelve tries of six requests at the most.
	f(wirefault.SlowDown, 72, 12*time.Second)
	f(wirefault.Internal, 72, 12*time.Second)
	f(wirefault.LostAnswer, 72, 12*time.Second)
	f(wirefault.FalseOK, 72, 12*time.Second)
	// No SDK tries again what is forbidden; minio-go does.
	f(wirefault.Expired, 72, 12*time.Second)
	// A call that waits for its deadline is not sent again.
	f(wirefault.Stall, 4, 72*time.Second)
}

// run runs a writer of batches of 70 rows until ctx ends.
func run(ctx context.Context, s store.Store, log *tabletest.Log, budget *writer.Budget) error {
	c, err := tabletest.Config(s, log)
	if err != nil {
		return err
	}
	c.Once, c.Limits = false, writer.Limits{MaxRows: 70, MaxAge: time.Second}
	return writer.New(budget).Run(ctx, c)
}

// Reads are as bounded: a claim of a partition whose store is down, and a
// reader who is told.
func TestOutageOfReads(t *testing.T) {
	each(t, func(t *testing.T, open func(context.Context, http.RoundTripper) (store.Store, error)) {
		tr := &wirefault.Transport{Next: fakes3.Inside{Server: &fakes3.Server{}}, Pick: between(wirefault.SlowDown, 0, time.Hour)}
		s, err := open(t.Context(), tr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), "k", store.Span{}); err == nil || !strings.Contains(err.Error(), "busy") || tr.Requests() != 3 {
			t.Errorf("get: %d requests, err %v", tr.Requests(), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		begin := tr.Requests()
		if _, err := manifest.Claim(ctx, s, manifest.Claimant{Table: "t"}); err == nil {
			t.Error("claimed")
		}
		if n := tr.Requests() - begin; n > 60+10*36 || n < 60 {
			t.Errorf("a claim asked %d times in ten minutes", n)
		}
	})
}
