package columnar

import "github.com/lakeweir/lakeweir/internal/decode"

// scalar adds a JSON value as one of a column's type, or returns why it is
// none.
func (sh *shredder) scalar(c *column, t *decode.Token, rep uint8) decode.Reason {
	l := &sh.leaves[c.from]
	switch c.op {
	case opBool:
		if t.Kind != decode.True && t.Kind != decode.False {
			return decode.NoFit
		}
		l.putBool(t.Kind == decode.True, rep)
		return ""
	case opInt32:
		v, r := t.Int32()
		return l.int32(v, r, rep)
	case opInt64:
		v, r := t.Int64()
		return l.int64(v, r, rep)
	case opDouble:
		v, r := t.Double()
		if r == "" {
			l.putDouble(v, rep)
		}
		return r
	case opString:
		v, r := t.Chars(&sh.arena)
		return l.bytes(v, r, rep)
	case opBinary:
		v, r := t.Binary(&sh.arena)
		return l.bytes(v, r, rep)
	case opJSON:
		v, r := t.JSON()
		return l.bytes(v, r, rep)
	case opUUID:
		v, r := t.UUID(&sh.arena)
		return l.bytes(v, r, rep)
	case opTimestamp:
		v, r := t.Timestamp(&sh.arena, c.field.Column.Unit)
		return l.int64(v, r, rep)
	case opDate:
		v, r := t.Date(&sh.arena)
		return l.int32(v, r, rep)
	case opTinyDecimal:
		v, r := t.Decimal(&sh.arena, c.field.Column.Precision, c.field.Column.Scale)
		return l.int32(int32(v), r, rep)
	case opDecimal:
		v, r := t.Decimal(&sh.arena, c.field.Column.Precision, c.field.Column.Scale)
		return l.int64(v, r, rep)
	case opWideDecimal:
		v, r := t.WideDecimal(&sh.arena, c.field.Column.Precision, c.field.Column.Scale)
		return l.bytes(v, r, rep)
	}
	return decode.NoFit
}

// int32 adds a value unless there is a reason against it, which it returns.
func (l *leaf) int32(v int32, r decode.Reason, rep uint8) decode.Reason {
	if r == "" {
		l.putInt32(v, rep)
	}
	return r
}

func (l *leaf) int64(v int64, r decode.Reason, rep uint8) decode.Reason {
	if r == "" {
		l.putInt64(v, rep)
	}
	return r
}

func (l *leaf) bytes(v []byte, r decode.Reason, rep uint8) decode.Reason {
	if r == "" {
		l.putBytes(v, rep)
	}
	return r
}
