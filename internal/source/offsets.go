package source

import (
	"context"
)

// Timestamps that stand for an end of the log in ListOffsets.
const (
	atEnd   int64 = -1
	atStart int64 = -2
)

// listVersion is the version of ListOffsets that brokers from 0.11 to 4.x
// know: the first one with an isolation level.
const listVersion = 2

// listed is one answer to ListOffsets; offset is -1 when there is none.
type listed struct {
	code      int16
	timestamp int64
	offset    int64
}

// list asks the leader for the first offset at or after a timestamp, or for an
// end of the log. Committed bounds the end by open transactions.
func (c *client) list(ctx context.Context, node int32, topic string, partition int32, at int64, committed bool) (listed, error) {
	return ask[listed](ctx, c, &call{
		key: keyListOffsets, version: listVersion, node: node,
		encode: func(b []byte, _ int16) []byte {
			b = appendInt32(b, -1) // replica: a consumer
			b = appendBool(b, committed)
			b = appendInt32(b, 1)
			b = appendString(b, topic, false)
			b = appendInt32(b, 1)
			b = appendInt32(b, partition)
			return appendInt64(b, at)
		},
		decode: func(d *decoder, _ int16) (any, error) { return decodeListed(d), nil },
	}, requestTimeout)
}

func decodeListed(d *decoder) listed {
	d.int32() // throttle
	l := listed{code: codeUnknownServer, offset: -1}
	for nt := d.count(false, 6); nt > 0 && d.err == nil; nt-- {
		d.string(false)
		for np := d.count(false, 22); np > 0 && d.err == nil; np-- {
			d.int32() // partition
			l = listed{code: d.code(), timestamp: d.int64(), offset: d.int64()}
		}
	}
	return l
}
