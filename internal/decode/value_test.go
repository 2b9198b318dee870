package decode

import (
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/manifest"
)

// token scans one value.
func token(t testing.TB, text string) Token {
	t.Helper()
	s := scanner{b: []byte(text)}
	var tok Token
	if end := s.value(0, &tok); end != len(text) {
		t.Fatalf("%s is not one value: %v", text, s.reject())
	}
	return tok
}

// check compares the text of a value, or the reason why there is none.
func check(t *testing.T, text, got string, r Reason, want string) {
	t.Helper()
	if r != "" {
		got = string(r)
	}
	if got != want {
		t.Errorf("%s gives %s, want %s", text, got, want)
	}
}

func TestInt64(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		v, r := token(t, text).Int64()
		check(t, text, strconv.FormatInt(v, 10), r, want)
	}
	f("0", "0")
	f("-0", "0")
	f("42", "42")
	f("-42", "-42")
	// Whole numbers fit, however they are written.
	f("1.0", "1")
	f("1e2", "100")
	f("1.5e1", "15")
	f("-120E-1", "-12")
	f("0.00100e3", "1")
	f("100000000000000000000e-20", "1")
	f("0e999999999999999999999", "0")
	f("-0.0", "0")
	// The limits of the type, and one beyond.
	f("9223372036854775807", "9223372036854775807")
	f("-9223372036854775808", "-9223372036854775808")
	f("9223372036854775808", "does_not_fit")
	f("-9223372036854775809", "does_not_fit")
	f("9.223372036854775807e18", "9223372036854775807")
	f("9.223372036854775808e18", "does_not_fit")
	f("1e19", "does_not_fit")
	f("18446744073709551616", "does_not_fit")
	// Fractions are never rounded.
	f("1.5", "does_not_fit")
	f("1e-1", "does_not_fit")
	f("1.0000000000000000000000000001", "does_not_fit")
	f("1e-999999999999999999999", "does_not_fit")
	f("1e999999999999999999999", "does_not_fit")
	// Other kinds of values are no numbers.
	f(`"1"`, "does_not_fit")
	f("true", "does_not_fit")
	f("[1]", "does_not_fit")
}

func TestInt32(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		v, r := token(t, text).Int32()
		check(t, text, strconv.Itoa(int(v)), r, want)
	}
	f("2147483647", "2147483647")
	f("-2147483648", "-2147483648")
	f("2.147483647E9", "2147483647")
	// One beyond, and a number whose low 32 bits are zero.
	f("2147483648", "does_not_fit")
	f("-2147483649", "does_not_fit")
	f("4294967296", "does_not_fit")
}

func TestDouble(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		v, r := token(t, text).Double()
		check(t, text, strconv.FormatFloat(v, 'g', -1, 64), r, want)
	}
	f("0", "0")
	f("-0", "-0")
	f("-0.0", "-0")
	f("1.5", "1.5")
	f("-118.6671667", "-118.6671667")
	f("123456789012345", "1.23456789012345e+14")
	f("1e3", "1000")
	// A fraction takes the nearest value.
	f("0.1", "0.1")
	f("0.30000000000000004", "0.30000000000000004")
	f("3.14159265358979323846264338327950288", "3.141592653589793")
	f("1e23", "1e+23")
	f("9007199254740993.0", "9.007199254740992e+15")
	// What is too small is zero, the nearest value.
	f("1e-400", "0")
	f("5e-324", "5e-324")
	// What is too large has no nearest value.
	f("1e400", "does_not_fit")
	f("-1e400", "does_not_fit")
	f("1.7976931348623157e308", "1.7976931348623157e+308")
	// An integer beyond 2^53 must be met exactly.
	f("9007199254740992", "9.007199254740992e+15")
	f("9007199254740993", "does_not_fit")
	f("-9007199254740993", "does_not_fit")
	f("9007199254740994", "9.007199254740994e+15")
	f("9223372036854775808", "9.223372036854776e+18")
	f("18446744073709551615", "does_not_fit")
	f("18446744073709551616", "1.8446744073709552e+19")
	f("100000000000000000000000", "does_not_fit")
	f("10000000000000000000000", "1e+22")
	f(strings.Repeat("9", 400), "does_not_fit")
	f(`"1"`, "does_not_fit")
}

