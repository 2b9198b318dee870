package sink

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lakeweir/lakeweir/internal/settings"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/memory"
)

// good returns settings that are enough.
func good() *settings.Settings {
	s := settings.New()
	s.Brokers, s.Store = []string{"127.0.0.1:1"}, "dir:not-used"
	s.Topics = []settings.Topic{{Name: "quakes"}, {Name: "orders"}}
	return s
}

// logOf is a log that holds [10,20), and 15 is the first offset of a time.
type logOf struct {
	err  error
	late bool
}

func (l logOf) Late() bool { return l.late }

func (l logOf) Bounds(context.Context) (start, end int64, err error) { return 10, 20, l.err }

func (l logOf) OffsetFor(context.Context, time.Time) (int64, error) { return 15, l.err }

func TestStartAt(t *testing.T) {
	f := func(text string, want int64, fails string) {
		t.Helper()
		at, err := settings.ParseStart(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := startAt(at, logOf{})(t.Context())
		if fails == "" && (err != nil || got != want) || fails != "" && (err == nil || !strings.Contains(err.Error(), fails)) {
			t.Errorf("%s: got %d, %v, want %d, %q", text, got, err, want, fails)
		}
		if _, err := startAt(at, logOf{err: os.ErrDeadlineExceeded})(t.Context()); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: a log that cannot be asked: %v", text, err)
		}
		// A partition that came later is read from its start, whatever was asked for.
		if got, err := startAt(at, logOf{late: true})(t.Context()); err != nil || got != 10 {
			t.Errorf("%s: a late partition begins at %d, %v", text, got, err)
		}
	}
	f("earliest", 10, "")
	f("latest", 20, "")
	f("2026-01-31", 15, "")
	f("10", 10, "")
	f("20", 20, "")
	// Never a silent jump.
	f("9", 0, "offset 9 is not in the log, which holds [10,20)")
	f("21", 0, "offset 21 is not in the log")
}

