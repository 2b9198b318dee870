package columnar

import (
	"unsafe"

	"github.com/lakeweir/lakeweir/internal/decode"
	"github.com/parquet-go/parquet-go"
)

// text returns the value of a string, which is not copied.
func text(s string) parquet.Value {
	return parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// scalar returns a JSON value as one of a column's type.
func (sh *shredder) scalar(c *column, t *decode.Token) (parquet.Value, decode.Reason) {
	switch c.op {
	case opBool:
		if t.Kind != decode.True && t.Kind != decode.False {
			return parquet.Value{}, decode.NoFit
		}
		return parquet.BooleanValue(t.Kind == decode.True), ""
	case opInt32:
		v, r := t.Int32()
		return parquet.Int32Value(v), r
	case opInt64:
		v, r := t.Int64()
		return parquet.Int64Value(v), r
	case opDouble:
		v, r := t.Double()
		return parquet.DoubleValue(v), r
	case opString:
		v, r := t.Chars(&sh.arena)
		return parquet.ByteArrayValue(v), r
	case opBinary:
		v, r := t.Binary(&sh.arena)
		return parquet.ByteArrayValue(v), r
	case opJSON:
		v, r := t.JSON()
		return parquet.ByteArrayValue(v), r
	case opUUID:
		v, r := t.UUID(&sh.arena)
		return parquet.FixedLenByteArrayValue(v), r
	case opTimestamp:
		v, r := t.Timestamp(&sh.arena, c.field.Column.Unit)
		return parquet.Int64Value(v), r
	case opDate:
		v, r := t.Date(&sh.arena)
		return parquet.Int32Value(v), r
	case opTinyDecimal:
		v, r := t.Decimal(&sh.arena, c.field.Column.Precision, c.field.Column.Scale)
		return parquet.Int32Value(int32(v)), r
	case opDecimal:
		v, r := t.Decimal(&sh.arena, c.field.Column.Precision, c.field.Column.Scale)
		return parquet.Int64Value(v), r
	case opWideDecimal:
		v, r := t.WideDecimal(&sh.arena, c.field.Column.Precision, c.field.Column.Scale)
		return parquet.FixedLenByteArrayValue(v), r
	}
	return parquet.Value{}, decode.NoFit
}
