package decode

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"unsafe"
)

// Int64 returns a number that is whole, however it is written: 1, 1.0 or 1e2.
func (t Token) Int64() (int64, Reason) {
	if t.Kind == Integer && len(t.Text) <= 18 {
		return small(t.Text), ""
	}
	if t.Kind != Integer && t.Kind != Number {
		return 0, NoFit
	}
	return scaled(t.Text, 0)
}

// Int32 is Int64 for 32 bits.
func (t Token) Int32() (int32, Reason) {
	v, r := t.Int64()
	if r != "" || v != int64(int32(v)) {
		return 0, NoFit
	}
	return int32(v), ""
}

// small reads up to 18 characters of digits and a sign.
func small(text []byte) (v int64) {
	neg := text[0] == '-'
	if neg {
		text = text[1:]
	}
	for _, c := range text {
		v = v*10 + int64(c-'0')
	}
	if neg {
		return -v
	}
	return v
}

// maxInt64Digits is the length of 2^63.
const maxInt64Digits = 19

// scaled returns a number times 10^scale if that is an int64.
func scaled(text []byte, scale int) (int64, Reason) {
	x, ok := exact(text, scale, maxInt64Digits)
	if !ok {
		return 0, NoFit
	}
	switch {
	case x.neg && x.lo <= 1<<63:
		return -int64(x.lo), ""
	case !x.neg && x.lo < 1<<63:
		return int64(x.lo), ""
	}
	return 0, NoFit
}

// wide is an integer of up to 38 digits: a sign and a magnitude below 2^127.
type wide struct {
	neg    bool
	hi, lo uint64
}

// exact returns a JSON number times 10^scale, if that is an integer of at most
// so many digits. It never rounds and takes time for the length of the text
// only, whatever the exponent.
func exact(text []byte, scale, digits int) (x wide, ok bool) {
	if text[0] == '-' {
		x.neg, text = true, text[1:]
	}
	mantissa, shift := cutExponent(text)
	first, last, point := -1, -1, len(mantissa) // of the digits that are not zero; of the point
	for i, c := range mantissa {
		switch {
		case c == '.':
			point = i
		case c != '0':
			last = i
			if first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return wide{}, true
	}
	// zeros is how many follow the last digit that is not zero.
	zeros := point - last - 1
	if last > point {
		zeros = point - last
	}
	zeros += shift + scale
	n := last - first + 1
	if first < point && last > point {
		n--
	}
	if zeros < 0 || n+zeros > digits {
		return wide{}, false
	}
	for _, c := range mantissa[first : last+1] {
		if c != '.' {
			x.push(uint64(c - '0'))
		}
	}
	for range zeros {
		x.push(0)
	}
	return x, true
}

// push appends a decimal digit.
func (x *wide) push(digit uint64) {
	carry, lo := bits.Mul64(x.lo, 10)
	lo, c := bits.Add64(lo, digit, 0)
	x.hi, x.lo = x.hi*10+carry+c, lo
}

// maxExponent is where exponents are cut: nothing that fits a column is near it.
const maxExponent = 1 << 24

// cutExponent splits a number without its sign.
func cutExponent(text []byte) (mantissa []byte, exponent int) {
	for i, c := range text {
		if c|0x20 != 'e' {
			continue
		}
		mantissa, text = text[:i], text[i+1:]
		neg := text[0] == '-'
		if neg || text[0] == '+' {
			text = text[1:]
		}
		for _, c := range text {
			exponent = min(exponent*10+int(c-'0'), maxExponent)
		}
		if neg {
			exponent = -exponent
		}
		return mantissa, exponent
	}
	return text, 0
}

// Decimal returns a number, or a string that holds one, as an integer of
// units of 10^-scale, at most 18 digits long.
func (t Token) Decimal(a *Arena, precision, scale int) (int64, Reason) {
	x, r := t.decimal(a, precision, scale)
	if r != "" {
		return 0, r
	}
	if x.neg {
		return -int64(x.lo), ""
	}
	return int64(x.lo), ""
}

// WideDecimal is Decimal of up to 38 digits, as 16 bytes of two's complement,
// the highest first.
func (t Token) WideDecimal(a *Arena, precision, scale int) ([]byte, Reason) {
	x, r := t.decimal(a, precision, scale)
	if r != "" {
		return nil, r
	}
	if x.neg {
		var borrow uint64
		x.lo, borrow = bits.Sub64(0, x.lo, 0)
		x.hi, _ = bits.Sub64(0, x.hi, borrow)
	}
	n := len(a.b)
	for s := 56; s >= 0; s -= 8 {
		a.b = append(a.b, byte(x.hi>>s))
	}
	for s := 56; s >= 0; s -= 8 {
		a.b = append(a.b, byte(x.lo>>s))
	}
	return a.since(n), ""
}

func (t Token) decimal(a *Arena, precision, scale int) (wide, Reason) {
	text := t.Text
	switch t.Kind {
	case Integer, Number:
	case String:
		var r Reason
		if text, r = t.Chars(a); r != "" {
			return wide{}, r
		}
		if !isNumber(text) {
			return wide{}, NoFit
		}
	default:
		return wide{}, NoFit
	}
	x, ok := exact(text, scale, precision)
	if !ok {
		return wide{}, NoFit
	}
	return x, ""
}

// isNumber reports whether a text is a JSON number.
func isNumber(text []byte) bool {
	s := scanner{b: text}
	var t Token
	return len(text) > 0 && (text[0] == '-' || text[0]-'0' <= 9) && s.number(0, &t) == len(text)
}

// pow10 are the powers of ten that a float64 holds exactly.
var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// Double returns the float64 nearest to a number. An integer written out in
// digits fits only if it is met exactly; a number above the largest float64
// does not fit.
func (t Token) Double() (float64, Reason) {
	if t.Kind != Integer && t.Kind != Number {
		return 0, NoFit
	}
	if v, ok := short(t.Text); ok {
		return v, ""
	}
	v, err := strconv.ParseFloat(unsafe.String(&t.Text[0], len(t.Text)), 64)
	if err != nil || t.Kind == Integer && !meets(v, t.Text) {
		return 0, NoFit
	}
	return v, ""
}

// short reads a number of up to 15 digits without an exponent. Both its digits
// and the power of ten are exact, so one division rounds once.
func short(text []byte) (v float64, ok bool) {
	if len(text) > 16 {
		return 0, false
	}
	neg := text[0] == '-'
	if neg {
		text = text[1:]
	}
	if len(text) > 15 {
		return 0, false
	}
	var m uint64
	point := len(text) - 1
	for i, c := range text {
		switch {
		case c == '.':
			point = i
		case c > '9' || c < '0':
			return 0, false
		default:
			m = m*10 + uint64(c-'0')
		}
	}
	v = float64(m) / pow10[len(text)-1-point]
	if neg {
		v = math.Copysign(v, -1)
	}
	return v, true
}

// meets reports whether v is exactly the integer of digits.
func meets(v float64, digits []byte) bool {
	if x, ok := exact(digits, 0, maxInt64Digits); ok {
		back := math.Abs(v)
		return back < 1<<64 && uint64(back) == x.lo
	}
	want, ok := new(big.Int).SetString(string(digits), 10)
	got, _ := big.NewFloat(v).Int(nil)
	return ok && got.Cmp(want) == 0
}
