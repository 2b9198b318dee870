package writer

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/lakeweir/lakeweir/internal/backoff"
	"github.com/lakeweir/lakeweir/manifest"
)

// DeadReader is an Encoder that reads back the dead-letter files that it made,
// in the order of offsets. Config.Rejected and Config.MaxDead need one; the
// Encoder for Parquet is.
type DeadReader interface {
	ReadDead(body []byte) iter.Seq2[manifest.DeadLetter, error]
}

// ErrTooManyDead: more of the last records are dead letters than Config.MaxDead
// tolerates.
var ErrTooManyDead = errors.New("too many dead letters")

// deadReader returns the encoder as one that reads dead letters, which nobody
// asks for when they are not wanted.
func (s *session) deadReader() (DeadReader, error) {
	d, ok := s.encoder.(DeadReader)
	if !ok && (s.Rejected != nil || s.MaxDead > 0) {
		return nil, errors.New("writer: Rejected and MaxDead need an Encoder that is a DeadReader")
	}
	return d, nil
}

// reject hands on the dead letters of a range whose files are written, before
// it is published: who publishes first and dies then has lost them.
func (s *session) reject(ctx context.Context, dead []manifest.File, bodies map[string][]byte) error {
	if s.Rejected == nil {
		return nil
	}
	for _, f := range dead {
		if err := s.handOn(ctx, f.Key, bodies[f.Key]); err != nil {
			return err
		}
	}
	return nil
}

// handOn hands on the dead letters of a file until all are out.
func (s *session) handOn(ctx context.Context, key string, body []byte) error {
	try := s.stats.try("dead letters are not published to their topic", 1)
	defer try.over()
	var pause backoff.Pause
	for done := int64(0); ; {
		var damage error
		n, err := s.Rejected(ctx, key, s.letters(body, done, &damage))
		if err == nil {
			return nil
		}
		if damage != nil {
			return fmt.Errorf("%s: %w", key, damage)
		}
		if done += n; n > 0 {
			pause = backoff.Pause{}
		}
		try.failed(err)
		s.Config.Log.Log(ctx, pause.Level(), "dead letters are not published yet; their range waits", "key", key, "done", done, "error", err)
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// letters yields the dead letters of a file behind the first ones. An error in
// reading them is also left in damage: no other try cures it.
func (s *session) letters(body []byte, skip int64, damage *error) iter.Seq2[manifest.DeadLetter, error] {
	return func(yield func(manifest.DeadLetter, error) bool) {
		i := int64(0)
		for l, err := range s.dead.ReadDead(body) {
			if err != nil {
				*damage = err
			}
			if i++; i <= skip && err == nil {
				continue
			}
			if !yield(l, err) {
				return
			}
		}
	}
}
