package columnar_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/internal/columnar"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/record"
)

// encode lays out a job by a declaration.
func encode(t testing.TB, d manifest.Declared, job manifest.Job) manifest.Encoded {
	t.Helper()
	out, err := mustEncoder(t, mustSchema(t, d)).Encode(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// values reads a column as "offset:value" of each row.
func values(t testing.TB, body []byte, column string) string {
	t.Helper()
	f, err := columnar.Open(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for r, err := range f.Read(column) {
		switch {
		case err != nil:
			t.Fatal(err)
		case r.Value == nil:
			out = append(out, fmt.Sprintf("%d:null", r.Offset))
		default:
			out = append(out, fmt.Sprintf("%d:%q", r.Offset, r.Value))
		}
	}
	return strings.Join(out, " ")
}

// Each type comes back in its one text.
func TestReadTypes(t *testing.T) {
	f := func(c manifest.Column, want string, texts ...string) {
		t.Helper()
		c.Name = "c"
		var vs [][]byte
		for _, text := range texts {
			vs = append(vs, []byte(`{"c":`+text+`}`))
		}
		out := encode(t, manifest.Declared{Value: manifest.JSONValue, Columns: []manifest.Column{c}}, jobOf(batchOf(t, 0, vs...)))
		if len(out.Record.Data) != 1 || out.Record.Counts.Dead > 0 {
			t.Fatalf("%s: %+v", c.Type, out.Record)
		}
		if got := values(t, out.Bodies[out.Record.Data[0].Key], "c"); got != want {
			t.Errorf("%s: %s\nwant %s", c.Type, got, want)
		}
	}
	ty := func(ty manifest.Type) manifest.Column { return manifest.Column{Type: ty} }
	f(ty(manifest.Bool), `0:"true" 1:"false" 2:null`, "true", "false", "null")
	f(ty(manifest.Int32), `0:"-2147483648" 1:null 2:"100"`, "-2147483648", "null", "1e2")
	f(ty(manifest.Int64), `0:"9223372036854775807" 1:"-9223372036854775808"`, "9223372036854775807", "-9223372036854775808")
	f(ty(manifest.Double), `0:"0.1" 1:"-0" 2:"1e+23"`, "0.1", "-0.0", "1e23")
	f(ty(manifest.String), `0:"é\"" 1:"" 2:null`, `"\u00e9\""`, `""`, "null")
	f(ty(manifest.Binary), `0:"\x00\x01\x02" 1:"" 2:null`, `"AAEC"`, `""`, "null")
	f(ty(manifest.JSON), `0:"[1.0, {}]" 1:"\"x\"" 2:null`, `[1.0, {}]`, `"x"`, "null")
	f(ty(manifest.Date), `0:"0" 1:"-1"`, `"1970-01-01"`, "-1")
	f(ty(manifest.UUID), `0:"01234567-89ab-cdef-0123-456789abcdef" 1:null`, `"0123456789ABCDEF0123456789abcdef"`, "null")
	f(manifest.Column{Type: manifest.Timestamp, Unit: "ms"}, `0:"1517966773840000" 1:"500000"`, "1517966773840", `"1970-01-01T00:00:00.5Z"`)
	// Decimals of each width, with the digits of their scale and a sign.
	dec := func(p, s int) manifest.Column { return manifest.Column{Type: manifest.Decimal, Precision: p, Scale: s} }
	f(dec(9, 2), `0:"-0.05" 1:"1234567.89" 2:"0.00"`, "-0.05", `"1234567.89"`, "0")
	f(dec(18, 0), `0:"-999999999999999999" 1:"7"`, "-999999999999999999", "7.0")
	f(dec(38, 10), `0:"-9999999999999999999999999999.9999999999" 1:"0.0000000001"`, "-9999999999999999999999999999.9999999999", "1e-10")
}

// Raw files hold exactly what was in the log.
func TestRawIsLossless(t *testing.T) {
	b := record.NewBatch(10, nil)
	b.TimestampType = record.LogAppendTime
	for _, r := range []record.Record{
		{Offset: 10, Timestamp: 5, Key: nil, Value: nil},
		{Offset: 11, Timestamp: record.NoTimestamp, Key: []byte{}, Value: []byte{}},
		{Offset: 15, Timestamp: -2000, Key: []byte("k\x00\xff"), Value: []byte("not json \xff"), Headers: record.NewHeaders(
			record.Header{Key: []byte("b"), Value: []byte("1")}, record.Header{Key: []byte("a"), Value: nil},
			record.Header{Key: []byte("b"), Value: []byte{}}, record.Header{Key: []byte("\xff"), Value: []byte("\xff")})},
		{Offset: 16, Timestamp: 7, Key: []byte("k"), Value: []byte("v"), Headers: record.NewHeaders(record.Header{Key: []byte{}, Value: nil})},
	} {
		if err := b.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	out := encode(t, manifest.Declared{}, jobOf(b))
	body := out.Bodies[out.Record.Data[0].Key]
	f := func(column, want string) {
		t.Helper()
		if got := values(t, body, column); got != want {
			t.Errorf("%s: %s\nwant %s", column, got, want)
		}
	}
	f("kafka_partition", `10:"3" 11:"3" 15:"3" 16:"3"`)
	f("kafka_timestamp", `10:"5000" 11:null 15:"-2000000" 16:"7000"`)
	f("kafka_timestamp_type", `10:"append" 11:"append" 15:"append" 16:"append"`)
	f("kafka_key", `10:null 11:"" 15:"k\x00\xff" 16:"k"`)
	f("value", `10:null 11:"" 15:"not json \xff" 16:"v"`)
	if got, want := headersOf(t, body), `[] [] [b=1 a=null b= \xff=\xff] [=null]`; got != want {
		t.Errorf("headers %s\nwant %s", got, want)
	}
	if file := out.Record.Data[0]; *file.MinTime != -2000 || *file.MaxTime != 7 {
		t.Errorf("times from %d to %d, want -2000 to 7", *file.MinTime, *file.MaxTime)
	}
}

// A dead letter is raw, with the reason.
func TestDeadLetters(t *testing.T) {
	b := record.NewBatch(0, nil)
	for _, r := range []record.Record{
		{Offset: 0, Timestamp: 1, Value: []byte(`{"id":"x"}`)},
		{Offset: 1, Timestamp: 2, Key: []byte{}, Value: []byte("\xff"), Headers: record.NewHeaders(record.Header{Key: []byte("h")})},
		{Offset: 2, Timestamp: 3, Value: []byte{}},
		{Offset: 3, Timestamp: 1 << 62, Value: []byte(`{"id":"y"}`)},
	} {
		if err := b.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	out := encode(t, manifest.Declared{Value: manifest.JSONValue, Columns: quakeColumns()}, jobOf(b))
	if err := out.Record.Validate(); err != nil {
		t.Error(err)
	}
	key := out.Record.Dead[0].Key
	if want := "dead/00003-00000000000000000000-00000000000000000004.parquet"; key != want {
		t.Errorf("key %s, want %s", key, want)
	}
	body := out.Bodies[key]
	f := func(column, want string) {
		t.Helper()
		if got := values(t, body, column); got != want {
			t.Errorf("%s: %s\nwant %s", column, got, want)
		}
	}
	f("kafka_topic", `1:"quakes" 2:"quakes" 3:"quakes"`)
	f("kafka_key", `1:"" 2:null 3:null`)
	f("value", `1:"\xff" 2:"" 3:"{\"id\":\"y\"}"`)
	f("reason", `1:"bad_json" 2:"bad_json" 3:"does_not_fit"`)
	// A time that microseconds cannot say stands in the detail.
	f("kafka_timestamp", `1:"2000" 2:"3000" 3:null`)
	f("detail", `1:"unexpected \"�\" at byte 0" 2:"the value is empty" 3:"column \"kafka_timestamp\": 4611686018427387904 ms is out of range"`)
	if got := headersOf(t, body); got != "[h=null] [] []" {
		t.Errorf("headers %s", got)
	}
	if got := values(t, out.Bodies[out.Record.Data[0].Key], "id"); got != `0:"x"` {
		t.Errorf("rows %s", got)
	}
}

func TestReadErrors(t *testing.T) {
	out := encode(t, manifest.Declared{Value: manifest.JSONValue, Columns: quakeColumns()}, jobOf(batchOf(t, 0, quakes(t)...)))
	body := out.Bodies[out.Record.Data[0].Key]
	f := func(body []byte, column, want string) {
		t.Helper()
		file, err := columnar.Open(bytes.NewReader(body), int64(len(body)))
		if err == nil {
			for _, e := range file.Read(column) {
				err = e
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	f(body, "nope", `the file has no leaf column "nope"`)
	f(body, "depth.list.element", `column "depth.list.element" is inside a list`)
	f(body[:len(body)-1], "", "not a file of lakeweir")
	f(nil, "", "not a file of lakeweir")
	// Pages that are damaged are an error, whatever the library makes of them.
	broken := bytes.Clone(body)
	for i := 4; i < len(body)/2; i++ {
		broken[i] = 0xff
	}
	f(broken, "id", "read rows")
}

// A reader may stop at any row.
func TestReadStops(t *testing.T) {
	out := encode(t, manifest.Declared{}, jobOf(batchOf(t, 0, quakes(t)...)))
	body := out.Bodies[out.Record.Data[0].Key]
	file, err := columnar.Open(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	for _, stop := range []int64{0, 255, 256, 1700} {
		last := int64(-1)
		for r, err := range file.Read("value") {
			if err != nil {
				t.Fatal(err)
			}
			if last = r.Offset; last == stop {
				break
			}
		}
		if last != stop {
			t.Errorf("ended at %d, want %d", last, stop)
		}
	}
}

// The deepest columns that a schema may have can be written and read.
func TestDeepestColumns(t *testing.T) {
	f := func(name string, wrap func(manifest.Column) manifest.Column) {
		t.Helper()
		c := manifest.Column{Name: "c", Type: manifest.Int32}
		for manifestTakes(wrap(c)) {
			c = wrap(c)
		}
		out := encode(t, manifest.Declared{Value: manifest.JSONValue, Columns: []manifest.Column{c}}, jobOf(batchOf(t, 0, []byte(`{"x":1}`))))
		if got := values(t, out.Bodies[out.Record.Data[0].Key], "extra"); got != `0:"{\"x\":1}"` {
			t.Errorf("%s: extra %s", name, got)
		}
	}
	f("lists", func(c manifest.Column) manifest.Column {
		c.Name = ""
		return manifest.Column{Name: "c", Type: manifest.List, Element: &c}
	})
	f("structs", func(c manifest.Column) manifest.Column {
		return manifest.Column{Name: "c", Type: manifest.Struct, Fields: []manifest.Column{c}}
	})
}

func manifestTakes(c manifest.Column) bool {
	_, err := manifest.NewSchema(manifest.Declared{Value: manifest.JSONValue, Columns: []manifest.Column{c}})
	return err == nil
}
