package decode

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// Doubles of up to 15 digits take a short way; it must give what the long one does.
func TestShortDouble(t *testing.T) {
	for _, text := range []string{"0.1", "123456.789", "-0.000001", "999999999999999", "0.9999999999999", "-1"} {
		want, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := short([]byte(text))
		if !ok || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%s: %v %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"1e5", "1234567890123456", "0.12345678901234567"} {
		if v, ok := short([]byte(text)); ok {
			t.Errorf("%s has the short way: %v", text, v)
		}
	}
}

func TestCutExponent(t *testing.T) {
	f := func(text, mantissa string, exponent int) {
		t.Helper()
		m, e := cutExponent([]byte(text))
		if string(m) != mantissa || e != exponent {
			t.Errorf("%s: %s and %d, want %s and %d", text, m, e, mantissa, exponent)
		}
	}
	f("12.5", "12.5", 0)
	f("1e2", "1", 2)
	f("1E+2", "1", 2)
	f("1.0e-007", "1.0", -7)
	// An exponent of any length is cut, and does not overflow.
	f("1e99999999999999999999999", "1", maxExponent)
	f("1e-99999999999999999999999", "1", -maxExponent)
}

// Reading takes time for the length of the text, not for its exponent.
func TestExactIsBounded(t *testing.T) {
	long := "1" + strings.Repeat("0", 100_000)
	f := func(text string, want string) {
		t.Helper()
		x, ok := exact([]byte(text), 0, 19)
		got := "none"
		if ok {
			got = strconv.FormatUint(x.lo, 10)
		}
		if got != want {
			t.Errorf("%.20s...: %s, want %s", text, got, want)
		}
	}
	f(long, "none")
	f(long+"e-100000", "1")
	f("0."+strings.Repeat("0", 100_000)+"1e100001", "1")
	f("1e16777216", "none")
	f("1e-16777216", "none")
	f("0e16777216", "0")
	f("1."+strings.Repeat("0", 100_000), "1")
}
