package store

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxKey is the longest key in bytes, the limit of S3.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
const MaxKey = 1024

// CheckKey returns an error for a key that some store could not hold, would
// change, or would take for a place outside of it: an empty one, one longer
// than MaxKey, one with an empty segment or a "." or ".." in place of one, and
// one with bytes that XML cannot carry. Every driver refuses these keys.
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKey {
		return fmt.Errorf("key %.40q has %d bytes, want 1 to %d", key, len(key), MaxKey)
	}
	if !utf8.ValidString(key) || strings.ContainsFunc(key, unprintable) {
		return fmt.Errorf("key %q has a control character or is not UTF-8", key)
	}
	for segment := range strings.SplitSeq(key, "/") {
		switch segment {
		case "", ".", "..":
			return fmt.Errorf("key %q has the segment %q", key, segment)
		}
	}
	return nil
}

// unprintable reports the code points that an S3 listing, which is XML 1.0,
// cannot carry. https://www.w3.org/TR/xml/#charsets
func unprintable(r rune) bool {
	return r < ' ' || r == 0x7f || r == 0xfffe || r == 0xffff
}
