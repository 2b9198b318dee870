package decode

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lakeweir/lakeweir/manifest"
)

// FuzzScalar reads a text as each kind of value that has a form of its own,
// and compares with another implementation.
func FuzzScalar(f *testing.F) {
	for _, s := range []string{
		"0", "-1.50e2", "9223372036854775808", "0.0001e4", "1e-2", "12345678901234567890.5", "9007199254740993", "1e300",
		"2018-02-07T01:26:13.840Z", "2000-02-29T23:59:59+01:00", "0000-01-01T00:00:00Z", "2016-12-31T23:59:60Z",
		"2018-02-07T01:26:13.1234567Z", "2018-02-07 01:26:13z", "2020-02-29", "2021-02-29",
		"QUJD", "QQ==", "QQ", "QR==", "QUJD\r\nQUJD", "urn:uuid:0af76519-16cd-43dd-8448-eb211c80319c", "{0AF76519-16cd-43dd-8448-eb211c80319c}",
		"0af7651916cd43dd8448eb211c80319c", "0af76519+16cd-43dd-8448-eb211c80319c",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if isNumber([]byte(text)) {
			checkNumber(t, text)
			return
		}
		if !utf8.ValidString(text) {
			return
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		tok := token(t, string(quoted))
		checkTimestamp(t, text, tok)
		checkDate(t, text, tok)
		checkBinary(t, text, tok)
		checkUUID(t, text, tok)
		var a Arena
		if _, r := tok.Decimal(&a, 18, 2); r == "" {
			t.Errorf("%q is a decimal", text)
		}
	})
}

// checkNumber compares the exact reading of numbers with rational arithmetic.
func checkNumber(t *testing.T, text string) {
	t.Helper()
	if _, exp := cutExponent([]byte(text)); exp > 1000 || exp < -1000 || len(text) > 2000 {
		return // rationals of that size take too long
	}
	want, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%s is a number", text)
	}
	tok := token(t, text)
	v, r := tok.Int64()
	if fits := want.IsInt() && want.Num().IsInt64(); fits != (r == "") || fits && want.Num().Int64() != v {
		t.Errorf("%s as int64 is %d %s", text, v, r)
	}
	var a Arena
	wide, r := tok.WideDecimal(&a, 38, 6)
	scaled := new(big.Rat).Mul(want, big.NewRat(1e6, 1))
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil)
	if fits := scaled.IsInt() && new(big.Int).Abs(scaled.Num()).Cmp(limit) < 0; fits != (r == "") || fits && fromWide(wide).Cmp(scaled.Num()) != 0 {
		t.Errorf("%s as decimal(38,6) is %x %s", text, wide, r)
	}
	near, _ := want.Float64()
	integer := tok.Kind == Integer
	back := new(big.Rat)
	fits := !math.IsInf(near, 0) && (!integer || back.SetFloat64(near).Cmp(want) == 0)
	if d, r := tok.Double(); fits != (r == "") || fits && d != near {
		t.Errorf("%s as double is %v %s, want %v", text, d, r, near)
	}
}

// fromWide reads 16 bytes of two's complement.
func fromWide(b []byte) *big.Int {
	x := new(big.Int).SetBytes(b)
	if b[0] >= 0x80 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	return x
}

// strict is the form of RFC 3339; the time package takes hours of one digit
// and offsets of 24 hours too, and cuts what is finer than a nanosecond.
var strict = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// checkTimestamp compares with the time package. Ours takes the letters in lower
// case too, and a space, as the RFC allows.
func checkTimestamp(t *testing.T, text string, tok Token) {
	t.Helper()
	var a Arena
	us, r := tok.Timestamp(&a, manifest.Seconds)
	upper := []byte(strings.ToUpper(text))
	if len(upper) > 10 && upper[10] == ' ' {
		upper[10] = 'T'
	}
	if r == "" && len(text) > 30 {
		return // digits that are zero, finer than the time package knows
	}
	at, err := time.Parse(time.RFC3339Nano, string(upper))
	want := err == nil && strict.Match(upper) && at.Nanosecond()%1000 == 0
	if want != (r == "") || want && us != at.UnixMicro() {
		t.Errorf("%q is %d %s, want %v %v", text, us, r, at, err)
	}
}

func checkDate(t *testing.T, text string, tok Token) {
	t.Helper()
	var a Arena
	days, r := tok.Date(&a)
	at, err := time.Parse(time.DateOnly, text)
	if (err == nil) != (r == "") || err == nil && int64(days) != at.Unix()/86400 {
		t.Errorf("%q is day %d %s, want %v %v", text, days, r, at, err)
	}
}

// checkBinary compares with the standard library, which skips line ends;
// RFC 4648 wants them refused (section 3.3).
func checkBinary(t *testing.T, text string, tok Token) {
	t.Helper()
	var a Arena
	got, r := tok.Binary(&a)
	want, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		want, err = base64.RawStdEncoding.Strict().DecodeString(text)
	}
	if fits := err == nil && !strings.ContainsAny(text, "\r\n"); fits != (r == "") || fits && !bytes.Equal(got, want) {
		t.Errorf("%q is %x %s, want %x %v", text, got, r, want, err)
	}
}

var uuidForm = regexp.MustCompile(`(?i)^([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

func checkUUID(t *testing.T, text string, tok Token) {
	t.Helper()
	var a Arena
	got, r := tok.UUID(&a)
	bare := text
	if len(text) == 45 {
		bare = strings.TrimPrefix(text, "urn:uuid:")
	}
	if inner, ok := strings.CutPrefix(text, "{"); ok && len(text) == 38 {
		bare, _ = strings.CutSuffix(inner, "}")
	}
	if fits := uuidForm.MatchString(bare); fits != (r == "") || fits && hex.EncodeToString(got) != strings.ToLower(strings.ReplaceAll(bare, "-", "")) {
		t.Errorf("%q is %x %s", text, got, r)
	}
}
