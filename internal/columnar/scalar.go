package columnar

import (
	"unsafe"

	"github.com/lakeweir/lakeweir/internal/decode"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/parquet-go/parquet-go"
)

// text returns the value of a string, which is not copied.
func text(s string) parquet.Value {
	return parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// scalar returns a JSON value as one of a column's type.
func (sh *shredder) scalar(c *manifest.Column, t decode.Token) (parquet.Value, decode.Reason) {
	switch c.Type {
	case manifest.Bool:
		if t.Kind != decode.True && t.Kind != decode.False {
			return parquet.Value{}, decode.NoFit
		}
		return parquet.BooleanValue(t.Kind == decode.True), ""
	case manifest.Int32:
		v, r := t.Int32()
		return parquet.Int32Value(v), r
	case manifest.Int64:
		v, r := t.Int64()
		return parquet.Int64Value(v), r
	case manifest.Double:
		v, r := t.Double()
		return parquet.DoubleValue(v), r
	case manifest.String:
		v, r := t.Chars(&sh.arena)
		return parquet.ByteArrayValue(v), r
	case manifest.Binary:
		v, r := t.Binary(&sh.arena)
		return parquet.ByteArrayValue(v), r
	case manifest.JSON:
		v, r := t.JSON()
		return parquet.ByteArrayValue(v), r
	case manifest.UUID:
		v, r := t.UUID(&sh.arena)
		return parquet.FixedLenByteArrayValue(v), r
	case manifest.Timestamp:
		v, r := t.Timestamp(&sh.arena, c.Unit)
		return parquet.Int64Value(v), r
	case manifest.Date:
		v, r := t.Date(&sh.arena)
		return parquet.Int32Value(v), r
	case manifest.Decimal:
		return sh.decimal(c, t)
	}
	return parquet.Value{}, decode.NoFit
}

func (sh *shredder) decimal(c *manifest.Column, t decode.Token) (parquet.Value, decode.Reason) {
	if c.Precision > maxNarrow {
		v, r := t.WideDecimal(&sh.arena, c.Precision, c.Scale)
		return parquet.FixedLenByteArrayValue(v), r
	}
	v, r := t.Decimal(&sh.arena, c.Precision, c.Scale)
	if c.Precision > maxTiny {
		return parquet.Int64Value(v), r
	}
	return parquet.Int32Value(int32(v)), r
}
