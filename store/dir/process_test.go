//go:build unix

package dir

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/lakeweir/lakeweir/store"
)

// The test binary runs itself as a child that does one of these jobs in root,
// once its standard input ends.
const (
	jobVar  = "LAKEWEIR_DIR_TEST_JOB"
	rootVar = "LAKEWEIR_DIR_TEST_ROOT"
)

var jobs = map[string]func(ctx context.Context, s *Store) error{
	"absent":  func(ctx context.Context, s *Store) error { return raceChild(ctx, s, store.IfAbsent()) },
	"match":   func(ctx context.Context, s *Store) error { return raceChild(ctx, s, store.IfMatch(baseETag)) },
	"counter": counterChild,
	"writer":  writerChild,
}

func TestMain(m *testing.M) {
	job, ok := jobs[os.Getenv(jobVar)]
	if !ok {
		os.Exit(m.Run())
	}
	ctx := context.Background()
	s, err := New(ctx, Config{Root: os.Getenv(rootVar)})
	if err == nil {
		_, _ = io.Copy(io.Discard, os.Stdin) // the barrier
		err = job(ctx, s)
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// process is a child.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Scanner
}

func start(t *testing.T, job, root string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), jobVar+"="+job, rootVar+"="+root)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{cmd, stdin, bufio.NewScanner(stdout)}
}

const (
	processes  = 4
	raceKeys   = 25
	goroutines = 8
)

// together runs a job in several processes at once and returns their lines.
func together(t *testing.T, job, root string) []string {
	t.Helper()
	children := make([]*process, processes)
	for n := range children {
		children[n] = start(t, job, root)
	}
	for _, p := range children {
		p.stdin.Close()
	}
	var lines []string
	for _, p := range children {
		for p.out.Scan() {
			lines = append(lines, p.out.Text())
		}
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("%s: %v: %v", job, err, lines)
		}
	}
	return lines
}

var baseETag = etag(sha256.Sum256([]byte("base")))

func raceKey(n int) string { return fmt.Sprintf("r/%02d", n) }

// raceChild lets goroutines put every key under cond and prints who won.
func raceChild(ctx context.Context, s *Store, cond store.Cond) error {
	for n := range raceKeys {
		var all sync.WaitGroup
		errs := make([]error, goroutines)
		for g := range errs {
			all.Go(func() {
				body := fmt.Sprintf("%d-%d-%d", os.Getpid(), n, g)
				_, err := s.Put(ctx, raceKey(n), []byte(body), cond)
				if err == nil {
					fmt.Println(raceKey(n), body)
				} else if !errors.Is(err, store.ErrConflict) {
					errs[g] = err
				}
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

// Of 4 processes with 8 goroutines each one wins each key, and its body is what
// stays.
func TestProcessesRace(t *testing.T) {
	for _, job := range []string{"absent", "match"} {
		s := open(t, t.TempDir())
		if job == "match" {
			for n := range raceKeys {
				put(t, s, raceKey(n), "base")
			}
		}
		won := map[string]string{}
		for _, line := range together(t, job, s.root) {
			key, body, _ := strings.Cut(line, " ")
			if won[key] != "" {
				t.Errorf("%s: %s was won by %s and %s", job, key, won[key], body)
			}
			won[key] = body
		}
		for n := range raceKeys {
			o, err := s.Get(t.Context(), raceKey(n), store.Span{})
			if err != nil || string(o.Body) != won[raceKey(n)] {
				t.Errorf("%s: %s holds %q, err %v, won by %q", job, raceKey(n), o.Body, err, won[raceKey(n)])
			}
		}
	}
}

const adds = 25

// counterChild adds to one object under IfMatch.
func counterChild(ctx context.Context, s *Store) error {
	for done := 0; done < adds; {
		o, err := s.Get(ctx, "n", store.Span{})
		if err != nil {
			return err
		}
		_, err = s.Put(ctx, "n", append(o.Body, '+'), store.IfMatch(o.ETag))
		switch {
		case err == nil:
			done++
		case !errors.Is(err, store.ErrConflict):
			return err
		}
	}
	return nil
}

// No addition of any process is lost.
func TestProcessesCount(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, "n", "")
	together(t, "counter", s.root)
	o, err := s.Get(t.Context(), "n", store.Span{})
	if err != nil || len(o.Body) != processes*adds {
		t.Errorf("%d additions, err %v, want %d", len(o.Body), err, processes*adds)
	}
}

// sealed is a body that says itself whether it is whole.
func sealed(n int) []byte {
	body := []byte(strings.Repeat(fmt.Sprint(n, " "), 20_000))
	sum := sha256.Sum256(body)
	return append(body, sum[:]...)
}

func whole(body []byte) bool {
	n := len(body) - sha256.Size
	return n >= 0 && sha256.Sum256(body[:n]) == [sha256.Size]byte(body[n:])
}

// writerChild writes for ever and says what is written.
func writerChild(ctx context.Context, s *Store) error {
	head, err := s.Put(ctx, "head", sealed(0), store.Blind())
	for n := 1; err == nil; n++ {
		key := fmt.Sprintf("data/%d/%d", n%3, n)
		if _, err = s.Put(ctx, key, sealed(n), store.IfAbsent()); err != nil {
			break
		}
		fmt.Println(key)
		head, err = s.Put(ctx, "head", sealed(n), store.IfMatch(head.ETag))
	}
	return err
}

// A process that is killed at any moment leaves whole objects only, all that it
// was told are written, and no lock.
func TestKilled(t *testing.T) {
	for lines := range 12 {
		s := open(t, t.TempDir())
		p := start(t, "writer", s.root)
		p.stdin.Close()
		var written []string
		for len(written) < lines && p.out.Scan() {
			written = append(written, p.out.Text())
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for p.out.Scan() {
			written = append(written, p.out.Text())
		}
		if err := p.cmd.Wait(); err == nil {
			t.Fatal("the child came to an end by itself")
		}
		checkKilled(t, s, written)
	}
}

func checkKilled(t *testing.T, s *Store, written []string) {
	t.Helper()
	for _, key := range written {
		if _, err := s.Stat(t.Context(), key); err != nil {
			t.Errorf("written and gone: %v", err)
		}
	}
	for i, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.Get(t.Context(), i.Key, store.Span{})
		if err != nil || !whole(o.Body) {
			t.Errorf("%s is torn: %d bytes, err %v", i.Key, len(o.Body), err)
		}
	}
	for n := range shards {
		f, err := s.locks.lockFile(t.Context(), fmt.Sprintf("%s/%d", s.locks.dir, n))
		if err != nil {
			t.Fatalf("a lock is left: %v", err)
		}
		f.Close()
	}
}
