package manifest

import "fmt"

// Schema is what a table's files look like: columns, field ids, types, layout
// and rules. It is stored once, as schema/<version>.json, and never changed;
// every plan and range record names the version that it used.
type Schema struct {
	Format  string    `json:"format"`  // of the object, as in a Head
	Version int       `json:"version"` // 1 and up
	Value   ValueKind `json:"value"`
	Columns []Column  `json:"columns"` // of a data file, in file order, those of Kafka included
	Layout  Layout    `json:"layout"`
}

// ValueKind says what record values are.
type ValueKind string

// The kinds of values.
const (
	RawValue  ValueKind = "raw"  // bytes, kept as they are
	JSONValue ValueKind = "json" // a JSON object, whose members become columns
)

// Layout says how files are laid out. Two layouts of the same rows are other bytes.
type Layout struct {
	Compression Compression `json:"compression"`
	Level       int         `json:"level,omitempty"` // of zstd, 1 to 22
	GroupRows   int64       `json:"row_group_rows"`  // a row group ends at this many rows
	GroupBytes  int64       `json:"row_group_bytes"` // or at this many raw bytes, whichever comes first
}

// Column is one column of a data file, or a part of one.
type Column struct {
	ID        int      `json:"id"` // field id: unique in the table and never used again
	Name      string   `json:"name"`
	Source    Source   `json:"source,omitempty"` // where its values come from; "" is Path
	Path      []string `json:"path,omitempty"`   // member names from the top of the JSON value, or of the struct it is in
	Type      Type     `json:"type"`
	Required  bool     `json:"required,omitempty"`  // a record without it is a dead letter; the column stays nullable for tombstones
	Unit      Unit     `json:"unit,omitempty"`      // of a timestamp given as a number; numbers do not fit without one
	Precision int      `json:"precision,omitempty"` // of a decimal: digits in all, 1 to 38
	Scale     int      `json:"scale,omitempty"`     // of a decimal: digits behind the point
	Encoding  Encoding `json:"encoding,omitempty"`
	Fields    []Column `json:"fields,omitempty"`  // of a struct
	Element   *Column  `json:"element,omitempty"` // of a list
}

// Unit is what a number counts that stands for a point in time since 1970.
type Unit string

// The units of timestamps.
const (
	Seconds      Unit = "s"
	Milliseconds Unit = "ms"
	Microseconds Unit = "us"
	Nanoseconds  Unit = "ns"
)

// Encoding says how the values of a column are laid out in a file.
type Encoding string

// The encodings of columns.
const (
	Plain      Encoding = ""           // every reader takes it
	Dictionary Encoding = "dictionary" // every reader takes it; pays where values repeat
	Delta      Encoding = "delta"      // nearly sorted numbers; some readers refuse it
)

// Compression is the codec of a data file's pages.
type Compression string

// The codecs.
const (
	Zstd         Compression = "zstd" // the default
	Snappy       Compression = "snappy"
	LZ4          Compression = "lz4"
	Uncompressed Compression = "none"
)

// Type is the type of a column.
type Type string

// The types of columns.
const (
	Bool      Type = "bool"
	Int32     Type = "int32"
	Int64     Type = "int64"
	Double    Type = "double"
	String    Type = "string"
	Binary    Type = "binary"
	Timestamp Type = "timestamp" // microseconds, UTC
	Date      Type = "date"
	Decimal   Type = "decimal"
	UUID      Type = "uuid"
	JSON      Type = "json" // the text of any JSON value, byte for byte
	List      Type = "list"
	Struct    Type = "struct"
)

// Source says which part of a record a column holds, when it is not a member
// of the value.
type Source string

// The sources of columns that are not members of the value.
const (
	FromPartition     Source = "partition"
	FromOffset        Source = "offset"
	FromTimestamp     Source = "timestamp"
	FromTimestampType Source = "timestamp_type"
	FromKey           Source = "key"
	FromHeaders       Source = "headers"
	FromTombstone     Source = "tombstone" // true when the value is null
	FromValue         Source = "value"     // the raw bytes
	FromExtra         Source = "extra"     // members of the value that no column takes
	FromTopic         Source = "topic"     // of dead letters, as the two below
	FromReason        Source = "reason"    // why the record was set aside: a short code
	FromDetail        Source = "detail"    // the same for people
)

// SchemaKey is the key of a version of the schema.
func SchemaKey(version int) string { return fmt.Sprintf("schema/%010d.json", version) }