func TestChars(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		var a Arena
		v, r := token(t, text).Chars(&a)
		check(t, text, strconv.QuoteToASCII(string(v)), r, want)
	}
	f(`""`, `""`)
	f(`"plain text longer than a word"`, `"plain text longer than a word"`)
	f(`"\"\\\/\b\f\n\r\t"`, `"\"\\/\b\f\n\r\t"`)
	f(`"\u00e9 and é, raw"`, `"\u00e9 and \u00e9, raw"`)
	f(`"\u0000"`, `"\x00"`)
	f(`"\uFFFF"`, `"\uffff"`)
	// A pair of surrogates is one character, half of one is none.
	f(`"\ud83d\uDE00!"`, `"\U0001f600!"`)
	f(`"\ud83d"`, "invalid_utf8")
	f(`"\ude00"`, "invalid_utf8")
	f(`"\ud83dabcdef"`, "invalid_utf8")
	f(`"\ud83d\n12345"`, "invalid_utf8")
	f(`"\ud83d\ud83d"`, "invalid_utf8")
	f(`"\ude00\ud83d"`, "invalid_utf8")
	f(`"\ud83d\u0041"`, "invalid_utf8")
	// Bytes that are no UTF-8: a stray byte, a cut one, an overlong one, a surrogate.
	f("\"\xff\"", "invalid_utf8")
	f("\"abcdefgh\xc3\"", "invalid_utf8")
	f("\"\xc0\x80\"", "invalid_utf8")
	f("\"\xed\xa0\x80\"", "invalid_utf8")
	f("\"\\n\xff\"", "invalid_utf8")
	// Other kinds are no text.
	f("1", "does_not_fit")
	f("{}", "does_not_fit")
}

func TestJSONText(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		v, r := token(t, text).JSON()
		check(t, text, string(v), r, want)
	}
	// White space, escapes and digits stay as they are.
	f("{ \"a\" :\t1.0e0 }", "{ \"a\" :\t1.0e0 }")
	f(`["é"]`, `["é"]`)
	f(`["\ud83d\uDE00","\\ud83d"]`, `["\ud83d\uDE00","\\ud83d"]`)
	// Half a pair, in a value or a name: engines refuse a whole column for one.
	f(`"\ud83d"`, "invalid_utf8")
	f(`["\ude00"]`, "invalid_utf8")
	f(`{"\ud83d":1}`, "invalid_utf8")
	f(`["\ud83d","\ude00"]`, "invalid_utf8")
	f(`"\\\ud83d\\u0041"`, "invalid_utf8")
	f(`"\ud83d\u0041"`, "invalid_utf8")
	f("[\"\xff\"]", "invalid_utf8")
	f("{\"\xff\":1}", "invalid_utf8")
}

func TestBinary(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		var a Arena
		v, r := token(t, text).Binary(&a)
		check(t, text, hex.EncodeToString(v), r, want)
	}
	f(`""`, "")
	f(`"AAEC"`, "000102")
	f(`"+/+/"`, "fbffbf")
	f(`"\u0041AEC"`, "000102")
	// With and without padding.
	f(`"AA=="`, "00")
	f(`"AA"`, "00")
	f(`"AAE="`, "0001")
	f(`"AAE"`, "0001")
	// A wrong character, wrong padding, bits that are lost, too short, another alphabet.
	f(`"A*EC"`, "does_not_fit")
	f(`"AA="`, "does_not_fit")
	f(`"A==="`, "does_not_fit")
	f(`"===="`, "does_not_fit")
	f(`"AB=="`, "does_not_fit")
	f(`"A"`, "does_not_fit")
	f(`"-_-_"`, "does_not_fit")
	f("12", "does_not_fit")
}

