package manifest

import "errors"

// Errors that callers branch on.
var (
	// ErrFenced: another claim has taken the partition. The Log is of no use
	// any more. What it had not published belongs to the new claim.
	ErrFenced = errors.New("fenced: another writer has claimed the partition")

	// ErrIdentity: the log behind the offsets is not the one that the head
	// was written for.
	ErrIdentity = errors.New("not the same log")

	// ErrFormat: the object was written by software with another major format.
	ErrFormat = errors.New("format not known to this version")

	// ErrDamage: stored objects contradict each other. Nothing was changed.
	ErrDamage = errors.New("damaged table")

	// ErrChange: a change of a head that the protocol does not allow. It is
	// never written; it points at a defect of the caller.
	ErrChange = errors.New("change not allowed")
)
