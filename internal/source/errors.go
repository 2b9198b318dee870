package source

import (
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
)

var (
	// ErrNoTopic means that a topic does not exist, or may not be seen.
	ErrNoTopic = errors.New("topic does not exist")
	// ErrOutOfRange is what an *OutOfRangeError is.
	ErrOutOfRange = errors.New("position is not in the log")
	// ErrStatic means that no group assigns the partition, so none can
	// confirm that it is still ours.
	ErrStatic = errors.New("partition is assigned by configuration, not by a group")
	// ErrNoAnswer means that no leader answered in time; one may later.
	ErrNoAnswer = errors.New("no answer in time")
	// ErrNoPosition means that Read came before Seek.
	ErrNoPosition = errors.New("no position: Seek comes before Read")
)

// OutOfRangeError is returned by Read when the log does not hold the position:
// below Start records are gone, above End the log is shorter than it was.
type OutOfRangeError struct {
	Topic      string
	Partition  int32
	Position   int64
	Start, End int64 // of the log; End is the high watermark
}

// Error names the position and the log's bounds.
func (e *OutOfRangeError) Error() string {
	return fmt.Sprintf("read %s/%d at offset %d: the log holds offsets [%d, %d)", e.Topic, e.Partition, e.Position, e.Start, e.End)
}

// Is makes errors.Is(err, ErrOutOfRange) true.
func (e *OutOfRangeError) Is(target error) bool { return target == ErrOutOfRange }

// Codes of the Kafka protocol that this package acts on
// (https://kafka.apache.org/protocol#protocol_error_codes).
const (
	codeUnknownServer   int16 = -1
	codeOutOfRange      int16 = 1
	codeCorrupt         int16 = 2
	codeUnknownTopic    int16 = 3
	codeNoLeader        int16 = 5
	codeNotLeader       int16 = 6
	codeNotCoordinator  int16 = 16
	codeIllegalGen      int16 = 22
	codeUnknownMember   int16 = 25
	codeRebalancing     int16 = 27
	codeTopicDenied     int16 = 29
	codeIllegalSASL     int16 = 34
	codeLoginFailed     int16 = 58
	codeFencedEpoch     int16 = 74
	codeUnknownEpoch    int16 = 75
	codeReplicaMissing  int16 = 9
	codeTooLarge        int16 = 10
	codeListTooLarge    int16 = 18
	codeStorage         int16 = 56
	codeListenerMissing int16 = 72
)

// moved reports codes that a fresh look at the metadata may cure.
func moved(code int16) bool {
	switch code {
	case codeUnknownTopic, codeNoLeader, codeNotLeader, codeFencedEpoch, codeUnknownEpoch,
		codeReplicaMissing, codeStorage, codeListenerMissing:
		return true
	}
	return false
}

// transient reports codes after which the same request may succeed.
func transient(code int16) bool {
	return moved(code) || code == codeUnknownServer || kafka.Error(code).Temporary()
}

// expired reports codes that mean the login of the connection holds no more:
// a new connection logs in again.
func expired(code int16) bool { return code == codeIllegalSASL || code == codeLoginFailed }

// codeError is the error of a code; nil for 0.
func codeError(code int16) error {
	if code == 0 {
		return nil
	}
	return kafka.Error(code)
}
