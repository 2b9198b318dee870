package columnar

import "github.com/lakeweir/lakeweir/manifest"

// op is how the values of a column come about: by its type, or, for one that
// is not declared, by where it is from. It is a number since it is asked for
// every value, and types and sources are texts.
type op uint8

const (
	opBool op = iota + 1
	opInt32
	opInt64
	opDouble
	opString
	opBinary
	opJSON
	opUUID
	opTimestamp
	opDate
	opTinyDecimal
	opDecimal
	opWideDecimal
	opStruct
	opList

	// Of these on a column has a source.
	opExtra
	opPartition
	opOffset
	opRecordTime
	opTimeType
	opKey
	opValue
	opTombstone
	opHeaders
	opTopic
	opReason
	opDetail
)

var opOfType = map[manifest.Type]op{
	manifest.Bool: opBool, manifest.Int32: opInt32, manifest.Int64: opInt64, manifest.Double: opDouble,
	manifest.String: opString, manifest.Binary: opBinary, manifest.JSON: opJSON, manifest.UUID: opUUID,
	manifest.Timestamp: opTimestamp, manifest.Date: opDate, manifest.Decimal: opDecimal,
	manifest.Struct: opStruct, manifest.List: opList,
}

var opOfSource = map[manifest.Source]op{
	manifest.FromExtra: opExtra, manifest.FromPartition: opPartition, manifest.FromOffset: opOffset,
	manifest.FromTimestamp: opRecordTime, manifest.FromTimestampType: opTimeType, manifest.FromKey: opKey,
	manifest.FromValue: opValue, manifest.FromTombstone: opTombstone, manifest.FromHeaders: opHeaders,
	manifest.FromTopic: opTopic, manifest.FromReason: opReason, manifest.FromDetail: opDetail,
}

// opOf returns the op of a column of a valid schema.
func opOf(c *manifest.Column) op {
	switch {
	case c.Source != "":
		return opOfSource[c.Source]
	case c.Type != manifest.Decimal:
		return opOfType[c.Type]
	case c.Precision > maxNarrow:
		return opWideDecimal
	case c.Precision > maxTiny:
		return opDecimal
	}
	return opTinyDecimal
}
