package decode

import (
	"fmt"
	"strings"
)

// Reason says in a word why a record is set aside. It is stored in dead-letter
// files and does not change between versions.
type Reason string

// The reasons.
const (
	BadJSON   Reason = "bad_json"         // the value is not one JSON text
	NotObject Reason = "not_object"       // it is one, but no object and not null
	TooDeep   Reason = "too_deep"         // arrays and objects nest deeper than MaxDepth
	Missing   Reason = "missing_required" // a required column has no value
	NoFit     Reason = "does_not_fit"     // a value is not one of its column's type
	BadText   Reason = "invalid_utf8"     // text with invalid UTF-8 or half a surrogate pair
)

// Reject is why a record is set aside. Detail tells people where.
type Reject struct {
	Reason Reason
	Detail string
}

// Error returns the reason and the detail.
func (r *Reject) Error() string { return string(r.Reason) + ": " + r.Detail }

// maxQuote is how much of a token a detail shows, in bytes.
const maxQuote = 64

// Quote returns the beginning of a token for a detail, as valid UTF-8.
func Quote(token []byte) string {
	if len(token) <= maxQuote {
		return strings.ToValidUTF8(string(token), "\uFFFD")
	}
	return strings.ToValidUTF8(string(token[:maxQuote]), "\uFFFD") + fmt.Sprintf("... (%d bytes)", len(token))
}
