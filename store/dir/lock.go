package dir

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// shards is the number of locks that the keys share. It is part of the layout:
// processes that count otherwise do not exclude each other.
const shards = 64

// A lock is held for well under a millisecond, so whoever waits looks often at
// first, and gives up when the holder must have been stopped.
const (
	firstLook = 200 * time.Microsecond
	longLook  = 20 * time.Millisecond
	patience  = 30 * time.Second
)

// locks excludes writers of one key: those of this Store by a channel, those of
// others by a lock on a file.
type locks struct {
	dir string
	mu  [shards]chan struct{}
}

func newLocks(dir string) locks {
	l := locks{dir: dir}
	for n := range l.mu {
		l.mu[n] = make(chan struct{}, 1)
	}
	return l
}

// lock waits for the lock of a key. The returned function gives it back.
func (l *locks) lock(ctx context.Context, key string) (unlock func(), err error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	shard := int(h.Sum32() % shards)
	select {
	case l.mu[shard] <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f, err := l.lockFile(ctx, filepath.Join(l.dir, strconv.Itoa(shard)))
	if err != nil {
		<-l.mu[shard]
		return nil, err
	}
	return func() {
		_ = f.Close() // which gives the lock back
		<-l.mu[shard]
	}, nil
}

func (l *locks) lockFile(ctx context.Context, name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := waitLock(ctx, f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return f, nil
}

// waitLock looks again and again: a wait inside flock could not be ended by the
// context, and a process that was stopped with the lock holds it for ever.
func waitLock(ctx context.Context, f *os.File) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience,
		fmt.Errorf("another process has it for %v: is one stopped?", patience))
	defer cancel()
	for wait := firstLook; ; wait = min(2*wait, longLook) {
		ok, err := tryLock(f)
		if ok || err != nil {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}