// The probe is made once, whoever asks, unless the one who asked first was
// stopped in it.
func TestProbedOnce(t *testing.T) {
	calls := 0
	bad := errors.New("bad")
	probed := once(func(ctx context.Context) error { calls++; return errors.Join(ctx.Err(), bad) })
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := probed(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := probed(t.Context()); !errors.Is(err, bad) || errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
	if calls != 2 {
		t.Errorf("%d calls, want 2", calls)
	}
	if err := once(nil)(t.Context()); err != nil {
		t.Errorf("no probe: %v", err)
	}
}

func TestOutcome(t *testing.T) {
	fenced := fmt.Errorf("quakes/1: %w", manifest.ErrFenced)
	broken := errors.New("quakes/2: broken")
	f := func(drained bool, cause, err error, ended []error, want string) {
		t.Helper()
		s := &Sink{drained: drained, ended: map[place]error{}}
		for i, err := range ended {
			s.ended[place{"quakes", int32(i)}] = err
		}
		got := s.outcome(cause, err)
		if want == "" && got != nil || want != "" && (got == nil || !strings.Contains(got.Error(), want)) {
			t.Errorf("%v: got %v, want %q", ended, got, want)
		}
		all := len(ended) > 0
		for _, err := range ended {
			all = all && errors.Is(err, manifest.ErrFenced)
		}
		if errors.Is(got, manifest.ErrFenced) != (all && cause == nil) {
			t.Errorf("%v: %v is fenced: %v", ended, got, errors.Is(got, manifest.ErrFenced))
		}
	}
	// All is published.
	f(false, nil, nil, []error{nil, nil}, "")
	// The start failed.
	f(false, nil, broken, nil, "broken")
	// Every partition is another's, or only one of them.
	f(false, nil, fenced, []error{fenced, fenced}, "every partition of this process is written by another one")
	f(false, nil, fenced, []error{nil, fenced}, "1 of 2 partitions are written by another process")
	// One failed, several did.
	f(false, nil, broken, []error{nil, broken, fenced}, "quakes/2: broken")
	f(false, nil, broken, []error{broken, nil, broken, broken}, "quakes/2: broken (and 2 more partitions failed)")
	// A drain is through; a fence does not spoil it, a failure does.
	f(true, errDrained, nil, []error{nil, nil}, "")
	f(true, nil, fenced, []error{nil, fenced}, "")
	f(true, errDrained, nil, []error{nil, broken}, "broken")
	// Stopped.
	f(true, context.Canceled, nil, []error{nil}, "nothing is lost")
	// The probe ended it.
	f(false, store.ErrUnsafe, nil, []error{nil}, "not safe for several writers")
}

func TestNew(t *testing.T) {
	f := func(change func(*settings.Settings), want string) {
		t.Helper()
		set := good()
		change(set)
		_, err := New(Config{Settings: set, Store: &memory.Store{}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	pem := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(pem, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	f(func(*settings.Settings) {}, "")
	f(func(s *settings.Settings) { s.Topics = nil }, "no topics")
	f(func(s *settings.Settings) { s.TLS.CA = pem }, "holds no certificate in PEM form")
	f(func(s *settings.Settings) { s.TLS.CA = "/nowhere.pem" }, "tls.ca: ")
	f(func(s *settings.Settings) { s.TLS.Cert, s.TLS.Key = pem, pem }, "tls.cert and tls.key: ")
}

// Fetches that are under way to some brokers leave memory for batches, however
// little there is, and one is never so small that it costs more than it brings.
func TestFetchesLeaveMemory(t *testing.T) {
	for _, memory := range []int64{64 << 20, 512 << 20, 64 << 30} {
		set := good()
		set.Memory = memory
		s, err := New(Config{Settings: set, Store: nil})
		if err != nil {
			t.Fatal(err)
		}
		if n := int64(s.source.FetchBytes); n < 1<<20 || n > 8<<20 || 10*n > memory/rawShare {
			t.Errorf("memory %d: one fetch takes %d", memory, n)
		}
	}
}

func TestSource(t *testing.T) {
	set := good()
	set.Group, set.Isolation = "g", settings.ReadUncommitted
	set.TLS.ServerName = "kafka"
	set.SASL = settings.SASL{Mechanism: "plain", User: "u", Password: "p"}
	c, err := Source(set)
	if err != nil {
		t.Fatal(err)
	}
	if c.Group != "g" || !c.ReadUncommitted || len(c.Topics) != 2 || c.SASL.Password != "p" {
		t.Errorf("%+v", c)
	}
	if c.MetadataInterval <= 0 || c.MetadataInterval > 10*time.Second {
		t.Errorf("new partitions are looked for every %v, want at least every 10 s", c.MetadataInterval)
	}
	if c.TLS == nil || c.TLS.ServerName != "kafka" || c.TLS.InsecureSkipVerify {
		t.Errorf("TLS %+v", c.TLS)
	}
}

func TestOpenStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	set := good()
	set.Store = "dir:" + dir
	// Who reads makes nothing.
	if _, err := OpenExisting(t.Context(), set); err == nil || !strings.Contains(err.Error(), "there is no such directory") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory was made")
	}
	if err := CreateBucket(t.Context(), set); err != nil {
		t.Error(err)
	}
	set.SingleWriter = true
	s, err := OpenStore(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "a", nil, store.IfAbsent()); err != nil {
		t.Error(err)
	}
	if _, err := OpenExisting(t.Context(), set); err != nil {
		t.Error(err)
	}
	// A file is no directory.
	set.Store = "dir:" + filepath.Join(dir, "a")
	if _, err := OpenExisting(t.Context(), set); err == nil {
		t.Error("a file was opened as a store")
	}
	// The others ask nobody when they are opened.
	set.S3.Region, set.S3.AccessKey, set.S3.SecretKey = "eu-north-1", "a", "b"
	for _, at := range []string{"s3://lake/raw", "minio://127.0.0.1:1/lake", "minios://127.0.0.1:1/lake"} {
		set.Store = at
		if _, err := OpenStore(t.Context(), set); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
	set.Store = "ftp://lake"
	for _, open := range []func(context.Context, *settings.Settings) (store.Store, error){OpenStore, OpenExisting} {
		if _, err := open(t.Context(), set); err == nil {
			t.Error("ftp was opened")
		}
	}
	if err := CreateBucket(t.Context(), set); err == nil {
		t.Error("a bucket was made by ftp")
	}
}

// Heads are read before anything else: one that must not be touched ends the
// start, unless the partition is not for this process.
func TestCheckHeads(t *testing.T) {
	mem := &memory.Store{}
	if _, err := mem.Put(t.Context(), "orders/manifest/00003.json", []byte(`{"format":"9.0"}`), store.IfAbsent()); err != nil {
		t.Fatal(err)
	}
	set := good()
	s, err := New(Config{Settings: set, Store: mem})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); !errors.Is(err, manifest.ErrFormat) || !strings.Contains(err.Error(), `table "orders"`) {
		t.Errorf("got %v", err)
	}
	set.Partitions = map[string][]int32{"orders": {2}, "quakes": {0}}
	if err := s.checkHeads(t.Context()); err != nil {
		t.Errorf("another's partition: %v", err)
	}
}

// A sink that is drained before it runs does nothing.
func TestDrainFirst(t *testing.T) {
	s, err := New(Config{Settings: good(), Store: &memory.Store{}})
	if err != nil {
		t.Fatal(err)
	}
	s.Drain()
	if err := s.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if f := s.Figures(); f != (Figures{}) {
		t.Errorf("%+v", f)
	}
}
