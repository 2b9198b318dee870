package store

// Bounds returns where the span lies in a body of size bytes, as the half-open
// range [from, to). What the span names beyond either end is left out: a span
// that begins at or after the end is empty, and one that counts further back
// than the body is long begins at its first byte.
func (s Span) Bounds(size int64) (from, to int64) {
	from = s.Offset
	if from < 0 {
		from += size
	}
	from = min(max(from, 0), size)
	if s.Length <= 0 || s.Length > size-from {
		return from, size
	}
	return from, from + s.Length
}
