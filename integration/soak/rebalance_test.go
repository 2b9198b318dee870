package soak

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/lakeweir/lakeweir/integration/realkafka"
)

const (
	rebalances   = 50
	betweenThem  = 300 * time.Millisecond
	slowRequests = 200 * time.Millisecond
	quickRequest = 20 * time.Millisecond
)

// A third member of the group comes and goes every 300 ms, which takes
// partitions from the two processes and gives them back, under load. Every row is
// there once, the rows of each file are in the order of the log, and what the
// broker is told never goes back (B12).
func TestRebalancesUnderLoad(t *testing.T) {
	t.Parallel()
	// A commit is several requests, so most are cut short by the next rebalance.
	t.Run("slow store", func(t *testing.T) {
		t.Parallel()
		rebalanced(t, "rebalances-slow", slowRequests)
	})
	// Commits get through between rebalances, and offsets are committed in all of
	// the generations.
	t.Run("quick store", func(t *testing.T) {
		t.Parallel()
		if rebalanced(t, "rebalances-quick", quickRequest) == 0 {
			t.Error("nothing was published between rebalances")
		}
	})
}

// rebalanced returns how many rows were published between the rebalances.
func rebalanced(t *testing.T, topic string, pause time.Duration) (during int64) {
	broker, w, tb := realkafka.Shared(t), newWire(t, nil), newTable(t, topic)
	broker.CreateTopic(t, topic, loadedParts, nil)
	config := setup{
		brokers: broker.Addr(), store: w.addr(), bucket: tb.bucket, topics: []string{topic}, group: topic,
		more: "batch: {max_age: 500ms, max_rows: 1000}\nsession_timeout: 2s\nheartbeat_interval: 100ms",
	}.write(t)
	procs := []*proc{launch(t, config), launch(t, config)}
	stop := load(t, broker, topic, loadedParts)
	moved(t, tb, nexts(t, tb, []int32{0, 1, 2, 3}))
	w.set(func(w *wire) { w.pause = pause })

	look, watched := newLookout(t, broker, tb), make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { look.run(t, watched) })
	before, begin, given := tb.next(t, loadedParts), time.Now(), 0
	guest := newGuest(t, broker, topic)
	for range rebalances / 2 {
		given += guest.join(t)
		time.Sleep(betweenThem)
		guest.leave(t)
		time.Sleep(betweenThem)
	}
	took := time.Since(begin)
	during = tb.next(t, loadedParts) - before
	if given < rebalances/2 {
		t.Errorf("the guest was given %d partitions in all", given)
	}
	w.set(func(w *wire) { w.pause = 0 })
	sent := stop()
	finish(t, tb, config, sent, procs...)
	close(watched)
	watch.Wait()
	t.Logf("%d rebalances in %.0f s took %d partitions away; %d rows published meanwhile, %d in all; %d samples of offsets", rebalances, took.Seconds(), given, during, sent, look.samples)
	return during
}

// guest is a member of a group that takes partitions and reads nothing.
type guest struct {
	client        *kgo.Client
	group, member string
}

func newGuest(t *testing.T, broker *realkafka.Broker, group string) *guest {
	t.Helper()
	return &guest{client: broker.Client(t, kgo.MaxVersions(kversion.V1_0_0())), group: group}
}

// join joins the group and returns how many partitions it was given.
func (g *guest) join(t *testing.T) (partitions int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis, join.ProtocolType = g.group, 10_000, 10_000, "consumer"
	// The strategy of the command; version 1, one topic, no user data.
	meta := []byte{0, 1, 0, 0, 0, 1, 0, byte(len(g.group))}
	meta = append(append(meta, g.group...), 0, 0, 0, 0)
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "lakeweir-sticky-1", Metadata: meta}}
	joined, err := join.RequestWith(ctx, g.client)
	if err != nil || joined.ErrorCode != 0 || joined.LeaderID == joined.MemberID {
		t.Fatalf("join: %v, %+v", err, joined)
	}
	g.member = joined.MemberID
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.Generation, sync.MemberID = g.group, joined.Generation, g.member
	synced, err := sync.RequestWith(ctx, g.client)
	if err != nil || synced.ErrorCode != 0 {
		t.Fatalf("sync: %v, %+v", err, synced)
	}
	var a kmsg.ConsumerMemberAssignment
	if len(synced.MemberAssignment) > 0 {
		if err := a.ReadFrom(synced.MemberAssignment); err != nil {
			t.Fatal(err)
		}
	}
	for _, topic := range a.Topics {
		partitions += len(topic.Partitions)
	}
	return partitions
}

// leave leaves the group.
func (g *guest) leave(t *testing.T) {
	t.Helper()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = g.group, g.member
	if res, err := req.RequestWith(t.Context(), g.client); err != nil || res.ErrorCode != 0 {
		t.Fatalf("leave: %v, %+v", err, res)
	}
}
