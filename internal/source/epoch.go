package source

import (
	"context"
)

// NoEpochEnd is the answer of EpochEnd when the log knows no such leader
// epoch, or the broker is too old to be asked.
const NoEpochEnd int64 = -1

// epochEnd is one answer to OffsetForLeaderEpoch.
type epochEnd struct {
	code  int16
	epoch int32
	end   int64
}

// epochEnd asks the leader where a leader epoch ended.
func (c *client) epochEnd(ctx context.Context, node int32, topic string, partition, epoch int32) (epochEnd, error) {
	version, err := c.version(ctx, keyEpochEnd)
	if err != nil {
		return epochEnd{}, err
	}
	if version < minEpochEnd {
		return epochEnd{epoch: -1, end: NoEpochEnd}, nil
	}
	return ask[epochEnd](ctx, c, &call{
		key: keyEpochEnd, version: min(version, maxEpochEnd), node: node,
		encode: func(b []byte, v int16) []byte { return encodeEpochEnd(b, v, topic, partition, epoch) },
		decode: func(d *decoder, v int16) (any, error) { return decodeEpochEnd(d), nil },
	}, requestTimeout)
}

// encodeEpochEnd writes OffsetForLeaderEpoch v2 or v3 for one partition.
func encodeEpochEnd(b []byte, v int16, topic string, partition, epoch int32) []byte {
	if v >= 3 {
		b = appendInt32(b, -1) // replica: a consumer
	}
	b = appendInt32(b, 1)
	b = appendString(b, topic, false)
	b = appendInt32(b, 1)
	b = appendInt32(b, partition)
	b = appendInt32(b, -1) // current epoch: any leader may answer
	return appendInt32(b, epoch)
}

func decodeEpochEnd(d *decoder) epochEnd {
	d.int32() // throttle
	e := epochEnd{code: codeUnknownServer, epoch: -1, end: NoEpochEnd}
	for nt := d.count(false, 6); nt > 0 && d.err == nil; nt-- {
		d.string(false)
		for np := d.count(false, 18); np > 0 && d.err == nil; np-- {
			e.code = d.code()
			d.int32() // partition
			e.epoch, e.end = d.int32(), d.int64()
		}
	}
	return e
}