func TestUUID(t *testing.T) {
	const want = "0123456789abcdef0123456789abcdef"
	f := func(text, want string) {
		t.Helper()
		var a Arena
		v, r := token(t, text).UUID(&a)
		check(t, text, hex.EncodeToString(v), r, want)
	}
	// The forms in use.
	f(`"01234567-89ab-cdef-0123-456789abcdef"`, want)
	f(`"01234567-89AB-CDEF-0123-456789ABCDEF"`, want)
	f(`"0123456789abcdef0123456789abcdef"`, want)
	f(`"urn:uuid:01234567-89ab-cdef-0123-456789abcdef"`, want)
	f(`"{01234567-89ab-cdef-0123-456789abcdef}"`, want)
	// A digit short, a digit that is none, dashes elsewhere, an odd brace.
	f(`"01234567-89ab-cdef-0123-456789abcde"`, "does_not_fit")
	f(`"01234567-89ab-cdef-0123-456789abcdeg"`, "does_not_fit")
	f(`"012345678-9ab-cdef-0123-456789abcdef"`, "does_not_fit")
	f(`"-1234567-89ab-cdef-0123-456789abcdef"`, "does_not_fit")
	f(`"{0123456789abcdef0123456789abcdef}"`, "does_not_fit")
	f(`""`, "does_not_fit")
	f("1", "does_not_fit")
}

func TestDecimal(t *testing.T) {
	f := func(precision, scale int, text, want string) {
		t.Helper()
		var a Arena
		v, r := token(t, text).Decimal(&a, precision, scale)
		check(t, text, strconv.FormatInt(v, 10), r, want)
	}
	f(9, 2, "12.34", "1234")
	f(9, 2, "-12.3", "-1230")
	f(9, 2, "1.2e1", "1200")
	f(9, 2, "0.00", "0")
	// A string holds a number in the same form.
	f(9, 2, `"12.34"`, "1234")
	f(9, 2, `"1\u0032.34"`, "1234")
	f(9, 2, `" 12.34"`, "does_not_fit")
	f(9, 2, `"12.34x"`, "does_not_fit")
	f(9, 2, `"+1"`, "does_not_fit")
	f(9, 2, `"01"`, "does_not_fit")
	f(9, 2, `""`, "does_not_fit")
	// A digit too many in front of the point, or behind it.
	f(4, 2, "99.99", "9999")
	f(4, 2, "100.00", "does_not_fit")
	f(4, 2, "1.001", "does_not_fit")
	f(4, 2, "1.00000", "100")
	f(18, 0, "999999999999999999", "999999999999999999")
	f(18, 0, "1000000000000000000", "does_not_fit")
	f(9, 2, "true", "does_not_fit")
}

func TestWideDecimal(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		var a Arena
		v, r := token(t, text).WideDecimal(&a, 38, 10)
		check(t, text, hex.EncodeToString(v), r, want)
	}
	f("0", "00000000000000000000000000000000")
	f("0.0000000001", "00000000000000000000000000000001")
	f("-0.0000000001", "ffffffffffffffffffffffffffffffff")
	// 10^38-1 and its negative, the limits.
	f("9999999999999999999999999999.9999999999", "4b3b4ca85a86c47a098a223fffffffff")
	f("-9999999999999999999999999999.9999999999", "b4c4b357a5793b85f675ddc000000001")
	f("10000000000000000000000000000", "does_not_fit")
	// 2^64, where the low half carries.
	f("1844674407.3709551616", "00000000000000010000000000000000")
	f("-1844674407.3709551616", "ffffffffffffffff0000000000000000")
}

