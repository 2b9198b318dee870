package columnar

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
	"github.com/parquet-go/parquet-go"
)

// describeNode writes a node and those below: name, repetition, type, encoding
// and field id, a line each.
func describeNode(b *strings.Builder, name string, n parquet.Node, indent string) {
	rep := "required"
	switch {
	case n.Optional():
		rep = "optional"
	case n.Repeated():
		rep = "repeated"
	}
	what := "group"
	if n.Leaf() {
		what = n.Type().String()
	}
	if e := n.Encoding(); e != nil {
		what += " " + e.String()
	}
	fmt.Fprintf(b, "%s%s %s %s =%d\n", indent, name, rep, what, n.ID())
	for _, f := range n.Fields() {
		describeNode(b, f.Name(), f, indent+"  ")
	}
}

// The columns of a file are in the order of the schema, with its ids; what is
// declared is optional, what we add is as the schema says.
func TestParquetSchema(t *testing.T) {
	f := func(d manifest.Declared, want string) {
		t.Helper()
		l, err := newLayout(mustSchema(t, d))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, field := range l.parquet.Fields() {
			describeNode(&b, field.Name(), field, "")
		}
		if got := strings.TrimSpace(b.String()); got != strings.TrimSpace(want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	f(manifest.Declared{}, `
kafka_partition required INT(32,true) =1
kafka_offset required INT(64,true) =2
kafka_timestamp optional TIMESTAMP(isAdjustedToUTC=true,unit=MICROS) =3
kafka_timestamp_type required STRING RLE_DICTIONARY =4
kafka_key optional BYTE_ARRAY =5
kafka_headers required group =6
  list repeated group =0
    element required group =7
      name required BYTE_ARRAY =8
      value optional BYTE_ARRAY =9
value optional BYTE_ARRAY =10`)
	cols := []manifest.Column{
		required(col("z", manifest.String)),
		{Name: "at", Type: manifest.Timestamp, Encoding: manifest.Delta},
		listOf("l", structOf("", required(col("b", manifest.Bool)), col("a", manifest.JSON))),
		col("d", manifest.Date), col("u", manifest.UUID), col("x", manifest.Binary), col("f", manifest.Double),
		{Name: "n9", Type: manifest.Decimal, Precision: 9, Scale: 1},
		{Name: "n18", Type: manifest.Decimal, Precision: 10, Scale: 1},
		{Name: "n38", Type: manifest.Decimal, Precision: 19, Scale: 1},
	}
	f(manifest.Declared{Value: manifest.JSONValue, Columns: cols}, `
z optional STRING =1
at optional TIMESTAMP(isAdjustedToUTC=true,unit=MICROS) DELTA_BINARY_PACKED =2
l optional group =3
  list repeated group =0
    element optional group =4
      b optional BOOLEAN =5
      a optional JSON =6
d optional DATE =7
u optional UUID =8
x optional BYTE_ARRAY =9
f optional DOUBLE =10
n9 optional DECIMAL(9,1) =11
n18 optional DECIMAL(10,1) =12
n38 optional DECIMAL(19,1) =13
extra optional JSON =14
kafka_partition required INT(32,true) =15
kafka_offset required INT(64,true) =16
kafka_timestamp optional TIMESTAMP(isAdjustedToUTC=true,unit=MICROS) =17
kafka_timestamp_type required STRING RLE_DICTIONARY =18
kafka_tombstone required BOOLEAN =19`)
}

// The narrowest type that holds the digits is taken, and only narrow decimals
// have bounds.
func TestDecimalKinds(t *testing.T) {
	f := func(precision int, kind parquet.Kind, hasBounds bool) {
		t.Helper()
		c := manifest.Column{Name: "n", Type: manifest.Decimal, Precision: precision}
		if got := leafOf(c).Type().Kind(); got != kind || bounded(c) != hasBounds {
			t.Errorf("precision %d: %v, bounds %v", precision, got, bounded(c))
		}
	}
	f(1, parquet.Int32, true)
	f(9, parquet.Int32, true)
	f(10, parquet.Int64, true)
	f(18, parquet.Int64, true)
	f(19, parquet.FixedLenByteArray, false)
	f(38, parquet.FixedLenByteArray, false)
}