func TestTimestamp(t *testing.T) {
	f := func(unit manifest.Unit, text, want string) {
		t.Helper()
		var a Arena
		v, r := token(t, text).Timestamp(&a, unit)
		check(t, text, strconv.FormatInt(v, 10), r, want)
	}
	// Numbers count the unit.
	f("s", "1517966773", "1517966773000000")
	f("s", "1517966773.84", "1517966773840000")
	f("ms", "1517966773840", "1517966773840000")
	f("us", "1517966773840001", "1517966773840001")
	f("ns", "1517966773840001000", "1517966773840001")
	f("ms", "-1", "-1000")
	// What lies between two microseconds, or beyond the type, does not fit.
	f("ns", "1517966773840001001", "does_not_fit")
	f("us", "0.5", "does_not_fit")
	f("s", "9223372036855", "does_not_fit")
	// A number without a unit could be anything.
	f("", "1517966773840", "does_not_fit")
	// Strings follow RFC 3339, whatever the unit.
	f("", `"1970-01-01T00:00:00Z"`, "0")
	f("ms", `"2018-02-07T01:26:13.840Z"`, "1517966773840000")
	f("", `"2018-02-07t01:26:13.840001z"`, "1517966773840001")
	f("", `"2018-02-07 03:26:13.84+02:00"`, "1517966773840000")
	f("", `"2018-02-06T20:26:13.84-05:00"`, "1517966773840000")
	f("", `"2018-02-07T01:26:13.840000000Z"`, "1517966773840000")
	f("", `"0000-01-01T00:00:00Z"`, "-62167219200000000")
	f("", `"9999-12-31T23:59:59.999999Z"`, "253402300799999999")
	f("", `"2000-02-29T00:00:00Z"`, "951782400000000")
	// Finer than a microsecond, a leap second, days and hours that are none, parts that lack.
	f("", `"2018-02-07T01:26:13.8400001Z"`, "does_not_fit")
	f("", `"2016-12-31T23:59:60Z"`, "does_not_fit")
	f("", `"1900-02-29T00:00:00Z"`, "does_not_fit")
	f("", `"2018-13-01T00:00:00Z"`, "does_not_fit")
	f("", `"2018-00-01T00:00:00Z"`, "does_not_fit")
	f("", `"2018-04-31T00:00:00Z"`, "does_not_fit")
	f("", `"2018-02-07T24:00:00Z"`, "does_not_fit")
	f("", `"2018-02-07T01:60:00Z"`, "does_not_fit")
	f("", `"2018-02-07T01:26:13"`, "does_not_fit")
	f("", `"2018-02-07T01:26:13."`, "does_not_fit")
	f("", `"2018-02-07T01:26:13.Z"`, "does_not_fit")
	f("", `"2018-02-07T01:26:13+0200"`, "does_not_fit")
	f("", `"2018-02-07T01:26:13+24:00"`, "does_not_fit")
	f("", `"2018-02-07"`, "does_not_fit")
	f("", `"2018-02-07T01:26Z"`, "does_not_fit")
	f("", `"1517966773840"`, "does_not_fit")
	f("ms", "true", "does_not_fit")
}

func TestDate(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		var a Arena
		v, r := token(t, text).Date(&a)
		check(t, text, strconv.Itoa(int(v)), r, want)
	}
	f(`"1970-01-01"`, "0")
	f(`"1969-12-31"`, "-1")
	f(`"2000-02-29"`, "11016")
	f(`"2000-03-01"`, "11017")
	f(`"0000-01-01"`, "-719528")
	f(`"0000-02-29"`, "-719469")
	f(`"0000-03-01"`, "-719468")
	// A number counts days.
	f("17569", "17569")
	f("1.0", "1")
	f("0.5", "does_not_fit")
	f("2147483648", "does_not_fit")
	f(`"2001-02-29"`, "does_not_fit")
	f(`"2000-02-30"`, "does_not_fit")
	f(`"2000-2-3"`, "does_not_fit")
	f(`"2000-02-03T00:00:00Z"`, "does_not_fit")
	f(`"20000203"`, "does_not_fit")
	f("false", "does_not_fit")
}

// Every day of ten centuries has the number that follows from the one before.
func TestDateIsContinuous(t *testing.T) {
	days, ok := date([]byte("1600-01-01"))
	if !ok {
		t.Fatal("1600-01-01 is a day")
	}
	seen := 0
	for y := 1600; y < 2600; y++ {
		for m := 1; m <= 12; m++ {
			for d := 1; d <= 31; d++ {
				text := strconv.Itoa(y) + "-" + pad(m) + "-" + pad(d)
				got, ok := date([]byte(text))
				if !ok {
					continue
				}
				if got != days {
					t.Fatalf("%s is %d, want %d", text, got, days)
				}
				days++
				seen++
			}
		}
	}
	// 400 years have 146,097 days, 1600 to 2600 two and a half of that.
	if want := 2*146097 + 200*365 + 49; seen != want {
		t.Errorf("%d days, want %d", seen, want)
	}
}

func pad(n int) string { return strconv.Itoa(100 + n)[1:] }
